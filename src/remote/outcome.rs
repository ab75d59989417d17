//! What an operation of a store returns.

use std::time::Duration;

/// An object that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) bytes: Vec<u8>,
    /// The time since it was written, by the store's own clock.
    pub(crate) age: Duration,
}

/// Why an operation failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) why: String,
    pub(super) how: &'static str,
    /// Whether another attempt may succeed soon.
    pub(super) is_transient: bool,
}

impl Failure {
    /// The store does not answer, or is overloaded.
    pub(super) fn transient(why: impl Into<String>) -> Self {
        let how = "check that the store runs and can be reached; Ratoon tries again";
        Self { why: why.into(), how, is_transient: true }
    }

    /// The store refuses the request.
    pub(super) fn refused(why: impl Into<String>, how: &'static str) -> Self {
        Self { why: why.into(), how, is_transient: false }
    }
}

pub(super) type Outcome<T> = Result<T, Failure>;

pub(super) fn too_long(max_bytes: usize) -> Failure {
    let how = "it was not written by Ratoon, or is damaged; remove it";
    Failure::refused(format!("an object is longer than {max_bytes} bytes"), how)
}

pub(super) fn too_many(most: usize) -> Failure {
    Failure::refused(format!("it has more than {most} objects"), "use a store with another prefix")
}

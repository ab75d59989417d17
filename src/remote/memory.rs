//! A store in memory, for tests: they decide which operations fail, and how old objects are.

use super::outcome::{Failure, Object, Outcome};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct Memory {
    content: Mutex<Content>,
}

#[derive(Debug, Default)]
pub(crate) struct Content {
    pub(crate) objects: BTreeMap<String, (Vec<u8>, Duration)>,
    /// Whether the store refuses everything.
    pub(crate) is_down: bool,
    /// How many more writes succeed; `None` for all.
    pub(crate) writes_left: Option<usize>,
    /// The keys that were written, in order.
    pub(crate) written: Vec<String>,
    /// How many times objects were looked at, read or listed.
    pub(crate) reads: usize,
}

impl Memory {
    /// Looks at or changes the content.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Content) -> T) -> T {
        work(&mut self.content.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes all objects older.
    pub(crate) fn pass(&self, time: Duration) {
        self.with(|content| content.objects.values_mut().for_each(|(_, age)| *age += time));
    }

    fn read<T>(&self, work: impl FnOnce(&Content) -> T) -> Outcome<T> {
        self.with(|content| {
            content.reads += 1;
            if content.is_down { Err(down()) } else { Ok(work(content)) }
        })
    }

    pub(super) fn put(&self, key: &str, bytes: &[u8]) -> Outcome<()> {
        self.with(|content| {
            if content.is_down || content.writes_left == Some(0) {
                return Err(down());
            }
            content.writes_left = content.writes_left.map(|left| left - 1);
            content.written.push(key.to_owned());
            content.objects.insert(key.to_owned(), (bytes.to_owned(), Duration::ZERO));
            Ok(())
        })
    }

    pub(super) fn get(&self, key: &str) -> Outcome<Option<Object>> {
        let object = |(bytes, age): &(Vec<u8>, Duration)| Object { bytes: bytes.clone(), age: *age };
        self.read(|content| content.objects.get(key).map(object))
    }

    pub(super) fn age(&self, key: &str) -> Outcome<Option<Duration>> {
        self.read(|content| content.objects.get(key).map(|(_, age)| *age))
    }

    pub(super) fn list(&self, prefix: &str) -> Outcome<Vec<String>> {
        self.read(|content| content.objects.keys().filter(|key| key.starts_with(prefix)).cloned().collect())
    }

    pub(super) fn delete(&self, key: &str) -> Outcome<()> {
        self.with(|content| {
            content.objects.remove(key);
            if content.is_down { Err(down()) } else { Ok(()) }
        })
    }
}

/// Not transient, so that tests do not wait for retries.
fn down() -> Failure {
    Failure::refused("the store is down", "")
}

//! Signed texts. The server signs tasks, and workers sign outputs and results, with one key that
//! both have. A signature is checked before anything of a text is parsed.

use crate::problem::{Kind, Problem};
use crate::store::InstallKey;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What a text is. A text that was signed as one thing is refused as another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Task,
    Output,
    Result,
}

impl Purpose {
    fn word(self) -> &'static str {
        match self {
            Self::Task => "ratoon-task-v1",
            Self::Output => "ratoon-output-v1",
            Self::Result => "ratoon-result-v1",
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Output => "output",
            Self::Result => "result",
        }
    }
}

/// The form in which a signed text is stored.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Letter {
    /// The id of the key.
    key: String,
    /// The signature of the body.
    signature: String,
    /// The text, as JSON.
    body: String,
}

/// Signs a text.
pub(crate) fn seal(key: &InstallKey, purpose: Purpose, body: String) -> Vec<u8> {
    let letter = Letter { key: key.short_id(), signature: key.sign(purpose.word(), &body), body };
    // Strings can always be written as JSON.
    serde_json::to_vec(&letter).unwrap_or_default()
}

/// Checks a signature and parses the text. Returns the text too, because its digest names a task.
///
/// # Errors
/// `Forbidden` when another key has signed the text, or it was altered. `BadRequest` when another
/// version of Ratoon wrote it.
pub(crate) fn open<T: DeserializeOwned>(
    key: &InstallKey,
    purpose: Purpose,
    bytes: &[u8],
) -> Result<(T, String), Problem> {
    let what = || format!("accept a {}", purpose.noun());
    let altered = || {
        let how = "find out who can write to the object store, and run the cell again";
        Problem::new(Kind::Forbidden, what(), "its signature is wrong: it was altered", how)
    };
    let letter: Letter = serde_json::from_slice(bytes).map_err(|_| altered())?;
    if letter.key != key.short_id() {
        let shown: String = letter.key.chars().filter(char::is_ascii_hexdigit).take(8).collect();
        let why = format!("the key {shown} has signed it, and the key here is {}", key.short_id());
        let how = "give the server and its workers the same key: the file workers-key of the server's \
                   configuration directory, or RATOON_WORKERS_KEY";
        return Err(Problem::new(Kind::Forbidden, what(), why, how));
    }
    if !key.has_signed(purpose.word(), &letter.body, &letter.signature) {
        return Err(altered());
    }
    let parsed = serde_json::from_str(&letter.body).map_err(|error| {
        let how = "install the same version of Ratoon for the server and its workers";
        Problem::new(Kind::BadRequest, what(), format!("another version of Ratoon wrote it: {error}"), how)
    })?;
    Ok((parsed, letter.body))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn key(digit: &str) -> InstallKey {
        InstallKey::from_hex(&digit.repeat(64)).unwrap()
    }

    fn opened(bytes: &[u8], purpose: Purpose, with: &str) -> Result<Vec<u32>, Problem> {
        open::<Vec<u32>>(&key(with), purpose, bytes).map(|(parsed, _)| parsed)
    }

    #[test]
    fn only_the_text_that_this_key_has_signed_for_this_purpose_is_accepted() {
        let sealed = seal(&key("a"), Purpose::Task, "[1,2]".into());
        assert_eq!(opened(&sealed, Purpose::Task, "a"), Ok(vec![1, 2]));
        assert_eq!(opened(&sealed, Purpose::Result, "a").unwrap_err().kind, Kind::Forbidden);
        let foreign = opened(&sealed, Purpose::Task, "b").unwrap_err();
        assert!(
            foreign.why.contains(&key("a").short_id()) && foreign.why.contains(&key("b").short_id()),
            "{foreign:?}"
        );
        assert!(!format!("{foreign:?}").contains(&"a".repeat(16)));
        for at in 0..sealed.len() {
            let mut altered = sealed.clone();
            altered[at] ^= 1;
            assert!(opened(&altered, Purpose::Task, "a").is_err(), "byte {at}");
        }
        assert!((0..sealed.len()).all(|end| opened(&sealed[..end], Purpose::Task, "a").is_err()));
        let other = seal(&key("a"), Purpose::Task, "{}".into());
        assert_eq!(opened(&other, Purpose::Task, "a").unwrap_err().kind, Kind::BadRequest);
    }

    #[test]
    fn the_id_of_a_key_is_the_one_that_workers_tell() {
        // The same id stands in tests/kernel/test_worker.py.
        assert_eq!(InstallKey::from_hex(&"ab".repeat(32)).unwrap().short_id(), "48b3720f");
        assert!(
            ["", "ab", &"zz".repeat(32), &"ab".repeat(33)]
                .iter()
                .all(|text| InstallKey::from_hex(text).is_none())
        );
    }
}

//! Makes and compares secrets.
//!
//! The server stores only the SHA-256 hash of a secret, and compares hashes in constant time. All
//! hashes have the same length, and similar secrets have unrelated hashes. So the time of a
//! comparison reveals neither the length nor a prefix of a secret.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::fmt;
use subtle::ConstantTimeEq;

/// Number of bytes of a generated secret. 256 bits cannot be guessed.
const SECRET_BYTES: usize = 32;

/// The SHA-256 of a secret.
#[derive(Clone, Copy)]
pub(crate) struct SecretHash([u8; 32]);

impl SecretHash {
    /// Hashes a secret.
    pub(crate) fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    /// Parses the 64 hexadecimal digits that `to_string` writes.
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        let digits: Vec<u8> =
            text.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect::<Option<_>>()?;
        let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        if digits.len() == 64 { bytes.try_into().ok().map(Self) } else { None }
    }

    /// Whether the two hashes are equal. Takes constant time.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// The stored form: 64 hexadecimal digits. The secret cannot be derived from these digits.
impl fmt::Display for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash")
    }
}

/// Makes a secret from the operating system's random numbers. The secret needs no escaping in a
/// URL.
///
/// # Errors
/// When the operating system provides no random numbers. There is no safe substitute.
pub fn new_secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_long_differ_and_need_no_escaping() {
        let (a, b) = (new_secret().unwrap(), new_secret().unwrap());
        assert_ne!(a, b);
        assert_eq!(a.len(), 43);
        assert!(a.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_".contains(&c)));
    }

    #[test]
    fn a_hash_matches_its_secret_alone_and_debug_does_not_print_it() {
        let own = SecretHash::of("test123");
        assert!(own.is(&SecretHash::of("test123")));
        assert!(!own.is(&SecretHash::of("test124")));
        assert!(!own.is(&SecretHash::of("")));
        assert_eq!(format!("{own:?}"), "SecretHash");
    }

    #[test]
    fn a_hash_is_stored_as_text() {
        let text = SecretHash::of("test123").to_string();
        assert!(SecretHash::from_hex(&text).unwrap().is(&SecretHash::of("test123")));
        for wrong in ["", "00", &text[1..], &format!("{text}0"), &text.replace('e', "g"), &"é".repeat(32)] {
            assert!(SecretHash::from_hex(wrong).is_none(), "{wrong}");
        }
    }
}

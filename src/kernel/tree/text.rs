//! Decodes the bytes of a pipe. An incomplete character is kept until the rest of it arrives; bytes
//! that are not UTF-8 become `\xNN`.

/// A decoder for one stream of bytes.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    rest: Vec<u8>,
}

impl Decoder {
    /// Returns the complete characters of these bytes, including bytes left over from earlier
    /// calls.
    pub(super) fn decode(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        let mut text = String::with_capacity(all.len());
        let mut left = all.as_slice();
        loop {
            match std::str::from_utf8(left) {
                Ok(good) => {
                    text.push_str(good);
                    return text;
                }
                Err(error) => {
                    let (good, bad) = left.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(good));
                    let Some(length) = error.error_len() else {
                        self.rest = bad.to_vec();
                        return text;
                    };
                    escape(&bad[..length], &mut text);
                    left = &bad[length..];
                }
            }
        }
    }

    /// Returns the bytes of an incomplete last character, escaped.
    pub(super) fn finish(&mut self) -> String {
        let mut text = String::new();
        escape(&std::mem::take(&mut self.rest), &mut text);
        text
    }
}

fn escape(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        text.push_str(&format!("\\x{byte:02x}"));
    }
}

/// Decodes bytes that should be complete text.
pub(super) fn whole(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let mut decoder = Decoder::default();
        let text = decoder.decode(error.as_bytes());
        text + &decoder.finish()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_in_two_pieces_is_one() {
        let mut decoder = Decoder::default();
        let bytes = "aé€𝄞".as_bytes();
        let text: String = bytes.iter().map(|b| decoder.decode(&[*b])).collect();
        assert_eq!(text + &decoder.finish(), "aé€𝄞");
    }

    #[test]
    fn bytes_that_are_not_text_are_escaped() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.decode(b"a\xff\xfeb\r\x1b[1m\0"), "a\\xff\\xfeb\r\x1b[1m\0");
        assert_eq!(decoder.decode(b"\xe2\x82"), "");
        assert_eq!(decoder.finish(), "\\xe2\\x82");
        assert_eq!(whole(b"\xc3".to_vec()), "\\xc3");
    }
}

//! Checks the header of every WebSocket frame before the server buffers the frame's content.
//!
//! actix-ws checks a frame's length only when the whole frame has arrived. For a header that
//! announces 2 GiB, the server would buffer 2 GiB. This check ends the connection after the header.

use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use actix_web::web::Bytes;
use futures_util::Stream;
use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

/// Maximum size of a message, in bytes. A cell whose JSON is longer can be sent over REST.
pub(super) const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// The largest message of a client that may only look, in bytes. Its commands are short, and there
/// may be thousands of such clients, each with an unfinished message.
pub(super) const MAX_VIEW_MESSAGE_BYTES: usize = 16 * 1024;

/// Why a frame is refused. The close frame names this reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The frame announces more bytes than its message may have.
    TooLong,
    /// The frame sets reserved bits, which only extensions use. The server offers no extension.
    ReservedBits,
}

/// The fault that ended a connection's stream, if any. The stream sets the fault, and the reader of
/// the stream gets it.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedFault(Arc<AtomicU8>);

impl SharedFault {
    fn set(&self, fault: Fault) {
        self.0.store(fault as u8 + 1, Ordering::Relaxed);
    }

    /// The fault that ended the stream; `None` if there was none.
    pub(super) fn get(&self) -> Option<Fault> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(Fault::TooLong),
            _ => Some(Fault::ReservedBits),
        }
    }
}

/// Parses the frame headers in a stream of bytes.
#[derive(Debug)]
struct FrameParser {
    /// Maximum size of a message, in bytes.
    max: usize,
    /// The bytes of the header that have arrived: 2 bytes, then up to 8 bytes of length and 4 bytes
    /// of mask.
    header: [u8; 14],
    have: usize,
    /// Number of bytes of the frame's content that have not arrived yet.
    content: usize,
    /// Total length of the fragments of the current message so far, in bytes.
    message: usize,
}

impl FrameParser {
    fn new(max: usize) -> Self {
        Self { max, header: [0; 14], have: 0, content: 0, message: 0 }
    }

    /// Parses the next bytes.
    fn parse(&mut self, mut bytes: &[u8]) -> Result<(), Fault> {
        while !bytes.is_empty() {
            if self.content > 0 {
                let now = self.content.min(bytes.len());
                self.content -= now;
                bytes = &bytes[now..];
                continue;
            }
            self.header[self.have] = bytes[0];
            self.have += 1;
            bytes = &bytes[1..];
            if let Some(length) = self.announced()? {
                self.begin(length);
            }
        }
        Ok(())
    }

    /// Begins to count the content bytes of a frame whose header is complete.
    fn begin(&mut self, length: usize) {
        let (is_last, is_control) = (self.header[0] & 0x80 != 0, self.header[0] & 0x08 != 0);
        // A control frame may come between the fragments of a message, and is not a fragment.
        if !is_control {
            self.message = if is_last { 0 } else { self.message + length };
        }
        self.content = length;
        self.have = 0;
    }

    /// Returns the announced length, or `None` while the header is incomplete. Refuses reserved
    /// bits and a length above the limit without waiting for the rest of the header.
    fn announced(&self) -> Result<Option<usize>, Fault> {
        let header = &self.header[..self.have];
        if header[0] & 0x70 != 0 {
            return Err(Fault::ReservedBits);
        }
        let Some(second) = header.get(1) else { return Ok(None) };
        let length_bytes = match second & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let Some(extended) = header.get(2..2 + length_bytes) else { return Ok(None) };
        let length = match length_bytes {
            0 => u64::from(second & 0x7f),
            _ => extended.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)),
        };
        let is_control = header[0] & 0x08 != 0;
        let room = if is_control { self.max } else { self.max - self.message };
        let length = usize::try_from(length).ok().filter(|l| *l <= room).ok_or(Fault::TooLong)?;
        let mask_bytes = if second & 0x80 == 0 { 0 } else { 4 };
        Ok((self.have == 2 + length_bytes + mask_bytes).then_some(length))
    }
}

/// The stream of a connection's bytes. It ends before the first refused frame.
pub(super) struct CheckedPayload {
    bytes: Rc<RefCell<Payload>>,
    parser: FrameParser,
    shared: SharedFault,
}

impl CheckedPayload {
    /// Wraps the bytes of an upgraded connection whose messages have at most `max` bytes.
    pub(super) fn new(bytes: Rc<RefCell<Payload>>, shared: SharedFault, max: usize) -> Self {
        Self { bytes, parser: FrameParser::new(max), shared }
    }
}

impl Stream for CheckedPayload {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.shared.get().is_some() {
            return Poll::Ready(None);
        }
        let next = Pin::new(&mut *this.bytes.borrow_mut()).poll_next(cx);
        if let Poll::Ready(Some(Ok(bytes))) = &next
            && let Err(fault) = this.parser.parse(bytes)
        {
            this.shared.set(fault);
            return Poll::Ready(Some(Err(PayloadError::Overflow)));
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(length: u64) -> Vec<u8> {
        let mut bytes = vec![0x81];
        match length {
            0..=125 => bytes.push(0x80 | u8::try_from(length).unwrap_or_default()),
            126..=65_535 => {
                bytes.push(0x80 | 126);
                bytes.extend(u16::try_from(length).unwrap_or_default().to_be_bytes());
            }
            _ => {
                bytes.push(0x80 | 127);
                bytes.extend(length.to_be_bytes());
            }
        }
        bytes.extend([1, 2, 3, 4]);
        bytes
    }

    fn frame(length: usize) -> Vec<u8> {
        let mut bytes = header(length as u64);
        bytes.resize(bytes.len() + length, b'x');
        bytes
    }

    #[test]
    fn frames_up_to_the_limit_pass_however_they_are_cut() {
        let all: Vec<u8> =
            [0, 1, 125, 126, 300, 65_535, 65_536, MAX_MESSAGE_BYTES, 5].into_iter().flat_map(frame).collect();
        for size in [1, 2, 3, 7, 13, 4096, all.len()] {
            let mut parser = FrameParser::new(MAX_MESSAGE_BYTES);
            assert!(all.chunks(size).all(|chunk| parser.parse(chunk) == Ok(())), "chunks of {size}");
            assert_eq!((parser.have, parser.content), (0, 0), "chunks of {size}");
        }
    }

    #[test]
    fn a_longer_frame_is_refused_at_its_header() {
        for length in [MAX_MESSAGE_BYTES as u64 + 1, 1 << 31, 1 << 62, u64::MAX] {
            let whole = header(length);
            // The mask has not arrived yet. The first ten bytes contain the length, so they are
            // enough.
            assert_eq!(
                FrameParser::new(MAX_MESSAGE_BYTES).parse(&whole[..10]),
                Err(Fault::TooLong),
                "{length}"
            );
        }
        let mut after_good = frame(300);
        after_good.extend(header(1 << 40));
        assert_eq!(FrameParser::new(MAX_MESSAGE_BYTES).parse(&after_good), Err(Fault::TooLong));
    }

    #[test]
    fn a_message_in_parts_has_the_same_limit() {
        let part = |first: u8, length: usize| {
            let mut bytes = frame(length);
            bytes[0] = first;
            bytes
        };
        let half = MAX_MESSAGE_BYTES / 2;
        let mut parser = FrameParser::new(MAX_MESSAGE_BYTES);
        for _ in 0..3 {
            for whole in [part(0x01, half), part(0x00, half), part(0x89, 5), part(0x80, 0)] {
                assert_eq!(parser.parse(&whole), Ok(()));
            }
        }
        assert_eq!(parser.parse(&part(0x01, half)), Ok(()));
        assert_eq!(parser.parse(&part(0x00, half)), Ok(()));
        assert_eq!(parser.parse(&part(0x80, 1)), Err(Fault::TooLong));
    }

    #[test]
    fn reserved_bits_are_refused() {
        for bits in [0x40, 0x20, 0x10] {
            assert_eq!(
                FrameParser::new(MAX_MESSAGE_BYTES).parse(&[0x81 | bits, 0x80]),
                Err(Fault::ReservedBits)
            );
        }
    }

    #[test]
    fn a_frame_without_a_mask_is_followed_too() {
        let mut parser = FrameParser::new(MAX_MESSAGE_BYTES);
        assert_eq!(parser.parse(&[0x81, 2, b'h', b'i']), Ok(()));
        assert_eq!((parser.have, parser.content), (0, 0));
    }
}

//! A TCP connection that writes and reads HTTP and WebSocket frames. It can also write invalid
//! ones.

use crate::request::{Answer, Request};
use crate::server::{PATIENCE, TestServer};
use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

pub struct Wire {
    stream: TcpStream,
    read: Vec<u8>,
}

/// A WebSocket frame from the server.
#[derive(Debug, PartialEq)]
pub enum Frame {
    Text(String),
    Ping,
    Close(Option<u16>),
    /// The connection ended without a close frame.
    End,
}

impl Wire {
    pub fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, read: Vec::new() }
    }

    /// Writes bytes. Ignores an error if the other side has closed the connection, because reading
    /// shows this.
    pub fn write(&mut self, bytes: &[u8]) {
        if let Err(error) = self.stream.write_all(bytes) {
            assert!(matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{error}");
        }
    }

    /// Writes a request and reads the answer.
    pub fn ask(&mut self, request: &[u8]) -> Answer {
        self.write(request);
        let is_head = request.starts_with(b"HEAD ");
        self.answer(is_head).unwrap_or_else(|| panic!("no answer to {}", String::from_utf8_lossy(request)))
    }

    /// Writes a request on a new connection and reads the answer. Returns `None` if the server has
    /// ended.
    pub fn try_ask(address: SocketAddr, request: &[u8]) -> Option<Answer> {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.set_nodelay(true).ok()?;
        let mut wire = Self { stream, read: Vec::new() };
        wire.write(request);
        wire.answer(false)
    }

    /// Reads one answer. Returns `None` if the connection ended first.
    pub fn answer(&mut self, is_head: bool) -> Option<Answer> {
        let end = loop {
            match self.read.windows(4).position(|w| w == b"\r\n\r\n") {
                Some(at) => break at,
                None if !self.more() => return None,
                None => (),
            }
        };
        let head = String::from_utf8(self.read.drain(..end + 4).collect()).unwrap();
        let mut lines = head.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().unwrap();
        let header = |line: &str| line.split_once(": ").map(|(n, v)| (n.to_lowercase(), v.to_owned()));
        let headers: Vec<_> = lines.filter_map(header).collect();
        let length =
            headers.iter().find(|(n, _)| n == "content-length").map_or(0, |(_, v)| v.parse().unwrap());
        if headers.iter().any(|(n, v)| n == "transfer-encoding" && v == "chunked") && !is_head {
            let body = self.chunks()?;
            return Some(Answer { status, headers, body });
        }
        let length = if is_head || status == 101 { 0 } else { length };
        while self.read.len() < length {
            assert!(self.more(), "the answer is cut short");
        }
        Some(Answer { status, headers, body: self.read.drain(..length).collect() })
    }

    /// Reads a chunked body (RFC 9112, 7.1). Returns `None` if the connection ends before the last
    /// chunk.
    fn chunks(&mut self) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let end = loop {
                match self.read.windows(2).position(|w| w == b"\r\n") {
                    Some(at) => break at,
                    None if !self.more() => return None,
                    None => (),
                }
            };
            let size: Vec<u8> = self.read.drain(..end + 2).collect();
            let size = usize::from_str_radix(std::str::from_utf8(&size).unwrap().trim(), 16).unwrap();
            body.extend(self.take(size)?);
            self.take(2)?;
            if size == 0 {
                return Some(body);
            }
        }
    }

    /// Whether the other side ends the connection without sending another byte.
    pub fn ends(&mut self) -> bool {
        self.read.is_empty() && !self.more()
    }

    /// Whether the other side has ended the connection. Does not wait.
    pub fn has_ended(&mut self) -> bool {
        self.stream.set_nonblocking(true).unwrap();
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_nonblocking(false).unwrap();
        match peeked {
            Ok(count) => count == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }

    fn more(&mut self) -> bool {
        let mut chunk = [0; 65536];
        match self.stream.read(&mut chunk) {
            Ok(0) => false,
            Ok(count) => {
                self.read.extend(&chunk[..count]);
                true
            }
            Err(e) if e.kind() == ErrorKind::ConnectionReset => false,
            // If the test is stopped and continued, a read with a timeout is interrupted
            // (signal(7)).
            Err(e) if e.kind() == ErrorKind::Interrupted => self.more(),
            Err(e) => panic!("the server sent nothing: {e}"),
        }
    }

    /// A handshake request for a notebook's socket.
    pub fn handshake(target: &str) -> Request {
        Request::get(target)
            .header("connection", "Upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
    }

    /// Opens a WebSocket with a token.
    pub fn socket(server: &TestServer, token: &str) -> Self {
        let mut wire = Self::open(server.address);
        let answer = wire.ask(&Self::handshake("/ws/main").bearer(token).bytes(&server.host()));
        assert_eq!(answer.status, 101, "{answer:?}");
        wire
    }

    /// Sends a text message. The message is masked, as all messages of clients must be.
    pub fn say(&mut self, text: &str) {
        self.frame(0x81, text.as_bytes());
    }

    /// Sends a frame with this first byte and this content.
    pub fn frame(&mut self, first: u8, content: &[u8]) {
        let mask = [7, 31, 127, 255];
        let mut bytes = vec![first];
        match content.len() {
            length @ 0..=125 => bytes.push(0x80 | length as u8),
            length @ 126..=65_535 => {
                bytes.push(0x80 | 126);
                bytes.extend((length as u16).to_be_bytes());
            }
            length => {
                bytes.push(0x80 | 127);
                bytes.extend((length as u64).to_be_bytes());
            }
        }
        bytes.extend(mask);
        bytes.extend(content.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        self.write(&bytes);
    }

    /// Reads the next frame.
    pub fn hear(&mut self) -> Frame {
        let Some((first, content)) = self.next_frame() else { return Frame::End };
        match first {
            0x81 => Frame::Text(String::from_utf8(content).unwrap()),
            0x88 => Frame::Close(content.get(..2).map(|b| u16::from_be_bytes([b[0], b[1]]))),
            0x89 => Frame::Ping,
            other => panic!("an unexpected frame: {other:x}"),
        }
    }

    /// Reads the next frame. Returns its first byte and its content.
    pub fn hear_any(&mut self) -> (u8, Vec<u8>) {
        self.next_frame().expect("the connection ended")
    }

    /// Reads a control frame, or a whole message that consists of one or more frames.
    fn next_frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let (first, mut content) = self.one_frame()?;
        if first != 0x01 {
            return Some((first, content));
        }
        loop {
            let (next, more) = self.one_frame()?;
            match next {
                0x00 | 0x80 => content.extend_from_slice(&more),
                _ => (),
            }
            match next {
                0x00 => (),
                0x80 => return Some((0x81, content)),
                // It may come between the parts of a message that will not be completed.
                0x88 => return Some((next, more)),
                other => panic!("a frame within a message: {other:x}"),
            }
        }
    }

    fn one_frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let header = self.take(2)?;
        let length = match header[1] {
            126 => self.take(2).map(|b| usize::from(u16::from_be_bytes([b[0], b[1]])))?,
            127 => self.take(8).map(|b| u64::from_be_bytes(b.try_into().unwrap()) as usize)?,
            short => usize::from(short),
        };
        Some((header[0], self.take(length)?))
    }

    fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.read.len() < count {
            if !self.more() {
                return None;
            }
        }
        Some(self.read.drain(..count).collect())
    }

    /// Reads text messages until one satisfies the condition, and returns it.
    pub fn hear_until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            match self.hear() {
                Frame::Text(text) => {
                    let value = serde_json::from_str(&text).unwrap();
                    if is_it(&value) {
                        return value;
                    }
                }
                Frame::Ping => self.frame(0x8a, b""),
                other => panic!("{other:?} came instead"),
            }
        }
    }

    /// Sends a command and waits for the reply.
    pub fn command(&mut self, id: u64, rest: &str) -> Value {
        self.say(&format!(r#"{{"id":{id},{rest}}}"#));
        self.hear_until(|message| message["reply"] == id)
    }

    /// Reads until the other side closes the connection. Returns the code of the close frame.
    pub fn closing(&mut self) -> Option<u16> {
        loop {
            match self.hear() {
                Frame::Close(code) => return code,
                Frame::End => return None,
                Frame::Text(_) | Frame::Ping => (),
            }
        }
    }
}

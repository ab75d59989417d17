//! HTTP requests and answers as values.

use serde_json::Value;

/// An HTTP request, which may be invalid.
#[derive(Clone, Debug)]
pub struct Request {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    pub fn new(method: &str, target: &str) -> Self {
        Self { method: method.into(), target: target.into(), headers: Vec::new(), body: Vec::new() }
    }

    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// A POST request with JSON as its body.
    pub fn post(target: &str, body: &str) -> Self {
        Self::new("POST", target).header("content-type", "application/json").body(body)
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub fn bearer(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    /// Adds the headers that a browser sends when it opens a page.
    pub fn by_browser(self) -> Self {
        self.header("accept", "text/html,application/xhtml+xml,*/*;q=0.8")
    }

    pub fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    /// The bytes of the request. Adds `Host` and `Content-Length` unless they are set.
    pub fn bytes(&self, host: &str) -> Vec<u8> {
        let given = |name: &str| self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !given("host") {
            head += &format!("host: {host}\r\n");
        }
        if !self.body.is_empty() && !given("content-length") && !given("transfer-encoding") {
            head += &format!("content-length: {}\r\n", self.body.len());
        }
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let mut bytes = (head + "\r\n").into_bytes();
        bytes.extend(&self.body);
        bytes
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of the header with this name. The header must not occur twice.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str());
        let value = values.next();
        assert!(values.next().is_none(), "{name} occurs twice");
        value
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e} in {self:?}"))
    }

    /// The code of an error answer. Asserts that the error has all its parts.
    pub fn error_code(&self) -> String {
        let error = &self.json()["error"];
        for part in ["code", "what", "why", "how"] {
            assert!(error[part].as_str().is_some_and(|t| !t.is_empty()), "no {part} in {error}");
        }
        error["code"].as_str().unwrap().to_owned()
    }

    /// The session cookie that the answer sets, as `name=value`.
    pub fn cookie(&self) -> String {
        self.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
    }
}

//! A store in a bucket of an S3-compatible server. The requests have their signature in the query
//! (presigned), so no header carries credentials, and no URL is ever shown.

use super::address::S3Place;
use super::credentials::{Access, StoreSettings};
use super::outcome::{Failure, Object, Outcome, too_long, too_many};
use crate::problem::{Kind, Problem};
use jiff::{SignedDuration, Timestamp};
use rusty_s3::actions::ListObjectsV2;
use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use ureq::http::{HeaderMap, Response, StatusCode};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection may stand still, and how long the store may take to answer.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a whole request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(600);
/// How long a signature is valid.
const SIGNATURE_LIFETIME: Duration = Duration::from_secs(900);
/// Maximum length of a page of a listing, and of an error.
const MAX_PAGE_BYTES: usize = 8 << 20;
const MAX_ERROR_BYTES: usize = 64 << 10;
/// Differences between this clock and the store's clock below this limit are not corrected.
const SMALL_SKEW: SignedDuration = SignedDuration::from_secs(60);

#[derive(Debug)]
pub(super) struct S3 {
    place: S3Place,
    settings: StoreSettings,
    shown: String,
    agent: Agent,
    bucket: Bucket,
    signer: Mutex<Arc<Signer>>,
}

/// What a request is signed with.
#[derive(Debug)]
struct Signer {
    credentials: Credentials,
    /// How far the store's clock is ahead of this machine's. The store refuses signatures of
    /// another time.
    ahead: SignedDuration,
}

impl S3 {
    /// Reads the credentials. Sends nothing.
    pub(super) fn new(place: S3Place, settings: StoreSettings, shown: &str) -> Result<Self, Problem> {
        let access = settings.access(&place, shown)?;
        let refused = |why: String, how: &str| {
            Problem::new(Kind::BadRequest, format!("use the store {shown}"), why, how)
        };
        let Access { region, endpoint, certificates, credentials } = access;
        // A certificate for *.s3.amazonaws.com does not cover a name with another dot.
        let is_path = endpoint.is_some() || place.bucket.contains('.');
        let style = if is_path { UrlStyle::Path } else { UrlStyle::VirtualHost };
        let endpoint = endpoint.unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
        let url = endpoint.parse().map_err(|_| {
            refused("the address of its server cannot be read".into(), "give http(s)://HOST:PORT")
        })?;
        let bucket = Bucket::new(url, style, place.bucket.clone(), region)
            .map_err(|error| refused(error.to_string(), "check the bucket's name"))?;
        let roots = match certificates {
            None => RootCerts::WebPki,
            Some(path) => {
                let unread = |why: String| {
                    refused(
                        format!("the certificates in {} cannot be read: {why}", path.display()),
                        "correct AWS_CA_BUNDLE",
                    )
                };
                let text = std::fs::read(&path).map_err(|error| unread(error.to_string()))?;
                let items = parse_pem(&text).filter_map(|item| match item {
                    Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
                    Ok(_) => None,
                    Err(error) => Some(Err(unread(error.to_string()))),
                });
                RootCerts::from(items.collect::<Result<Vec<_>, _>>()?)
            }
        };
        let config = Agent::config_builder()
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_per_read(Some(STALL_TIMEOUT))
            .timeout_per_write(Some(STALL_TIMEOUT))
            .timeout_recv_response(Some(STALL_TIMEOUT))
            .timeout_global(Some(REQUEST_TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .build();
        let signer = Mutex::new(Arc::new(Signer { credentials, ahead: SignedDuration::ZERO }));
        Ok(Self {
            place,
            settings,
            shown: shown.to_owned(),
            agent: Agent::new_with_config(config),
            bucket,
            signer,
        })
    }

    pub(super) fn put(&self, key: &str, bytes: &[u8]) -> Outcome<()> {
        let key = self.key(key);
        self.send(|credentials, time| {
            let url =
                self.bucket.put_object(Some(credentials), &key).sign_with_time(SIGNATURE_LIFETIME, time);
            self.agent.put(url.as_str()).send(bytes)
        })?
        .map(drop)
        .ok_or_else(|| Failure::refused(format!("there is no bucket {}", self.place.bucket), NO_BUCKET))
    }

    pub(super) fn get(&self, key: &str, max_bytes: usize) -> Outcome<Option<Object>> {
        let key = self.key(key);
        let answer = self.send(|credentials, time| {
            let url =
                self.bucket.get_object(Some(credentials), &key).sign_with_time(SIGNATURE_LIFETIME, time);
            self.agent.get(url.as_str()).call()
        })?;
        let Some(answer) = answer else { return Ok(None) };
        let age = age(answer.headers());
        Ok(Some(Object { bytes: body(answer, max_bytes)?, age }))
    }

    pub(super) fn age(&self, key: &str) -> Outcome<Option<Duration>> {
        let key = self.key(key);
        let answer = self.send(|credentials, time| {
            let url =
                self.bucket.head_object(Some(credentials), &key).sign_with_time(SIGNATURE_LIFETIME, time);
            self.agent.head(url.as_str()).call()
        })?;
        Ok(answer.map(|answer| age(answer.headers())))
    }

    pub(super) fn delete(&self, key: &str) -> Outcome<()> {
        let key = self.key(key);
        self.send(|credentials, time| {
            let url =
                self.bucket.delete_object(Some(credentials), &key).sign_with_time(SIGNATURE_LIFETIME, time);
            self.agent.delete(url.as_str()).call()
        })
        .map(drop)
    }

    pub(super) fn list(&self, prefix: &str, most: usize) -> Outcome<Vec<String>> {
        let prefix = self.key(prefix);
        let (mut keys, mut next) = (Vec::new(), None::<String>);
        loop {
            let answer = self.send(|credentials, time| {
                let mut action = self.bucket.list_objects_v2(Some(credentials));
                action.with_prefix(prefix.as_str());
                if let Some(next) = &next {
                    action.with_continuation_token(next.as_str());
                }
                self.agent.get(action.sign_with_time(SIGNATURE_LIFETIME, time).as_str()).call()
            })?;
            let Some(answer) = answer else {
                let why = format!("there is no bucket {}", self.place.bucket);
                return Err(Failure::refused(why, NO_BUCKET));
            };
            let page = String::from_utf8_lossy(&body(answer, MAX_PAGE_BYTES)?).into_owned();
            let page = ListObjectsV2::parse_response(&page).map_err(|error| {
                Failure::refused(format!("its listing cannot be read: {error}"), CHECK_SERVER)
            })?;
            let own = |key: &str| key.strip_prefix(&self.place.prefix).map(str::to_owned);
            keys.extend(page.contents.iter().filter_map(|object| own(&object.key)));
            if keys.len() > most {
                return Err(too_many(most));
            }
            match page.next_continuation_token {
                Some(token) => next = Some(token),
                None => return Ok(keys),
            }
        }
    }

    fn key(&self, key: &str) -> String {
        format!("{}{key}", self.place.prefix)
    }

    /// Sends a request. Returns none if the object does not exist. If the store refuses the
    /// signature, reads the credentials and the store's clock again, and sends it once more if that
    /// changed something.
    fn send(
        &self,
        request: impl Fn(&Credentials, &Timestamp) -> Result<Response<Body>, ureq::Error>,
    ) -> Outcome<Option<Response<Body>>> {
        let attempt = |signer: &Signer| {
            let time = Timestamp::now().checked_add(signer.ahead).unwrap_or(Timestamp::UNIX_EPOCH);
            request(&signer.credentials, &time).map_err(|error| unsent(&error))
        };
        let signer = self.signer();
        let mut answer = attempt(&signer)?;
        if answer.status() == StatusCode::FORBIDDEN
            && let Some(renewed) = self.renewed(&signer, answer.headers())
        {
            answer = attempt(&renewed)?;
        }
        match answer.status() {
            status if status.is_success() => Ok(Some(answer)),
            StatusCode::NOT_FOUND => self.missing(answer),
            _ => Err(self.refusal(answer)),
        }
    }

    fn signer(&self) -> Arc<Signer> {
        self.signer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn renewed(&self, old: &Signer, headers: &HeaderMap) -> Option<Arc<Signer>> {
        let access = self.settings.access(&self.place, &self.shown).ok()?;
        let theirs = time_of(headers, "date")?;
        let skew = SignedDuration::system_until(SystemTime::now(), theirs).ok()?;
        let ahead = if skew.abs() < SMALL_SKEW { SignedDuration::ZERO } else { skew };
        let is_same = |a: &Credentials, b: &Credentials| {
            (a.key(), a.secret(), a.token()) == (b.key(), b.secret(), b.token())
        };
        if is_same(&access.credentials, &old.credentials) && (ahead - old.ahead).abs() < SMALL_SKEW {
            return None;
        }
        let signer = Arc::new(Signer { credentials: access.credentials, ahead });
        *self.signer.lock().unwrap_or_else(PoisonError::into_inner) = signer.clone();
        Some(signer)
    }

    fn missing(&self, answer: Response<Body>) -> Outcome<Option<Response<Body>>> {
        match code_of(answer).as_deref() {
            Some("NoSuchBucket") => {
                let why = format!("there is no bucket {}", self.place.bucket);
                Err(Failure::refused(why, NO_BUCKET))
            }
            _ => Ok(None),
        }
    }

    fn refusal(&self, answer: Response<Body>) -> Failure {
        let status = answer.status();
        if status.is_redirection() {
            let region = answer.headers().get("x-amz-bucket-region").and_then(|region| region.to_str().ok());
            let why = match region {
                Some(region) => format!("the bucket is in the region {region}"),
                None => "the bucket is in another region, or its server at another address".into(),
            };
            return Failure::refused(why, "set AWS_REGION or AWS_ENDPOINT_URL");
        }
        let code = code_of(answer);
        let why = match &code {
            Some(code) => format!("it answers {} {code}", status.as_u16()),
            None => format!("it answers {status}"),
        };
        let is_clock = matches!(code.as_deref(), Some("RequestTimeTooSkewed" | "RequestExpired"));
        match status.as_u16() {
            408 | 429 | 500 | 502 | 503 | 504 => Failure::transient(why),
            _ if is_clock => Failure::refused(why, "set the clock of this machine"),
            401 | 403 => Failure::refused(why, "check the access key, and what it may do in this bucket"),
            507 => Failure::refused(why, "make room there, or remove old blobs with `ratoon gc --store`"),
            _ => Failure::refused(why, CHECK_SERVER),
        }
    }
}

const NO_BUCKET: &str = "check its name, or make the bucket";
const CHECK_SERVER: &str = "check the address of the store's server";

/// An error without an answer. It does not contain the URL, which has the signature.
fn unsent(error: &ureq::Error) -> Failure {
    match error {
        ureq::Error::Timeout(_) => Failure::transient("it does not answer in time"),
        ureq::Error::Io(error) => Failure::transient(error.to_string()),
        ureq::Error::HostNotFound => Failure::transient("its host is not found"),
        ureq::Error::ConnectionFailed => Failure::transient("no connection can be made"),
        ureq::Error::Rustls(error) => {
            Failure::refused(format!("the connection is not secure: {error}"), "check AWS_CA_BUNDLE")
        }
        ureq::Error::Protocol(_) | ureq::Error::BodyStalled => Failure::transient("its answer is cut off"),
        _ => Failure::refused("the request cannot be sent", CHECK_SERVER),
    }
}

fn body(answer: Response<Body>, max_bytes: usize) -> Outcome<Vec<u8>> {
    let limit = max_bytes as u64 + 1;
    let bytes = answer.into_body().into_with_config().limit(limit + 1).read_to_vec();
    let bytes = bytes.map_err(|error| match error {
        ureq::Error::BodyExceedsLimit(_) => too_long(max_bytes),
        error => unsent(&error),
    })?;
    if bytes.len() > max_bytes { Err(too_long(max_bytes)) } else { Ok(bytes) }
}

/// The code in the XML of an error, such as `AccessDenied`.
fn code_of(answer: Response<Body>) -> Option<String> {
    let text = String::from_utf8(body(answer, MAX_ERROR_BYTES).ok()?).ok()?;
    let code = text.split_once("<Code>")?.1.split_once("</Code>")?.0;
    code.bytes().all(|byte| byte.is_ascii_alphanumeric()).then(|| code.to_owned())
}

/// The age of an object by the store's clock. An answer without both times counts as new.
fn age(headers: &HeaderMap) -> Duration {
    let (now, written) = (time_of(headers, "date"), time_of(headers, "last-modified"));
    now.zip(written).and_then(|(now, written)| now.duration_since(written).ok()).unwrap_or_default()
}

fn time_of(headers: &HeaderMap, name: &str) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()
}

//! Tests of hostile state files: a few bytes that would fill the memory, or that would take forever
//! to load. Readable values are loaded. Other values are reported as missing. Nothing else is
//! delayed.

use crate::cells::{Ran, Room};
use crate::request::Request;
use crate::restarts::state_of;
use crate::server::{PATIENCE, TestServer};
use serde_json::{Value, json};
use std::time::Instant;

/// The first bytes of a value whose kind has no MessagePack type.
const fn mark(kind: u8) -> [u8; 4] {
    [0x81, 0xD4, 0x52, kind]
}

const BIG_INT: [u8; 4] = mark(0);
const TUPLE: [u8; 4] = mark(3);
const SAME: [u8; 4] = mark(16);
const DEQUE: [u8; 4] = mark(25);
const BYTES_KEPT: [u8; 4] = mark(30);

/// A state file that a test assembles.
#[derive(Default)]
struct Bomb {
    /// The names and values in the stream.
    values: Vec<(&'static str, Vec<u8>)>,
    /// The buffers. Each has its chunks and its declared length.
    buffers: Vec<(Vec<Vec<u8>>, u64)>,
    /// The names of variables whose value is a buffer, each with the index of the buffer.
    large: Vec<(String, usize)>,
    /// Additional fields of the manifest.
    more: Value,
}

impl Bomb {
    fn value(name: &'static str, bytes: Vec<u8>) -> Self {
        Self { values: vec![(name, bytes)], ..Self::default() }
    }

    /// The bytes of the file.
    fn file(&self) -> Vec<u8> {
        let stream: Vec<u8> = self.values.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        let cut = |bytes: u64, chunks: &[Vec<u8>]| {
            let digests: Vec<String> = chunks.iter().map(|c| digest(c)).collect();
            json!({"name": "values", "bytes": bytes, "readonly": false, "chunks": digests})
        };
        let in_stream = self.values.iter().map(|(name, bytes)| json!([name, bytes.len(), null]));
        let large = self.large.iter().map(|(name, buffer)| json!([name, self.buffers[*buffer].1, buffer]));
        let records: Vec<Value> = in_stream.chain(large).collect();
        let chunks: Vec<Vec<u8>> = stream.chunks(4 << 20).map(<[u8]>::to_vec).collect();
        let buffers: Vec<Value> = self.buffers.iter().map(|(chunks, bytes)| cut(*bytes, chunks)).collect();
        let mut manifest = json!({
            "format": "ratoon-checkpoint-1", "python": "3.11", "buffers": buffers, "entries": [],
            "missing": [],
            "data": {"streams": [cut(stream.len() as u64, &chunks)], "records": records},
        });
        for (key, value) in self.more.as_object().into_iter().flatten() {
            manifest[key] = value.clone();
        }
        let checkpoint = json!({
            "checkpoint_id": "", "session_id": "", "state_id": "s", "form": "data", "created_at": 0.0,
            "label": null,
            "metadata": {}, "namespace_size_bytes": 0, "compressed_size_bytes": 0, "new_bytes": 0,
            "compression_ratio": 1.0, "entry_count": 0, "includes_source": false, "parent_checkpoint": null,
            "execution_count": 1, "total_execution_time_ms": 0.0, "missing": [], "is_trusted": false,
        });
        let header =
            json!({"contains": [], "label": null, "code": "x", "outputs": [], "checkpoint": checkpoint});
        let mut file = b"ratoon-state 1\n".to_vec();
        let (header, manifest) = (header.to_string().into_bytes(), manifest.to_string().into_bytes());
        let mut seen = std::collections::HashSet::new();
        let all = chunks.iter().chain(self.buffers.iter().flat_map(|(chunks, _)| chunks));
        for bytes in [&header, &manifest].into_iter().chain(all) {
            if seen.insert(digest(bytes)) {
                file.extend(digest(bytes).bytes());
                let packed = zstd::bulk::compress(bytes, 1).unwrap();
                let is_shorter = packed.len() < bytes.len();
                let payload = if is_shorter { &packed } else { bytes };
                file.extend(u32::try_from(payload.len() + 1).unwrap().to_le_bytes());
                file.push(u8::from(is_shorter));
                file.extend(payload);
            }
        }
        file
    }
}

fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn list(count: u32, items: &[u8]) -> Vec<u8> {
    [&[0xDD], &count.to_be_bytes()[..], items].concat()
}

fn same(number: u8) -> Vec<u8> {
    [&SAME[..], &[number]].concat()
}

/// Nested tuples: each contains the previous tuple twice. The last tuple is the key of a
/// dictionary.
fn endless_key() -> Vec<u8> {
    let mut items = [&TUPLE[..], &[0x90]].concat();
    for number in 1..60 {
        items.extend([&TUPLE[..], &[0x92], &same(number)[..], &same(number)[..]].concat());
    }
    items.extend([&[0x81][..], &same(60), &[0xC0]].concat());
    list(61, &items)
}

/// A dictionary whose keys all have the same hash: multiples of 2**61 - 1.
fn colliding_keys(count: u32) -> Vec<u8> {
    let mut pairs = Vec::new();
    for number in 1..=u128::from(count) {
        let key = ((number * ((1 << 61) - 1)) << 1).to_le_bytes();
        pairs.extend([&BIG_INT[..], &[0xC6, 0, 0, 0, 16], &key[..], &[0xC0]].concat());
    }
    [&[0xDF], &count.to_be_bytes()[..], &pairs].concat()
}

impl TestServer {
    fn import_bomb(&self, bomb: &Bomb) -> String {
        let file = bomb.file();
        let request = Request::new("POST", "/api/notebooks/main/import")
            .header("content-type", "application/x-ratoon-state")
            .body(&file[..]);
        let answer = self.owner(request);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["state"].as_str().unwrap().to_owned()
    }
}

/// Returns the reason why a name could not be loaded.
fn why_missing(server: &TestServer, state: &str, name: &str) -> String {
    let ran: Ran = server.run(state, name);
    assert_eq!(ran.ename(), "NameError", "{name}: {ran:?}");
    ran.evalue().to_owned()
}

#[test]
fn values_that_need_too_much_memory_for_their_file_are_reported_missing() {
    let server = TestServer::start();
    let zeros = vec![0; 4 << 20];
    let many = |count: usize| (0..count).map(|n| format!("n{n}")).collect::<Vec<_>>();
    // A hundred thousand queues that each take 650 bytes in memory. Eight names share the one chunk
    // of the file that contains them.
    let queues = list(100_000, &[&DEQUE[..], &[0x91, 0xC0]].concat().repeat(100_000));
    let shared = Bomb {
        large: many(8).into_iter().map(|name| (name, 0)).collect(),
        buffers: vec![(vec![queues.clone()], queues.len() as u64)],
        values: vec![("fine", vec![7])],
        ..Bomb::default()
    };
    // A bytes object that consists of one chunk of zeros, repeated many times.
    let kept = [&BYTES_KEPT[..], &[0x92, 0xD3], &(512_i64 << 20).to_be_bytes()[..], &[0]].concat();
    let repeated = Bomb {
        values: vec![("n7", kept), ("fine", vec![7])],
        buffers: vec![(vec![zeros; 128], 512 << 20)],
        ..Bomb::default()
    };
    for bomb in [shared, repeated] {
        let length = bomb.file().len();
        assert!(length < 20_000, "{length}");
        let state = server.import_bomb(&bomb);
        assert_eq!(server.run(&state, "print(fine)").text(), "7\n", "the other variables are loaded");
        let why = why_missing(&server, &state, "n7");
        assert!(why.contains("MiB of memory, which is the limit for untrusted files of this size"), "{why}");
        let held = "print(open('/proc/self/status').read().split('VmRSS:')[1].split()[0])";
        let kib: u64 = server.run(&state, held).text().trim().parse().unwrap();
        assert!(kib < 700 << 10, "{kib} KiB");
        let limit = server.run(
            &state,
            "import resource as r; print(r.getrlimit(r.RLIMIT_DATA), r.getrlimit(r.RLIMIT_CPU))",
        );
        let initial = server.run(
            "initial",
            "import resource as r; print(r.getrlimit(r.RLIMIT_DATA), r.getrlimit(r.RLIMIT_CPU))",
        );
        assert_eq!(limit.text(), initial.text(), "the limits of the load do not stay");
    }
}

#[test]
fn the_memory_limit_of_a_run_applies_to_its_load() {
    let room = Room::new();
    let server = TestServer::start_with(&["--dir", room.path().to_str().unwrap(), "--run-memory", "64M"]);
    let lists = list(1_900_000, &[0x90; 1_900_000]);
    let state = server.import_bomb(&Bomb::value("x", lists));
    let why = why_missing(&server, &state, "x");
    assert!(why.contains("would need more than 64 MiB"), "{why}");
}

#[test]
fn keys_that_take_too_long_to_hash_are_refused() {
    let server = TestServer::start();
    let state = server.import_bomb(&Bomb::value("x", endless_key()));
    let why = why_missing(&server, &state, "x");
    assert!(why.contains("its keys have too many items"), "{why}");
    // Ordinary values that share objects are loaded.
    let few = list(3, &[&TUPLE[..], &[0x92, 1, 2], &[0x81], &same(1), &[3], &same(1)].concat());
    let state = server.import_bomb(&Bomb::value("x", few));
    assert_eq!(server.run(&state, "print(x, x[0] is x[2])").text(), "[(1, 2), {(1, 2): 3}, (1, 2)] True\n");
}

#[test]
fn an_endless_load_is_ended_delays_nothing_and_is_not_repeated() {
    let server = TestServer::start();
    let state = server.import_bomb(&Bomb::value("x", colliding_keys(100_000)));
    // A run that waits for this state ends at its time limit. Other runs are not delayed.
    let waiting = server.begin_with(&state, "print(1)", json!({"timeout": 2}));
    assert_eq!(server.run("initial", "print(2)").text(), "2\n");
    let waited = waiting.end();
    assert_eq!(waited.ename(), "RunTimeout");
    assert!(waited.evalue().contains("limit of 2 s, before its state was loaded"), "{}", waited.evalue());
    let link = server.post("/api/links", json!({"scope": "view", "notebook": "main"}));
    let token = link.json()["token"].as_str().unwrap().to_owned();
    let start = Instant::now();
    while state_of(&server, &state)["living"] != "replay" {
        assert!(start.elapsed() < 2 * PATIENCE, "{}", state_of(&server, &state));
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    // Listing the state's variables returns the reason. The state is not loaded a second time.
    let look = server.send(Request::get(&format!("/states/{state}")).bearer(&token));
    assert!(look.text().contains("took too long to load for an untrusted file of this size"), "{look:?}");
    assert_eq!(state_of(&server, &state)["living"], "replay");
    let ran = server.post("/execute", json!({"exec_id": "again", "state_name": state, "code": "1"}));
    assert!(ran.text().contains("took too long to load"), "{ran:?}");
}

#[test]
fn a_header_or_manifest_of_brackets_is_refused() {
    let server = TestServer::fresh();
    let import = |bomb: &Bomb| {
        let request = Request::new("POST", "/api/notebooks/main/import");
        let request = request.header("content-type", "application/x-ratoon-state").body(bomb.file());
        server.owner(request)
    };
    let empties = Value::from(vec![json!([]); 3_000_000]);
    let manifest = Bomb { more: json!({"sources": {"a": empties}}), ..Bomb::value("x", vec![7]) };
    let before = server.memory();
    let answer = import(&manifest);
    assert_eq!((answer.status, answer.error_code().as_str()), (400, "bad_request"));
    assert!(answer.text().contains("more than 4000000 parts"), "{}", answer.text());
    assert!(server.memory() < before + (100 << 20), "{} from {before}", server.memory());
    // Chunks that unpack to much more than the size of the file.
    let chunk = |number: u32| [&number.to_le_bytes()[..], &vec![0; (4 << 20) - 4]].concat();
    let chunks: Vec<Vec<u8>> = (0..300).map(chunk).collect();
    let bomb = Bomb { buffers: vec![(chunks, 300 * (4 << 20))], ..Bomb::value("x", vec![7]) };
    let answer = import(&bomb);
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("unpacks to more than"), "{}", answer.text());
}

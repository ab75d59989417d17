//! Tests of exported states. The files are whole, damaged or forged.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::blobs::Blobs;
use crate::notebook::{Form, StateId, StreamName};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

struct StateFileDir(PathBuf);

impl StateFileDir {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("ratoon-exchange-{}", uuid::Uuid::new_v4().simple()));
        std::fs::create_dir_all(path.join("tmp")).unwrap();
        Self(path)
    }

    fn blobs(&self) -> PathBuf {
        self.0.join("blobs")
    }

    /// The number of stored blobs.
    fn count(&self) -> usize {
        let folders = std::fs::read_dir(self.blobs()).into_iter().flatten().flatten();
        folders.map(|folder| std::fs::read_dir(folder.path()).unwrap().count()).sum()
    }

    fn put(&self, bytes: &[u8]) -> String {
        let mut blobs = Blobs::at(&self.blobs());
        let digest = blobs.put(bytes).unwrap().digest.to_string();
        blobs.settle().unwrap();
        digest
    }

    fn file(&self, bytes: &[u8]) -> PathBuf {
        let path = self.0.join("one.ratoon-state");
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for StateFileDir {
    fn drop(&mut self) {
        crate::store::tests::remove(&self.0);
    }
}

/// Makes a checkpoint with an environment part, a data part and two buffers. The data part uses
/// only the first buffer. One environment variable contains a secret.
fn checkpoint(dir: &StateFileDir) -> Checkpoint {
    let cut = |bytes: &[u8]| json!({"bytes": bytes.len(), "chunks": [dir.put(bytes)]});
    let stream = |name: &str, bytes: &[u8]| {
        let mut cut = cut(bytes);
        cut["name"] = json!(name);
        cut
    };
    let manifest = json!({
        "format": "ratoon-checkpoint-1", "python": "3.11", "packages": {},
        "environment": {"streams": [
            stream("values", b"pickled"), stream("settings", b"{}"), stream("environ", b"SECRET=1"),
        ]},
        "data": {"streams": [stream("values", b"plain")], "buffers": [0]},
        "buffers": [cut(&[7; 100_000]), cut(b"only pickled")],
        "entries": [{"name": "x", "type": "int"}, {"name": "f", "type": "function"}],
        "missing": [{"name": "g", "type": "generator", "reason": "it runs"}],
        "imports": ["import os"], "sources": {"f": "def f(): pass"},
    });
    Checkpoint {
        checkpoint_id: dir.put(&serde_json::to_vec(&manifest).unwrap()),
        notebook_id: "n".into(),
        state_id: StateId::new("s"),
        form: Form::Environment,
        created_at: 1.0,
        label: None,
        metadata: Map::new(),
        namespace_size_bytes: 1,
        compressed_size_bytes: 1,
        new_bytes: 1,
        compression_ratio: 1.0,
        entry_count: 2,
        includes_source: true,
        parent_checkpoint: Some("p".into()),
        execution_count: 7,
        total_execution_time_ms: 3.5,
        missing: Vec::new(),
        changed: Vec::new(),
        not_compared: None,
        is_trusted: true,
        python: None,
    }
}

fn written(dir: &StateFileDir, about: &Checkpoint, form: Form, environ: bool) -> Vec<u8> {
    let outputs = vec![Output::stream(StreamName::Stdout, "42\n")];
    let (label, code) = (Some("mine".to_owned()), "# %%\nx = 1\n".to_owned());
    let export = Export::prepare(&dir.blobs(), label, code, outputs, about, form, environ).unwrap();
    let (bytes, mut file) = (export.bytes, Vec::new());
    export.write(&mut file).unwrap();
    assert_eq!(file.len() as u64, bytes);
    file
}

fn manifest_of(dir: &StateFileDir, arrived: &Arrived) -> Value {
    let id = arrived.checkpoint.checkpoint_id.parse().unwrap();
    serde_json::from_slice(&Blobs::at(&dir.blobs()).get(&id, 1 << 20).unwrap()).unwrap()
}

fn read(file: &[u8], into: &StateFileDir) -> Result<Arrived, StateFileError> {
    read_state(&into.file(file), &into.blobs())
}

#[test]
fn a_state_goes_to_a_file_and_comes_back() {
    let (from, into) = (StateFileDir::new(), StateFileDir::new());
    let about = checkpoint(&from);
    let arrived = read(&written(&from, &about, Form::Environment, true), &into).unwrap();
    assert_eq!((arrived.label.as_deref(), arrived.code.as_str()), (Some("mine"), "# %%\nx = 1\n"));
    assert_eq!(arrived.outputs, [Output::stream(StreamName::Stdout, "42\n")]);
    let own = &arrived.checkpoint;
    assert_eq!(own.checkpoint_id, about.checkpoint_id, "all of it: the same content has the same id");
    assert_eq!((own.is_trusted, &own.parent_checkpoint), (false, &None));
    assert_eq!((own.execution_count, own.entry_count, own.missing.len()), (7, 2, 1));
    assert_eq!(own.namespace_size_bytes, 7 + 2 + 8 + 5 + 100_000 + 12);
    assert!(own.compressed_size_bytes < 10_000 && own.new_bytes == own.compressed_size_bytes);
    // A second import stores no new bytes.
    assert_eq!(
        read(&written(&from, &about, Form::Environment, true), &into).unwrap().checkpoint.new_bytes,
        0
    );
}

#[test]
fn what_is_not_wished_does_not_go_with_it() {
    let (from, into) = (StateFileDir::new(), StateFileDir::new());
    let about = checkpoint(&from);
    let file = written(&from, &about, Form::Environment, false);
    assert!(!file.windows(6).any(|w| w == b"SECRET"));
    let manifest = manifest_of(&into, &read(&file, &into).unwrap());
    let names: Vec<&Value> =
        manifest["environment"]["streams"].as_array().unwrap().iter().map(|s| &s["name"]).collect();
    assert_eq!(names, ["values", "settings"]);

    let into = StateFileDir::new();
    let file = written(&from, &about, Form::Data, false);
    for gone in ["SECRET", "pickled", "def f()"] {
        assert!(!file.windows(gone.len()).any(|w| w == gone.as_bytes()), "{gone}");
    }
    let arrived = read(&file, &into).unwrap();
    assert_eq!((arrived.checkpoint.form, arrived.checkpoint.includes_source), (Form::Data, false));
    let manifest = manifest_of(&into, &arrived);
    assert_eq!(manifest["environment"], Value::Null);
    assert_eq!(
        (&manifest["buffers"][0]["bytes"], &manifest["buffers"][1]["bytes"]),
        (&json!(100_000), &json!(0))
    );
    assert_eq!(into.count(), 3, "the manifest, a stream and a buffer");
    // A checkpoint that has only plain values cannot be exported with its environment.
    let again = Export::prepare(
        &into.blobs(),
        None,
        String::new(),
        Vec::new(),
        &arrived.checkpoint,
        Form::Environment,
        false,
    );
    assert!(matches!(again, Err(StateFileError::Bad(_))));
    assert_eq!(written(&into, &arrived.checkpoint, Form::Data, false).len() / 1000, file.len() / 1000);
}

#[test]
fn a_file_that_is_not_whole_is_refused_and_nothing_is_kept() {
    let (from, into) = (StateFileDir::new(), StateFileDir::new());
    let whole = written(&from, &checkpoint(&from), Form::Environment, false);
    let right = serde_json::to_string(&read(&whole, &StateFileDir::new()).unwrap()).unwrap();
    let refused = |file: &[u8], what: &str| {
        let error = read(file, &into).map(|_| ()).expect_err(what);
        assert!(matches!(error, StateFileError::Bad(_)), "{what}: {error:?}");
        assert_eq!(into.count(), 0, "{what}");
    };
    for length in 0..whole.len() {
        refused(&whole[..length], &format!("cut to {length}"));
    }
    let mut unseen = 0;
    for at in 0..whole.len() {
        let mut altered = whole.clone();
        altered[at] ^= 1 << (at % 8);
        // zstd ignores some bits. A change of such a bit does not change the content.
        let elsewhere = StateFileDir::new();
        match read(&altered, &elsewhere) {
            Ok(arrived) => {
                assert_eq!(serde_json::to_string(&arrived).unwrap(), right, "byte {at}");
                unseen += 1;
            }
            Err(error) => {
                assert!(matches!(error, StateFileError::Bad(_)), "byte {at}: {error:?}");
                assert_eq!(elsewhere.count(), 0, "byte {at}");
            }
        }
    }
    assert!(unseen < 5, "{unseen}");
    refused(&[&whole[..], b"\n"].concat(), "a byte behind its end");
    refused(&[&whole[..], &whole[..]].concat(), "twice");
    refused(b"", "nothing");
    refused(MAGIC, "only its first line");
    refused(&[MAGIC, "0".repeat(64).as_bytes(), &[255; 4], &[0; 100]].concat(), "a length beyond all");
}

/// Makes a file whose records have correct lengths and digests. Their content may be invalid.
fn forged(header: &Value, manifest: &Value, chunks: &[&[u8]]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    let head: Vec<Vec<u8>> = [header, manifest].iter().map(|v| serde_json::to_vec(v).unwrap()).collect();
    for bytes in head.iter().map(Vec::as_slice).chain(chunks.iter().copied()) {
        let packed = crate::blobs::to_file(bytes);
        file.extend(Digest::of(bytes).to_string().as_bytes());
        file.extend(u32::try_from(packed.len()).unwrap().to_le_bytes());
        file.extend(packed);
    }
    file
}

#[test]
fn a_file_that_says_what_cannot_be_is_refused() {
    let (from, into) = (StateFileDir::new(), StateFileDir::new());
    let mut about = checkpoint(&from);
    about.form = Form::Data;
    let header = json!({"contains": [], "label": null, "code": "", "outputs": [], "checkpoint": about});
    let (a, b) = (Digest::of(b"aa").to_string(), Digest::of(b"bb").to_string());
    let cut = |bytes: u64, chunks: &[&String]| json!({"name": "values", "bytes": bytes, "chunks": chunks});
    let manifest = |streams: Value| json!({"format": "ratoon-checkpoint-1", "data": {"streams": streams}});
    let good = manifest(json!([cut(2, &[&a]), cut(2, &[&b])]));
    assert!(read(&forged(&header, &good, &[b"aa", b"bb"]), &into).is_ok());
    let count = into.count();
    let mut both = good.clone();
    both["environment"] = both["data"].clone();
    let mut no_outputs = header.clone();
    no_outputs["outputs"] = json!([{"output_type": "strange"}]);
    let deep = serde_json::from_str::<Value>(&("[".repeat(120) + &"]".repeat(120))).unwrap();
    let mut deep_header = header.clone();
    deep_header["checkpoint"]["metadata"] = json!({"a": deep.clone()});
    deep_header["checkpoint"]["metadata"]["b"] = json!([[[[[[[[deep]]]]]]]]);
    for (file, what) in [
        (forged(&header, &good, &[b"bb", b"aa"]), "another order"),
        (forged(&header, &good, &[b"aa"]), "a chunk that is missing"),
        (forged(&header, &good, &[b"aa", b"bb", b"cc"]), "a chunk that nothing names"),
        (forged(&header, &good, &[b"aa", b"cc"]), "another chunk"),
        (forged(&header, &manifest(json!([cut(3, &[&a])])), &[b"aa"]), "a chunk that is too short"),
        (forged(&header, &manifest(json!([cut(1, &[&a])])), &[b"aa"]), "a chunk that is too long"),
        (forged(&header, &manifest(json!([cut(u64::MAX, &[&a])])), &[b"aa"]), "too few chunks"),
        (forged(&header, &manifest(json!([cut(2, &[&a]), cut(1, &[&a])])), &[b"aa"]), "two lengths"),
        (forged(&header, &both, &[b"aa", b"bb"]), "more than values"),
        (forged(&header, &json!({"format": "ratoon-checkpoint-2"}), &[]), "another format"),
        (forged(&header, &json!([]), &[]), "no manifest"),
        (forged(&json!({}), &good, &[b"aa", b"bb"]), "no header"),
        (forged(&no_outputs, &good, &[b"aa", b"bb"]), "outputs of no kind"),
        (forged(&deep_header, &good, &[b"aa", b"bb"]), "nested beyond reading"),
    ] {
        let error = read(&file, &into).map(|_| ()).expect_err(what);
        assert!(matches!(error, StateFileError::Bad(_)), "{what}: {error:?}");
        assert_eq!(into.count(), count, "{what}");
    }
    // A decompression bomb: a short chunk that unpacks to more than the maximum length of a chunk.
    let bomb = zstd::bulk::compress(&vec![0; 64 << 20], 19).unwrap();
    let mut file = forged(&header, &manifest(json!([cut(4 << 20, &[&a])])), &[]);
    file.extend(a.as_bytes());
    file.extend(u32::try_from(bomb.len() + 1).unwrap().to_le_bytes());
    file.push(1);
    file.extend(bomb);
    assert!(matches!(read(&file, &into), Err(StateFileError::Bad(_))));
    assert!(matches!(read_state(Path::new("nowhere"), &into.blobs()), Err(StateFileError::Disk(_))));
}

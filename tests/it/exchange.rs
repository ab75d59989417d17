//! Tests of the export and import of states as files. An imported state is not trusted.

use crate::cells::Room;
use crate::request::{Answer, Request};
use crate::server::{TOKEN, TestServer};
use crate::wire::Wire;
use serde_json::{Value, json};

const FILE: &str = "application/x-ratoon-state";

impl TestServer {
    /// Writes a state's checkpoint and returns the body of the answer.
    pub fn checkpoint(&self, state: &str, wish: Value) -> Value {
        let answer = self.post(&format!("/api/states/{state}/checkpoint"), wish);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    pub fn export(&self, state: &str, query: &str) -> Answer {
        self.get(&format!("/api/notebooks/main/states/{state}/export{query}"))
    }

    pub fn import(&self, file: &[u8]) -> Answer {
        let request = Request::new("POST", "/api/notebooks/main/import").header("content-type", FILE);
        self.owner(request.body(file))
    }
}

#[test]
fn an_upload_that_is_not_a_state_file_is_refused_and_leaves_nothing() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    for file in [&b"no"[..], b"ratoon-state 1\n", b"ratoon-state 2\n", &[0; 100_000], &[b'x'; 3 << 20]] {
        let answer = server.import(file);
        assert_eq!((answer.status, answer.error_code().as_str()), (400, "bad_request"));
    }
    assert_eq!(server.states(), ["initial"]);
    let left = std::fs::read_dir(room.file("main.ratoon/tmp")).unwrap().count();
    assert_eq!(left, 0, "the upload is gone");
    // The same holds for an upload that stops before its end.
    let mut wire = Wire::open(server.address);
    let request = Request::new("POST", "/api/notebooks/main/import").header("content-type", FILE);
    let request = request.header("content-length", "1000").bearer(TOKEN).body("ratoon");
    wire.write(&request.bytes(&server.host()));
    drop(wire);
    crate::server::until("the upload is gone", || {
        std::fs::read_dir(room.file("main.ratoon/tmp")).unwrap().count() == 0
    });
    let declared = Request::new("POST", "/api/notebooks/main/import").header("content-type", FILE);
    assert_eq!(server.owner(declared.header("content-length", "1073741825")).status, 413);
}

#[test]
fn a_state_file_needs_its_own_content_type() {
    let server = TestServer::start();
    let send = |request: Request| server.owner(request.body("x")).status;
    let import = || Request::new("POST", "/api/notebooks/main/import");
    assert_eq!(send(import()), 415);
    for other in
        ["application/json", "text/plain", "multipart/form-data", "application/x-www-form-urlencoded"]
    {
        assert_eq!(send(import().header("content-type", other)), 415, "{other}");
    }
    assert_eq!(send(import().header("content-type", "application/octet-stream")), 400);
    assert_eq!(send(import().header("content-type", FILE).header("content-encoding", "gzip")), 415);
    assert_eq!(send(Request::new("POST", "/execute").header("content-type", FILE)), 415);
}

#[test]
fn a_state_without_a_checkpoint_is_not_exported() {
    let server = TestServer::start_with(&["--no-checkpoints"]);
    let state = server.run("initial", "x = 1");
    let answer = server.export(state.state(), "");
    assert_eq!((answer.status, answer.error_code().as_str()), (404, "not_found"));
    assert!(answer.text().contains("save it first"), "{}", answer.text());
    assert_eq!(server.export("none", "").status, 404);
    assert_eq!(server.export(state.state(), "?form=pickle").status, 400);
}

#[test]
fn a_state_can_be_copied_to_another_notebook_as_a_file() {
    let (here, there) = (Room::new(), Room::new());
    let source = TestServer::in_dir(here.path());
    let first = source.run(
        "initial",
        "import os\nos.environ['SECRET_OF_TESTS'] = 'hush-hush'\nx = [1, 2]\nbig = bytes(range(256)) * 4000",
    );
    let second = source.run(first.state(), "def f():\n    return x\nprint('made')");
    source.post(&format!("/api/states/{}/label", second.state()), json!({"label": "my state"}));
    source.checkpoint(second.state(), json!({}));
    let exported = source.export(second.state(), "");
    assert_eq!(exported.status, 200);
    assert_eq!(exported.header("content-type"), Some(FILE));
    let disposition = exported.header("content-disposition").unwrap();
    assert!(disposition.contains("filename=\"my state.ratoon-state\""), "{disposition}");

    let target = TestServer::in_dir(there.path());
    let imported = target.import(&exported.body);
    assert_eq!(imported.status, 200, "{imported:?}");
    let imported = imported.json();
    assert_eq!((&imported["kind"], &imported["status"]), (&json!("ended"), &json!("ok")));
    let state = imported["state"].as_str().unwrap();
    let notebook = target.notebook();
    let run = notebook["runs"].as_array().unwrap().iter().find(|r| r["state"] == state).unwrap();
    let code = run["code"].as_str().unwrap();
    assert!(code.starts_with("# %%\nimport os\n") && code.contains("# %%\ndef f():"), "{code}");
    assert_eq!(run["outputs"][0]["text"], "made\n");
    let kept = target.get(&format!("/api/states/{state}/checkpoint")).json();
    assert_eq!((&kept["is_trusted"], &kept["state_id"]), (&json!(false), &json!(state)));
    // Until the state is trusted, only its plain values are loaded. If it were saved now, its code
    // would be lost.
    assert_eq!(target.run(state, "print(x, len(big))").text(), "[1, 2] 1024000\n");
    assert_eq!(target.run(state, "f()").ename(), "NameError");
    let saved = target.post(&format!("/api/states/{state}/checkpoint"), json!({}));
    assert_eq!((saved.status, saved.error_code().as_str()), (409, "conflict"));
    let trusted = target.owner(Request::new("POST", "/api/trust")).json();
    assert_eq!(trusted, json!({"trusted": 1}));
    assert_eq!(target.run(state, "print(f(), x)").text(), "[1, 2] [1, 2]\n");
    assert_eq!(target.run(state, "import os; print('SECRET_OF_TESTS' in os.environ)").text(), "False\n");
    // Environment variables are exported only on request.
    let secret = source.export(second.state(), "?environ=true");
    assert!(secret.body.len() > exported.body.len());
}

#[test]
fn an_altered_state_file_is_refused_and_leaves_nothing() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    let state = server.run("initial", "x = list(range(1000))");
    server.checkpoint(state.state(), json!({"form": "data"}));
    let file = server.export(state.state(), "?form=data").body;
    for at in (0..file.len()).step_by(file.len() / 40) {
        let mut altered = file.clone();
        altered[at] ^= 0x55;
        assert_eq!(server.import(&altered).status, 400, "byte {at}");
        assert_eq!(server.import(&file[..at]).status, 400, "cut to {at}");
    }
    assert_eq!(server.import(&[&file[..], b"x"].concat()).status, 400);
    assert_eq!(server.states().len(), 2);
    assert_eq!(server.import(&file).status, 200);
    assert_eq!(server.states().len(), 3);
}

#[test]
fn a_file_of_values_contains_no_code() {
    let (here, there) = (Room::new(), Room::new());
    let source = TestServer::in_dir(here.path());
    let code = "import os\nclass Mine:\n    def __reduce__(self):\n        return (open, ('marker', 'w'))\n\
                class Other: pass\nm, o = Mine(), Other()\no.large = os.urandom(3 << 20)\n\
                big = bytes(range(256)) * 4000\n\
                x = {'a': (1, 2), 'b': {3}}";
    let state = source.run("initial", code);
    source.checkpoint(state.state(), json!({}));
    let file = source.export(state.state(), "?form=data");
    assert_eq!(file.status, 200, "{}", file.text());
    assert!(
        file.body.len() < 1 << 20,
        "data that only objects hold must not be in the file: {}",
        file.body.len()
    );
    assert!(source.export(state.state(), "").body.len() > 3 << 20);
    let target = TestServer::in_dir(there.path());
    let imported = target.import(&file.body).json()["state"].as_str().unwrap().to_owned();
    target.owner(Request::new("POST", "/api/trust"));
    assert_eq!(
        target.run(&imported, "print(x, len(big), big[255])").text(),
        "{'a': (1, 2), 'b': {3}} 1024000 255\n"
    );
    assert_eq!(target.run(&imported, "m").ename(), "NameError");
    assert!(!there.file("marker").exists());
}

//! Tests of `--write` and `--no-network`. They are skipped, with a message, where Linux cannot
//! restrict processes so.

use crate::cells::Room;
use crate::request::Request;
use crate::server::{TestServer, output_of, until};
use serde_json::json;
use std::fs;

/// Starts a server with these options, or says why the test is skipped.
pub fn start(room: &Room, options: &[&str]) -> Option<TestServer> {
    let dir = room.path().to_str().unwrap();
    let probe = output_of(&[&["--dir", dir, "--bind", "nowhere"], options].concat());
    let message = String::from_utf8_lossy(&probe.stderr).into_owned();
    if message.contains("restrict cells") {
        eprintln!("skipped: {message}");
        return None;
    }
    Some(TestServer::start_with(&[&["--dir", dir], options].concat()))
}

#[test]
fn cells_write_only_where_they_may_and_so_do_their_branches_and_subprocesses() {
    let room = Room::new();
    let outside = Room::new();
    for name in ["out", "data"] {
        fs::create_dir(room.file(name)).unwrap();
    }
    fs::write(room.file("data/input"), "kept").unwrap();
    let out = room.file("out");
    let Some(mut server) = start(&room, &["--write", out.to_str().unwrap()]) else { return };
    let code = format!(
        "import os, subprocess, tempfile\n\
         def refused(act):\n    try: act()\n    except PermissionError: return True\n\
         results = [open('data/input').read()]\n\
         open('out/result', 'w').write('x'); os.makedirs('out/a/b'); os.rename('out/result', 'out/a/b/r')\n\
         results += [refused(lambda: open('data/input', 'w')), refused(lambda: os.truncate('data/input', 0)),\n\
             refused(lambda: os.remove('data/input')), refused(lambda: os.rename('data/input', 'out/i')),\n\
             refused(lambda: os.symlink('/', 'data/l')), refused(lambda: os.mkdir('data/d')),\n\
             refused(lambda: open('{outside}/x', 'w')), refused(lambda: open('main.ratoon/notebook.db', 'a'))]\n\
         results.append(subprocess.run(['sh', '-c', 'echo > data/input'], stderr=subprocess.DEVNULL).returncode != 0)\n\
         results.append(subprocess.run(['sh', '-c', 'echo > /dev/null']).returncode == 0)\n\
         with tempfile.NamedTemporaryFile() as file: results.append(file.name.startswith('/') and file.write(b'x') == 1)\n\
         print(results)",
        outside = outside.path().display()
    );
    let first = server.run("initial", &code);
    let state = first.state().to_owned();
    let all = first.text();
    assert_eq!(all, "['kept', True, True, True, True, True, True, True, True, True, True, True]\n");
    assert!(room.file("out/a/b/r").exists());
    assert_eq!(fs::read_to_string(room.file("data/input")).unwrap(), "kept");
    // The state is saved although its process may not write to the directory.
    until("the state is on disk", || {
        server.owner(Request::get(&format!("/api/states/{state}/checkpoint"))).status == 200
    });
    server.signal(nix::sys::signal::Signal::SIGTERM);
    server.wait();
    assert!(server.start_again(&[]));
    let again = server.run(&state, "print(refused(lambda: open('data/input', 'w')), len(results))");
    assert_eq!(again.text(), "True 12\n");
    let listed = server.owner(Request::get("/api/notebooks")).json();
    assert_eq!(listed["sandbox"], json!({"write": [out.canonicalize().unwrap()], "network": true}));
    server.signal(nix::sys::signal::Signal::SIGTERM);
    server.wait();
}

#[test]
fn cells_without_a_network_make_no_sockets_and_the_rest_works() {
    let room = Room::new();
    let Some(mut server) = start(&room, &["--no-network"]) else { return };
    let address = server.host();
    let code = format!(
        "import asyncio, multiprocessing, os, socket, subprocess, sys\n\
         def refused(*kind):\n    try: socket.socket(*kind)\n    except PermissionError: return True\n\
         print([refused(*kind) for kind in [(socket.AF_INET,), (socket.AF_INET6,), (socket.AF_UNIX,),\n\
             (socket.AF_INET, socket.SOCK_DGRAM), (socket.AF_NETLINK, socket.SOCK_RAW)]])\n\
         probe = 'import socket; socket.create_connection((\"{host}\", {port}))'\n\
         print(subprocess.run([sys.executable, '-c', probe], stderr=subprocess.DEVNULL).returncode)\n\
         a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1)); a.close(); b.close()\n\
         print(asyncio.run(asyncio.sleep(0, 'loop')))\n\
         print(multiprocessing.get_context('fork').Pool(1).map(abs, [-1]))\n\
         open('made', 'w').close()",
        host = address.split(':').next().unwrap(),
        port = address.split(':').nth(1).unwrap(),
    );
    let first = server.run("initial", &code);
    let state = first.state().to_owned();
    assert_eq!(first.text(), "[True, True, True, True, True]\n1\nb'x'\nloop\n[1]\n");
    assert!(room.file("made").exists());
    assert_eq!(server.run(&state, "print(refused(socket.AF_INET))").text(), "True\n");
    let listed = server.owner(Request::get("/api/notebooks")).json();
    assert_eq!(listed["sandbox"], json!({"write": null, "network": false}));
    server.signal(nix::sys::signal::Signal::SIGTERM);
    server.wait();
}

#[test]
fn a_directory_that_does_not_exist_is_refused() {
    let room = Room::new();
    let dir = room.path().to_str().unwrap();
    let refused = output_of(&["--dir", dir, "--bind", "127.0.0.1:0", "--write", "/nowhere/at/all"]);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2));
    assert!(message.contains("ratoon cannot let cells write to /nowhere/at/all"), "{message}");
    let plain = TestServer::start();
    assert_eq!(plain.owner(Request::get("/api/notebooks")).json()["sandbox"], json!(null));
}

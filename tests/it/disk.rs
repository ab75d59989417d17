//! Tests of a disk that is full or broken. Work continues in memory, and all clients are notified.
//! When the disk can be written again, everything is saved without a restart.

use crate::cells::{Live, Room, unique};
use crate::request::{Answer, Request};
use crate::restarts::{command, has_strace, seen, state_of};
use crate::server::{TestServer, output_of, until};
use nix::sys::signal::{Signal, kill};
use nix::sys::statvfs::statvfs;
use nix::unistd::{Pid, geteuid};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};

/// A file system of a few megabytes for one test.
pub struct SmallDisk(Room);

impl SmallDisk {
    /// Returns `None`, and prints a message to stderr, if the test may not mount file systems.
    pub fn new(megabytes: u32) -> Option<Self> {
        let room = Room::new();
        let size = format!("size={megabytes}m");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(room.path()).stderr(Stdio::null());
        if !geteuid().is_root() || !mount.status().is_ok_and(|status| status.success()) {
            eprintln!("skipped: only root may mount a small file system here");
            return None;
        }
        Some(Self(room))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    fn free_bytes(&self) -> u64 {
        let found = statvfs(self.path()).unwrap();
        found.blocks_available() * found.fragment_size()
    }

    /// Fills the disk up to `leave` free bytes.
    pub fn fill(&self, leave: u64) {
        let size = self.free_bytes().saturating_sub(leave);
        std::fs::write(self.0.file("filler"), vec![7; usize::try_from(size).unwrap()]).unwrap();
    }

    pub fn clear(&self) {
        std::fs::remove_file(self.0.file("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Unmounts lazily, because a process of the server may run for a moment longer.
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

fn execute(server: &TestServer, on: &str, name: &str, code: &str) -> Answer {
    let wish = json!({"exec_id": unique("run"), "state_name": on, "new_state_name": name, "code": code});
    server.owner(Request::post("/execute", &wish.to_string()))
}

/// Repeats a cell until its result can be stored, and returns the printed text. Repeating is needed
/// because a checkpoint that does not fit fills the disk for a moment.
fn text_when_stored(server: &TestServer, on: &str, code: &str) -> String {
    let mut answer = execute(server, on, &unique("state"), code);
    until("the cell's result is stored", || {
        if answer.status == 507 {
            answer = execute(server, on, &unique("state"), code);
        }
        answer.status == 200
    });
    answer.json()["output"][0]["text"].as_str().unwrap_or_default().to_owned()
}

fn trouble(server: &TestServer) -> Value {
    server.notebook()["trouble"].clone()
}

/// Checks that commands answer with an error about the disk, and that work continues in memory.
/// `tip` is a state in which `x` is 1.
fn works_in_memory(server: &TestServer, tip: &str) {
    let told = trouble(server);
    for part in ["what", "why", "how"] {
        assert!(told[part].as_str().is_some_and(|text| !text.is_empty()), "no {part} in {told}");
    }
    let refused = execute(server, tip, "in memory", "x += 1; print(x)");
    assert_eq!((refused.status, refused.error_code().as_str()), (507, "disk"), "{refused:?}");
    let label = json!({"do": "label", "state": "initial", "label": "in trouble"});
    let refused = server.owner(Request::post("/api/notebooks/main/commands", &label.to_string()));
    assert_eq!((refused.status, &refused.json()["code"]), (507, &json!("disk")), "{refused:?}");
    // The command was carried out although the answer was an error. Later commands work, too.
    assert_eq!(state_of(server, "initial")["label"], "in trouble");
    let state = state_of(server, "in memory")["id"].as_str().unwrap().to_owned();
    let mut live = Live::join(server);
    let exec_id = live.run(&state, "print(x + 1)");
    let events = live.events_of(&exec_id);
    let text: String = events.iter().filter_map(|e| e["output"]["text"].as_str()).collect();
    assert_eq!(text, "3\n", "{events:#?}");
    assert_eq!(events.last().unwrap()["status"], "ok");
    assert_eq!(server.owner(Request::get("/states")).status, 200);
}

/// Checks that everything is saved when the disk works again, and that a restart loses nothing.
fn all_is_saved(server: &mut TestServer) {
    until("the trouble is over", || trouble(server).is_null());
    for line in ["the disk fails what=", "the disk works again"] {
        until("the log says so", || server.errors().contains(line));
    }
    assert_eq!(execute(server, "in memory", "after", "x += 1; print(x)").status, 200);
    for name in ["in memory", "after"] {
        command(server, json!({"do": "checkpoint", "state": state_of(server, name)["id"]}));
    }
    let before = seen(server);
    server.restart();
    assert_eq!(seen(server), before);
    let check = trouble(server);
    assert!(check.is_null(), "{check}");
    assert_eq!(server.run("after", "print(x)").text(), "3\n");
    server.kill();
    let check = output_of(&["check", server.kept().to_str().unwrap()]);
    assert!(check.status.success(), "{check:?}");
}

#[test]
fn on_a_full_disk_work_continues_and_is_saved_later() {
    let Some(disk) = SmallDisk::new(32) else { return };
    let mut server = TestServer::in_dir(disk.path());
    let first = server.run("initial", "import os; x = 1").state().to_owned();
    command(&server, json!({"do": "checkpoint", "state": first}));
    assert_eq!(trouble(&server), Value::Null);
    disk.fill(400_000);
    let mut live = Live::join(&server);
    let mut answers = Vec::new();
    for n in 0..40 {
        let answer = execute(&server, &first, &format!("full {n}"), "print(os.urandom(30_000).hex())");
        answers.push(answer.status);
        if answer.status != 200 {
            assert_eq!((answer.status, answer.error_code().as_str()), (507, "disk"), "{answer:?}");
            break;
        }
    }
    assert_eq!(answers.last(), Some(&507), "the disk is never full: {answers:?}");
    live.hear(|event| event["event"] == "trouble_changed" && event["trouble"].is_object());
    works_in_memory(&server, &first);
    disk.clear();
    live.hear(|event| event["event"] == "trouble_changed" && event["trouble"].is_null());
    all_is_saved(&mut server);
}

#[test]
fn a_disk_whose_fsync_failed_is_used_again_when_fsync_works() {
    if !has_strace() {
        return;
    }
    let mut server = TestServer::fresh();
    let first = server.run("initial", "x = 1").state().to_owned();
    command(&server, json!({"do": "checkpoint", "state": first}));
    let pid = server.pid().to_string();
    let inject = "inject=fsync,fdatasync:error=EIO";
    let mut strace = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e", inject, "-p", &pid])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let mut number = 0;
    until("the disk fails", || {
        if let Some(status) = strace.try_wait().unwrap() {
            panic!("strace ended: {status}");
        }
        number += 1;
        let label = json!({"do": "label", "state": first, "label": format!("label {number}")});
        server.owner(Request::post("/api/notebooks/main/commands", &label.to_string())).status == 507
    });
    works_in_memory(&server, &first);
    // strace detaches from the server, which continues.
    kill(Pid::from_raw(i32::try_from(strace.id()).unwrap()), Signal::SIGINT).unwrap();
    strace.wait().unwrap();
    all_is_saved(&mut server);
}

#[test]
fn a_checkpoint_that_does_not_fit_on_the_disk_harms_no_other_data() {
    let Some(disk) = SmallDisk::new(24) else { return };
    let mut server = TestServer::in_dir(disk.path());
    let small = server.run("initial", "import os; x = 1").state().to_owned();
    command(&server, json!({"do": "checkpoint", "state": small}));
    let free = disk.free_bytes();
    let large = execute(&server, &small, "large", "data = os.urandom(64 << 20); total = sum(data[:1000])");
    assert_eq!(large.status, 200, "{large:?}");
    until("the failure is reported", || state_of(&server, "large")["saving"]["now"] == "failed");
    let why = state_of(&server, "large")["saving"]["why"].as_str().unwrap().to_owned();
    assert!(!why.is_empty());
    // The unfinished checkpoint was deleted. Whole blobs may stay, because a later attempt can use
    // them.
    until("the store works", || trouble(&server).is_null());
    let check = "print(len(data), sum(data[:1000]) == total)";
    assert_eq!(text_when_stored(&server, "large", check), format!("{} True\n", 64 << 20));
    assert!(disk.free_bytes() > 0, "none of {free} free bytes is left");
    let wish = json!({"do": "checkpoint", "state": state_of(&server, "large")["id"]});
    let refused = server.owner(Request::post("/api/notebooks/main/commands", &wish.to_string()));
    assert_ne!(refused.status, 200, "{refused:?}");
    assert_eq!(text_when_stored(&server, &small, "print(x)"), "1\n");
    let before = seen(&server);
    server.restart();
    assert_eq!(seen(&server), before);
    assert_eq!(server.run(&small, "print(x)").text(), "1\n");
    // The large state is not saved, so it must be replayed. Its residency says this.
    assert_eq!(state_of(&server, "large")["living"], "replay");
    assert_eq!(server.run("large", "1").ename(), "StateLost");
}

#[test]
fn a_full_disk_at_the_start_is_reported() {
    let Some(disk) = SmallDisk::new(1) else { return };
    disk.fill(0);
    let said = output_of(&["--bind", "127.0.0.1:0", "--dir", disk.path().to_str().unwrap()]);
    let text = String::from_utf8_lossy(&said.stderr);
    assert_eq!((said.status.code(), said.stdout.is_empty()), (Some(2), true), "{text}");
    assert!(text.contains("main.ratoon") && !text.contains("panicked"), "{text}");
    disk.clear();
    let server = TestServer::in_dir(disk.path());
    assert_eq!(server.owner(Request::get("/states")).status, 200);
}

#[test]
fn a_notebook_that_does_not_fit_is_refused_and_leaves_nothing() {
    let Some(disk) = SmallDisk::new(4) else { return };
    let server = TestServer::in_dir(disk.path());
    disk.fill(0);
    let make = || server.owner(Request::post("/api/notebooks", r#"{"name":"other"}"#));
    let answer = make();
    let said = answer.json()["error"].clone();
    assert_eq!((answer.status, &said["code"]), (507, &json!("disk")), "{said}");
    assert!(!disk.path().join("other.ratoon").exists());
    disk.clear();
    assert_eq!(make().status, 200);
}

#[test]
fn a_file_that_does_not_fit_is_refused_and_leaves_nothing() {
    let Some(disk) = SmallDisk::new(4) else { return };
    let server = TestServer::in_dir(disk.path());
    let cell = json!({"cell_type": "code", "source": "x".repeat(500_000), "metadata": {}, "outputs": []});
    let file =
        json!({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": vec![cell; 6]}).to_string();
    let import =
        |name: &str| server.owner(Request::post(&format!("/api/notebooks/import?name={name}"), &file));
    disk.fill(1 << 20);
    let answer = import("large");
    let said = answer.json()["error"].clone();
    assert_eq!((answer.status, &said["code"]), (507, &json!("disk")), "{said}");
    assert_eq!(said["what"], "write the notebook \"large\"", "the error contains no path of the server");
    let left = || -> Vec<String> {
        let all = std::fs::read_dir(disk.path()).unwrap().flatten();
        let mut all: Vec<String> = all.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        all.sort();
        all
    };
    assert_eq!(left(), ["filler", "main.ratoon"]);
}

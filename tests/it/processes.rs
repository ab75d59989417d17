//! Tests of a user with a low limit of processes, and of cells that use all processes of this
//! limit.
//!
//! The limit does not apply to root. So the server runs as another user, who must be able to read
//! root's files.

use crate::cells::{Process, Room};
use crate::request::{Answer, Request};
use crate::server::{TestServer, until};
use nix::sys::signal::Signal;
use serde_json::json;
use std::os::unix::fs::MetadataExt;

/// A server that runs as a separate user, who has a limit of processes.
struct Limited {
    user: u32,
    server: TestServer,
    #[expect(dead_code, reason = "it is there to be dropped")]
    config: Room,
}

impl Limited {
    fn start(user: u32, processes: u32) -> Option<Self> {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: only root can start a server as a user who has no other processes");
            return None;
        }
        let config = Room::new();
        let (id, limit) = (user.to_string(), format!("--nproc={processes}:{processes}"));
        let under = [
            "env",
            &format!("XDG_CONFIG_HOME={}", config.path().display()),
            "setpriv",
            "--reuid",
            &id,
            "--regid",
            &id,
            "--clear-groups",
            "--inh-caps=-all,+dac_override",
            "--ambient-caps=-all,+dac_override",
            "--bounding-set=-all,+dac_override",
            "prlimit",
            &limit,
        ];
        let (server, has_begun) = TestServer::start_under(&under);
        assert!(has_begun, "{}", server.errors());
        Some(Self { user, server, config })
    }

    /// Returns the number of processes of the user.
    fn processes(&self) -> usize {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let is_process = |name: &str| name.bytes().all(|b| b.is_ascii_digit());
        let own = entries.filter(|e| e.file_name().to_str().is_some_and(is_process));
        own.filter(|e| e.metadata().is_ok_and(|about| about.uid() == self.user)).count()
    }

    /// Runs a cell that the server may refuse, and returns the answer.
    fn try_run(&self, state: &str, code: &str) -> Answer {
        let wish = json!({"exec_id": crate::cells::unique("try"), "state_name": state, "code": code});
        self.server.owner(Request::post("/execute", &wish.to_string()))
    }
}

#[test]
fn at_the_limit_of_processes_the_notebook_keeps_working_and_recovers() {
    let Some(limited) = Limited::start(61_301, 64) else { return };
    let server = &limited.server;
    // Starts processes until the limit, then ends some of them, because the cell's state needs a
    // process, and the server may start others before it.
    let code = "import os, time\nchildren = []\ntry:\n    while True:\n        child = os.fork()\n        \
                if child == 0:\n            os.setsid()\n            time.sleep(600)\n            \
                os._exit(0)\n        \
                children.append(child)\nexcept OSError as error: print(error)\n\
                for child in children[-4:]: os.kill(child, 9); os.waitpid(child, 0)";
    let ran = server.run("initial", code);
    assert!(ran.text().starts_with("[Errno 11]"), "{ran:?}");
    // A request that needs a process is refused. A request that needs only a thread works.
    let mut refused = 0;
    until("no cell can run", || {
        let answer = limited.try_run("initial", "1");
        assert!(matches!(answer.status, 200 | 503), "{answer:?}");
        assert!(answer.status == 200 || answer.error_code() == "busy", "{answer:?}");
        refused += u32::from(answer.status == 503);
        refused >= 3
    });
    let measured = |notebook: serde_json::Value| notebook["states"][1]["memory_bytes"].is_u64();
    until("its memory was measured nevertheless", || measured(server.notebook()));
    // A notebook needs a thread of its own.
    let new = server.owner(Request::post("/api/notebooks", r#"{"name":"another"}"#));
    assert!(matches!(new.status, 200 | 503), "{new:?}");
    for path in ["/api/notebooks/main/states/initial/document", "/api/notebooks", "/api/libraries/plotly"] {
        let answer = server.owner(Request::get(path));
        assert!(matches!(answer.status, 200 | 204), "{path}: {answer:?}");
    }
    server.reset();
    until("cells run again", || limited.try_run("initial", "1").status == 200);
    server.has_no_zombies();
    assert!(!server.errors().contains("panicked"), "{}", server.errors());
}

/// A fork bomb. Each process starts other processes without end, and leaves the process group of
/// its parent.
const BOMB: &str = "import os, time\nwhile True:\n    try:\n        if os.fork() == 0: os.setsid()\n    \
                    except OSError: time.sleep(0.001)";

#[test]
fn a_fork_bomb_that_leaves_its_group_ends_with_an_interrupt_a_reset_and_a_stop() {
    let Some(mut limited) = Limited::start(61_302, 100) else { return };
    let state = limited.server.run("initial", "x = 7").state().to_owned();
    let before = limited.processes();
    let explode = |limited: &Limited| {
        let going = limited.server.begin(&state, BOMB);
        until("there are many", || limited.processes() > before + 20);
        going
    };
    let going = explode(&limited);
    assert!(limited.server.interrupt(&going.exec_id));
    assert_eq!(going.end().ename(), "KeyboardInterrupt");
    until("the bomb is over", || limited.processes() <= before + 2);
    assert_eq!(limited.server.run(&state, "print(x)").text(), "7\n");

    // A fork bomb that continues after its cell has ended.
    let left = "import os\nif os.fork() == 0:\n    os.setsid()\n    exec(BOMB)";
    let code = format!("BOMB = {BOMB:?}\n{left}");
    let ran = limited.server.run(&state, &code);
    assert!(ran.error.is_none() || ran.ename() == "StateNotKept", "{ran:?}");
    until("there are many", || limited.processes() > before + 20);
    limited.server.reset();
    until("the bomb is over", || limited.processes() <= before + 2);
    let answer = limited.try_run("initial", "print(1)");
    assert_eq!(answer.status, 200, "{answer:?}");

    let state = limited.server.run("initial", "x = 7").state().to_owned();
    let _going = limited.server.begin(&state, BOMB);
    until("there are many", || limited.processes() > before + 20);
    limited.server.signal(Signal::SIGTERM);
    limited.server.wait();
    until("no process is left", || limited.processes() == 0);
}

#[test]
fn detached_processes_of_a_cell_end_when_it_crashes() {
    let server = TestServer::start();
    let earlier = "import os, subprocess\nearlier = subprocess.Popen(['sleep', '600'], start_new_session=True)\n\
                   print(earlier.pid)";
    let ran = server.run("initial", earlier);
    let pid: u32 = ran.text().trim().parse().unwrap();
    let sleepers = || -> Vec<u32> {
        let all = server.descendants().into_iter();
        all.filter(|p| p.name == "sleep" && p.is_alive()).map(|p| p.pid).collect()
    };
    for crash in ["os._exit(3)", "os.kill(os.getpid(), 9)"] {
        let code = format!("subprocess.Popen(['sleep', '600'], start_new_session=True)\n{crash}");
        assert_eq!(server.run(ran.state(), &code).ename(), "KernelDied", "{crash}");
        until("only the earlier one is left", || sleepers() == [pid]);
    }
    server.reset();
    until("a reset ends that, too", || sleepers().is_empty());
}

#[test]
fn detached_processes_of_an_earlier_cell_survive_a_stopped_run() {
    let server = TestServer::start();
    let code = "import os, time\nchild = os.fork()\n\
        if child == 0:\n    os.setsid()\n    time.sleep(600)\n    os._exit(0)\n\
                print(child)";
    let ran = server.run("initial", code);
    let child: u32 = ran.text().trim().parse().unwrap();
    let is_there = || server.descendants().iter().any(|p| p.pid == child && p.is_alive());
    let own = "own = os.fork()\nif own == 0: os.setsid()\nelse: print(own, flush=True)\ntime.sleep(600)";
    let going = server.begin(ran.state(), own);
    let printed = || server.notebook()["runs"][1]["outputs"][0]["text"].as_str().map(str::to_owned);
    until("it runs", || printed().is_some());
    let own: u32 = printed().unwrap().trim().parse().unwrap();
    let started = server.descendants().into_iter().find(|p| p.pid == own).unwrap();
    assert!(server.interrupt(&going.exec_id));
    assert_eq!(going.end().ename(), "KeyboardInterrupt");
    until("what the run has started is gone", || !started.is_alive());
    assert!(is_there(), "the earlier cell's process must not end");
    server.reset();
    until("a reset ends that, too", || !is_there());
}

/// A cell that starts three processes: one in its group, one in a new session, and an orphan in a
/// new session.
const STARTS: &str = "import subprocess, sys\n\
    started = [subprocess.Popen(['sleep', '600'], start_new_session=own).pid for own in (False, True)]\n\
    lost = \"import os, time; os.setsid()\\nif os.fork(): os._exit(0)\\nprint(os.getpid(), flush=True); \
    time.sleep(600)\"\n\
    lost = subprocess.Popen([sys.executable, '-c', lost], stdout=subprocess.PIPE)\n\
    print(*started, int(lost.stdout.readline()), flush=True)\n";

#[test]
fn processes_of_a_failed_cell_end_in_every_session() {
    let server = TestServer::start();
    let base = server.run("initial", STARTS);
    let pids =
        |text: &str| text.split_whitespace().map(|pid| pid.parse::<u32>().unwrap()).collect::<Vec<_>>();
    let of = |pids: &[u32]| -> Vec<Process> {
        server.descendants().into_iter().filter(|process| pids.contains(&process.pid)).collect()
    };
    let earlier = of(&pids(&base.text()));
    assert_eq!(earlier.len(), 3, "{base:?}");
    for (how, state, end, more) in [
        ("its head is held", base.state(), "nobody", json!({})),
        ("its state is kept at once", "initial", "nobody", json!({"on_error": "keep"})),
        ("it cannot be kept", "initial", "raise SystemExit", json!({})),
    ] {
        let going = server.begin_with(state, &format!("{STARTS}{end}"), more);
        let printed = || {
            let notebook = server.notebook();
            let run =
                notebook["runs"].as_array().unwrap().iter().find(|run| run["exec_id"] == going.exec_id)?;
            run["outputs"][0]["text"].as_str().filter(|text| text.ends_with('\n')).map(str::to_owned)
        };
        until("the cell has started its processes", || printed().is_some());
        let started = pids(&printed().unwrap());
        assert_eq!(started.len(), 3);
        assert!(!going.end().ename().is_empty());
        until(how, || of(&started).iter().all(|process| process.is_zombie));
        assert!(earlier.iter().all(Process::is_alive), "{how}: processes of an earlier cell must survive");
    }
    server.reset();
    until("a reset ends what is left", || !earlier.iter().any(Process::is_alive));
}

//! Tests of the objects that branches take over from their state, and of the warnings about objects
//! that branches do not take over. docs/branches.md lists both, with a test for each entry.

use crate::cells::{Live, Room, all_end};
use crate::checkpoints::wait_for_checkpoints;
use crate::restarts::state_of;
use crate::server::{TestServer, until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

fn warnings(server: &TestServer, state: &str) -> String {
    let warnings: Vec<String> = serde_json::from_value(state_of(server, state)["warnings"].clone()).unwrap();
    warnings.join("\n")
}

/// Waits until a state is frozen and its warnings contain all of these words.
fn warns_of(server: &TestServer, state: &str, words: &[&str]) {
    until("the state is in memory", || state_of(server, state)["living"] == "memory");
    let start = Instant::now();
    let mut seen = warnings(server, state);
    while !words.iter().all(|word| seen.contains(word)) {
        assert!(start.elapsed() < Duration::from_secs(10), "no {words:?} in {seen:?}");
        std::thread::sleep(Duration::from_millis(5));
        seen = warnings(server, state);
    }
}

/// A state with a warning, and code that works in two branches nevertheless.
struct Row {
    what: &'static str,
    state: &'static str,
    says: &'static [&'static str],
    branch: (&'static str, &'static str),
}

const fn row(
    what: &'static str,
    state: &'static str,
    says: &'static [&'static str],
    branch: (&'static str, &'static str),
) -> Row {
    Row { what, state, says, branch }
}

fn hold(server: &TestServer, rows: &[Row]) {
    for Row { what, state, says, branch: (code, expected) } in rows {
        let grown = server.run("initial", state);
        assert_eq!(grown.ename(), "", "{what}: {} {:#?}", grown.evalue(), grown.output);
        warns_of(server, grown.state(), says);
        // The first run continues in the head, so the next runs are branches.
        assert_eq!(server.run(grown.state(), "pass").output, Vec::<Value>::new(), "{what}");
        for _ in 0..2 {
            let ran = server.run(grown.state(), code);
            assert!(ran.output.iter().all(|o| o["output_type"] == "stream"), "{what}: {ran:?}");
            assert_eq!((ran.ename(), ran.text().trim_end()), ("", *expected), "{what}: {}", ran.evalue());
        }
        server.reset();
    }
}

#[test]
fn objects_that_branches_share_are_reported() {
    let room = Room::new();
    hold(&TestServer::in_dir(room.path()), SHARED);
}

const SHARED: &[Row] = &[
    row(
        "memory without a name",
        "import mmap; m = mmap.mmap(-1, 8192); m[:2] = b'ok'",
        &["branches share this memory", "without a name (8192 bytes)"],
        ("print(m[:2])", "b'ok'"),
    ),
    row(
        "multiprocessing.shared_memory",
        "from multiprocessing.shared_memory import SharedMemory\n\
        m = SharedMemory(create=True, size=5000); m.unlink()",
        &["branches share this memory", "/dev/shm/psm_"],
        ("m.buf[0] = 7; print(m.buf[0])", "7"),
    ),
    row(
        "a mapped file",
        "import mmap\nf = open('mapped', 'w+b'); f.truncate(4096); m = mmap.mmap(f.fileno(), 4096)",
        &["branches share this memory", "/mapped (4096 bytes)"],
        ("m[0:1] = b'a'; print(m[:1])", "b'a'"),
    ),
    row(
        "locks between processes",
        "import multiprocessing; lock = multiprocessing.get_context('fork').Lock()",
        &["locks between processes"],
        ("with lock: print('held')", "held"),
    ),
    row(
        "sockets",
        "import socket\nserver = socket.create_server(('127.0.0.1', 0)); client = \
        socket.create_connection(server.getsockname())\n\
         named = socket.socket(socket.AF_UNIX); named.bind('here'); pair = socket.socketpair()",
        &["branches share these sockets", "at 127.0.0.1:", "to 127.0.0.1:", "at here (descriptor"],
        ("pair[0].send(b'x'); print(pair[1].recv(1))", "b'x'"),
    ),
    row(
        "pipes",
        "import os\nr, w = os.pipe(); os.mkfifo('fifo'); f = os.open('fifo', os.O_RDWR)",
        &["branches share these pipes", "descriptors ", "/fifo, descriptor"],
        ("os.write(w, b'x'); print(os.read(r, 1))", "b'x'"),
    ),
    row(
        "event and timer descriptors",
        "import os, ctypes\nlibc = ctypes.CDLL(None); counter = libc.eventfd(0, 0); timer = \
        libc.timerfd_create(1, 0)",
        &["branches share these descriptors: ", "eventfd (descriptor", "timerfd (descriptor"],
        ("os.write(counter, bytes([1] + 7 * [0])); print(os.read(counter, 8)[0])", "1"),
    ),
    row(
        "terminals",
        "import os, pty; near, far = pty.openpty()",
        &["branches share these descriptors: ", "/dev/ptmx (descriptor", "/dev/pts/"],
        ("os.write(near, b'x\\n'); print(os.read(far, 9))", "b'x\\n'"),
    ),
];

#[test]
fn objects_that_branches_do_not_share_are_not_reported() {
    let server = TestServer::start();
    let code = "import asyncio, threading, tempfile, subprocess\n\
        await asyncio.sleep(0); loop = asyncio.new_event_loop(); f = tempfile.TemporaryFile()\n\
                t = threading.Thread(target=lambda: None); t.start(); t.join(); subprocess.run('true'); lock \
                = threading.Lock(); lock.acquire();\n\
                import signal; signal.alarm(100); signal.alarm(0); import fcntl; fcntl.flock(f, \
                fcntl.LOCK_EX); fcntl.flock(f, fcntl.LOCK_UN)";
    let state = server.run("initial", code);
    let next = server.run(state.state(), "%%bash\necho hi");
    for _ in 0..2 {
        assert_eq!(server.run(next.state(), "%%bash\necho again").text(), "again\n");
    }
    until("it is frozen", || state_of(&server, next.state())["living"] == "memory");
    // When a later state has its warning, the check of the earlier states is also done.
    let last = server.run(next.state(), "import mmap; m = mmap.mmap(-1, 10)");
    warns_of(&server, last.state(), &["this memory"]);
    for state in [state.state(), next.state()] {
        assert_eq!(warnings(&server, state), "");
    }
}

#[test]
fn objects_that_do_not_survive_in_a_branch_are_reported() {
    let room = Room::new();
    hold(&TestServer::in_dir(room.path()), NAMED);
}

const NAMED: &[Row] = &[
    row(
        "threads",
        "import threading, time\n\
        t = threading.Thread(target=time.sleep, args=(1000,), name='sleeper', daemon=True); t.start()",
        &["threads do not survive in a branch: sleeper"],
        (
            "print(t.is_alive(), threading.active_count()); t.join(); u = threading.Thread(target=print, \
            args=('new',)); u.start(); u.join()",
            "False 1\nnew",
        ),
    ),
    row(
        "a lock that a thread holds",
        "import threading, time\n\
        lock = threading.Lock(); free = threading.Lock(); begun = threading.Event()\n\
         class Keeper:\n    def __init__(self): self.mine = threading.RLock()\nkeeper = Keeper()\n\
         def hold():\n    with lock, keeper.mine:\n        begun.set(); time.sleep(1000)\n\
         t = threading.Thread(target=hold, name='holder', daemon=True); t.start(); begun.wait()",
        &["do not survive in a branch: holder", "stay locked in a branch: lock, keeper"],
        (
            "print(lock.acquire(timeout=0.01), keeper.mine.acquire(timeout=0.01), free.acquire())",
            "False False True",
        ),
    ),
    row(
        "timers",
        "import signal; signal.signal(signal.SIGALRM, lambda *_: None); signal.alarm(1000); \
        signal.setitimer(signal.ITIMER_PROF, 1000)",
        &["timers do not survive in a branch: ITIMER_REAL (signal.alarm), ITIMER_PROF"],
        ("print(signal.getitimer(signal.ITIMER_REAL)[0], signal.alarm(0))", "0.0 0"),
    ),
    row(
        "faulthandler's watchdog",
        "import faulthandler; kept = open('kept', 'w'); faulthandler.dump_traceback_later(1000, file=kept)",
        &["timers do not survive in a branch: faulthandler.dump_traceback_later"],
        (
            "faulthandler.cancel_dump_traceback_later()\n\
            try: faulthandler.dump_traceback_later(1000, file=kept)\nexcept RuntimeError: print('not here')",
            "not here",
        ),
    ),
    row(
        "locks on files",
        "import fcntl\nmine = open('mine', 'w'); fcntl.flock(mine, fcntl.LOCK_EX)\n\
        part = open('part', 'w'); fcntl.lockf(part, fcntl.LOCK_EX)\nfree = open('free', 'w')",
        &["branches do not hold the locks on these files: ", "/mine, ", "/part"],
        (
            "try: fcntl.flock(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)\n\
            except BlockingIOError: print('its line holds it')\n\
            fcntl.flock(free, fcntl.LOCK_EX | fcntl.LOCK_NB)\nfcntl.flock(free, fcntl.LOCK_UN)",
            "its line holds it",
        ),
    ),
    row(
        "tasks of asyncio",
        "import asyncio\ngot = []\n\
        async def work():\n    while True:\n        await asyncio.sleep(0); got.append(1)\n\
         task = asyncio.create_task(work(), name='worker'); await asyncio.sleep(0)",
        &["each branch has its own copies of these asyncio tasks, which run with its event loop: worker"],
        (
            "n = len(got)\nfor _ in range(5): await asyncio.sleep(0)\nprint(len(got) > n, task.done())",
            "True False",
        ),
    ),
    row(
        "child processes",
        "import subprocess; p = subprocess.Popen(['sleep', '1000'])",
        &["child processes exist only in this lineage, and end with its process: sleep ("],
        ("print(subprocess.run('exit 4', shell=True).returncode)", "4"),
    ),
    row(
        "a child process of a thread",
        "import subprocess, threading\nhas_begun = threading.Event()\n\
         def work():\n    p = subprocess.Popen(['sleep', '1000']); has_begun.set(); p.wait()\n\
         threading.Thread(target=work, daemon=True).start(); has_begun.wait()",
        &[
            "threads do not survive in a branch: ",
            "child processes exist only in this lineage, and end with its process: sleep (",
        ],
        ("print(has_begun.is_set())", "True"),
    ),
    row(
        "a pool of processes",
        "import math, multiprocessing, concurrent.futures as cf\nfork = multiprocessing.get_context('fork')\n\
         pool = cf.ProcessPoolExecutor(1, mp_context=fork); pool.submit(math.sqrt, 4).result()\n\
         other = fork.Pool(1); other.map(math.sqrt, [4])",
        &[
            "threads do not survive in a branch: ",
            "child processes exist only in this lineage, and end with its process: python (",
        ],
        (
            "for use in (lambda: pool.submit(math.sqrt, 4), lambda: other.map(math.sqrt, [4])):\n    try: \
            use()\n    except Exception as e: print(e)\n\
             with fork.Pool(1) as new: print(new.map(math.sqrt, [4]))\n\
             other.terminate(); other.join(); pool.shutdown()",
            "the processes of this pool belong to the lineage that started them, not to its branches: create \
            a new pool in this branch\n\
             the processes of this pool belong to the lineage that started them, not to its branches: create \
            a new pool in this branch\n[2.0]",
        ),
    ),
    row(
        "functions that run at each fork",
        "import os\nn = [0]\ndef count():\n    n[0] += 1; print('not shown'); os.write(1, b'nor this'); \
        display('nor that')\nos.register_at_fork(after_in_child=count)",
        &["functions given to os.register_at_fork run once in each branch: count"],
        ("print(n[0])", "1"),
    ),
];

#[test]
fn a_subprocess_of_the_state_has_no_exit_code_in_branches() {
    let server = TestServer::start();
    let code = "import os, subprocess, time\nlong = subprocess.Popen(['sleep', '1000'])\n\
                short = subprocess.Popen('while [ ! -e go ]; do sleep 0.01; done; exit 3', shell=True)";
    let state = server.run("initial", code);
    warns_of(&server, state.state(), &["sleep (", "sh ("]);
    // In the head that started the subprocess, the cell can use it as usual.
    assert_eq!(server.run(state.state(), "print(long.poll(), short.poll())").text(), "None None\n");
    let code = "print(long.poll(), short.poll())\ntry: long.wait(timeout=0.05)\n\
        except subprocess.TimeoutExpired: print('runs')\n\
                print(subprocess.Popen(['false']).wait())\nopen('go', 'w')\ntry: short.wait()\n\
                except ChildProcessError as e: print(e)\n\
                try: short.poll()\nexcept ChildProcessError as e: print('told again')\nlong.kill()\n\
                try: print(long.wait())\nexcept ChildProcessError as e: print('told')\n\
                del long, short; import gc; gc.collect(); subprocess.run('true'); print('fine')";
    let ran = server.run(state.state(), code);
    let text = ran.text();
    let (before, after) = text.split_once("process ").unwrap_or((&text, ""));
    assert_eq!(before, "None None\nruns\n1\n", "{ran:?}");
    assert!(after.contains("has ended, but its exit code is unknown in this branch"), "{text}");
    assert!(after.ends_with("told again\ntold\nfine\n"), "{text}");
}

#[test]
fn a_file_that_cannot_be_opened_again_is_reported() {
    let server = TestServer::start();
    let room = server.room();
    // Root may open every file. So the cell gives up this right (capset(2), CAP_DAC_OVERRIDE and
    // CAP_DAC_READ_SEARCH).
    let give_up = "import ctypes, os\nhead = (ctypes.c_uint32 * 2)(0x20080522, 0); data = (ctypes.c_uint32 * \
        6)()\nlibc = ctypes.CDLL(None)\n\
                   libc.capget(head, data); data[0] &= ~0b110; libc.capset(head, data);";
    let open = "open('kept', 'w').write('abcdef'); kept = open('kept'); kept.read(1)\n\
        open('closed', 'w').write('abcdef')\n\
                closed = open('closed', buffering=1); os.chmod('closed', 0)\n\
                bits = os.open('bits', os.O_RDWR | os.O_CREAT); os.write(bits, b'abcdef'); \
                 os.lseek(bits, 0, 0); \
                os.chmod('bits', 0);";
    let state = server.run("initial", &format!("{give_up}\n{open}"));
    let closed = room.file("closed");
    let says = format!("{} (permission denied)", closed.to_str().unwrap());
    warns_of(
        &server,
        state.state(),
        &["branches share their position in these files", &says, "/bits (permission denied)"],
    );
    assert!(!warnings(&server, state.state()).contains("kept"));
    server.run(state.state(), "pass");
    let texts = [0; 2].map(|_| server.run(state.state(), "print(kept.read(1), os.read(bits, 1))").text());
    assert_eq!(texts, ["b b'a'\n", "b b'b'\n"]);
}

/// matplotlib closes its font files in the same way.
#[test]
fn a_file_that_is_closed_at_each_fork_is_not_reported() {
    let server = TestServer::start();
    let code = "import os; f = open('/proc/self/exe', 'rb'); os.register_at_fork(after_in_child=f.close)";
    let state = server.run("initial", code);
    let last = server.run(state.state(), "import mmap; m = mmap.mmap(-1, 10)");
    warns_of(&server, last.state(), &["this memory"]);
    for state in [state.state(), last.state()] {
        assert!(!warnings(&server, state).contains("place in these files"), "{}", warnings(&server, state));
    }
}

#[test]
fn the_list_of_states_contains_their_warnings() {
    let server = TestServer::start();
    let state = server.run(
        "initial",
        "import threading, time; threading.Thread(target=time.sleep, \
        args=(100,), name='sleeper', daemon=True).start()",
    );
    let list = server.owner(crate::request::Request::get("/api/states")).json();
    let states = list["states"].as_array().unwrap();
    let listed = states.iter().find(|s| s["id"] == state.state()).unwrap();
    assert_eq!(listed["warnings"], json!(["threads do not survive in a branch: sleeper"]));
    assert_eq!(states[0]["warnings"], json!([]));
}

#[test]
fn libraries_that_hang_in_forks_are_reported_and_branched_from_the_checkpoint() {
    let room = Room::new();
    // This stub replaces torch, so that the test needs no CUDA.
    std::fs::write(room.file("torch.py"), "class cuda:\n    is_initialized = staticmethod(lambda: True)\n")
        .unwrap();
    let server = TestServer::in_dir(room.path());
    let state = server.run("initial", "import os, torch; x = [1]; print(os.getpid())");
    warns_of(&server, state.state(), &["CUDA does not survive a fork: branches come from the checkpoint"]);
    assert_eq!(state_of(&server, state.state())["forks"], false);
    assert_eq!(server.run(state.state(), "x.append(2); print(x)").text(), "[1, 2]\n");
    for _ in 0..2 {
        // The parent of the run's process is the root instead of the state's frozen process.
        let ran = server.run(state.state(), "print(x, torch.cuda.is_initialized())");
        assert_eq!(ran.text(), "[1] True\n", "{ran:?}");
    }
}

#[test]
fn a_state_that_holds_a_lock_between_processes_is_not_forked() {
    let server = TestServer::start();
    // What LMDB does when a transaction begins to write.
    let code = "import ctypes, mmap; libc = ctypes.CDLL(None); x = [1]\n\
        memory = mmap.mmap(-1, 4096); lock = ctypes.c_char.from_buffer(memory)\n\
        kind = (ctypes.c_char * 64)()\n\
        print(libc.pthread_mutexattr_init(kind), libc.pthread_mutexattr_setpshared(kind, 1))\n\
        print(libc.pthread_mutexattr_setrobust(kind, 1), libc.pthread_mutex_init(ctypes.byref(lock), kind))\n\
        print(libc.pthread_mutex_lock(ctypes.byref(lock)))";
    let state = server.run("initial", code);
    assert_eq!(state.text(), "0 0\n0 0\n0\n", "{state:?}");
    warns_of(&server, state.state(), &["a lock between processes is held, as by a transaction that writes"]);
    assert_eq!(state_of(&server, state.state())["forks"], false);
    // The next cell has the lock. A branch has no access to what the lock protects.
    let next = server.run(state.state(), "x.append(2); print(libc.pthread_mutex_unlock(ctypes.byref(lock)))");
    assert_eq!(next.text(), "0\n", "{next:?}");
    assert_eq!(state_of(&server, next.state())["forks"], true);
    assert_eq!(server.run(state.state(), "print(x)").text(), "[1]\n");
    let refused = server.run(state.state(), "libc.pthread_mutex_unlock(ctypes.byref(lock))");
    assert_eq!(refused.ename(), "NameError", "{refused:?}");
}

#[test]
#[ignore = "nightly: it takes 4 s of processor time"]
fn numbas_compiled_loops_work_in_branches() {
    let Some(server) = TestServer::with_science() else { return };
    let code = |layer: &str| {
        format!(
            "import os; os.environ['NUMBA_THREADING_LAYER'] = '{layer}'\nimport numba, numpy as np\n\
            @numba.njit(parallel=True)\n\
             def total(a):\n    s = 0.0\n    for i in numba.prange(len(a)): s += a[i]\n    return s\n\
             print(total(np.ones(1000)), numba.threading_layer())"
        )
    };
    let state = server.run("initial", &code("workqueue"));
    assert_eq!(state.text(), "1000.0 workqueue\n", "{state:?}");
    for _ in 0..3 {
        assert_eq!(server.run(state.state(), "print(total(np.ones(10)))").text(), "10.0\n");
    }
    assert_eq!(state_of(&server, state.state())["forks"], true);
    let state = server.run("initial", &code("omp"));
    if state.text() == "1000.0 omp\n" {
        assert_eq!(state_of(&server, state.state())["forks"], true);
        let state = server.run(state.state(), "g = (n for n in range(9)); print(next(g))");
        for _ in 0..3 {
            let ran = server.run(state.state(), "print(next(g), total(np.ones(10)))");
            assert_eq!(ran.text(), "1 10.0\n", "{ran:?}");
            let ran = server.run(ran.state(), "print(next(g), total(np.ones(20)))");
            assert_eq!(ran.text(), "2 20.0\n", "{ran:?}");
        }
        // In branches, too, numba ends a child process that the user's code forks. So the child
        // does not hang.
        let code = "total(np.ones(10)); child = os.fork()\n\
            if child == 0:\n    total(np.ones(10)); os._exit(0)\nprint(os.waitpid(child, 0)[1])";
        for _ in 0..2 {
            let ran = server.run(state.state(), code);
            assert!(ran.text().ends_with("15\n"), "{ran:?}");
        }
    }
}

#[test]
fn an_unused_process_pool_belongs_to_each_branch() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    let code = "import concurrent.futures as cf, multiprocessing as mp, os\n\
        pool = cf.ProcessPoolExecutor(2, mp.get_context('fork')); over = cf.ProcessPoolExecutor(1); \
        over.shutdown()";
    let state = server.run("initial", code).state().to_owned();
    let using = "print(list(pool.map(abs, [-1, -2])), isinstance(pool, cf.ProcessPoolExecutor))\n\
                 try: over.submit(abs, -1)\nexcept RuntimeError: print('over')\n\
                 print(os.fstat(pool._result_queue._reader.fileno()).st_ino)";
    let hold = |server: &TestServer| {
        let pipes: HashSet<String> = (0..3)
            .map(|_| {
                let ran = server.run(&state, using);
                let text = ran.text();
                let (told, pipe) = text.split_once("over\n").unwrap_or_else(|| panic!("{ran:?}"));
                assert_eq!(told, "[1, 2] True\n", "{ran:?}");
                pipe.to_owned()
            })
            .collect();
        assert_eq!(pipes.len(), 3, "branches share a pool's pipes");
    };
    hold(&server);
    wait_for_checkpoints(&server, std::slice::from_ref(&state));
    drop(server);
    hold(&TestServer::in_dir(room.path()));
}

#[test]
fn processes_started_by_pythons_own_means_work() {
    let server = TestServer::start();
    let state = server.run("initial", "import math, multiprocessing as mp, os, random, sys; random.seed(1)");
    server.run(state.state(), "pass");
    for way in ["fork", "spawn", "forkserver"] {
        let code = format!(
            "with mp.get_context('{way}').Pool(2) as pool: print(pool.map(math.sqrt, [1, 4, 9]))\n\
             p = mp.get_context('{way}').Process(target=print, args=('from the child',)); p.start(); \
             p.join(); print(p.exitcode)"
        );
        let ran = server.run(state.state(), &code);
        assert_eq!(
            (ran.ename(), ran.text().as_str()),
            ("", "[1.0, 2.0, 3.0]\nfrom the child\n0\n"),
            "{way}: {ran:?}"
        );
        let again = server.run(ran.state(), &code);
        assert_eq!((again.ename(), again.text()), ("", ran.text()), "{way}, in a branch: {again:?}");
    }
    // Text that was printed before the fork without a newline appears only once. Each process gets
    // different random numbers.
    let code = "print('before', end=' ')\nr, w = os.pipe()\n\
        for n in range(2):\n    if os.fork() == 0:\n        os.write(w, f'{random.random()} '.encode()); \
        print('child', n); os._exit(0)\n    os.wait()\n\
                drawn = [*os.read(r, 99).split(), str(random.random()).encode()]; print('after', \
                len(set(drawn)))";
    let ran = server.run(state.state(), code);
    let mut words: Vec<String> = ran.text().split_whitespace().map(str::to_owned).collect();
    words.sort_unstable();
    assert_eq!(words.join(" "), "0 1 3 after before child child", "{ran:?}");
    assert_eq!(server.states().len(), 10);
    server.has_no_zombies();
}

#[test]
fn a_program_in_the_background_belongs_to_its_line() {
    let server = TestServer::start();
    let begun = server.run("initial", "%%script --bg --out out --proc proc bash\necho one; exec sleep 1000");
    warns_of(&server, begun.state(), &["programs in the background"]);
    let look = "print(await out.readline())";
    let next = server.run(begun.state(), look);
    assert_eq!(next.text(), "b'one\\n'\n", "{next:?}");
    for code in [look, "await proc.wait()"] {
        let branch = server.run(begun.state(), code);
        assert_eq!(branch.ename(), "RuntimeError", "{branch:?}");
        assert!(branch.evalue().contains("belongs to the lineage that started it"), "{}", branch.evalue());
    }
    // A branch starts programs of its own, and does not end the other line's.
    let own = server.run(begun.state(), "%killbgscripts");
    let own = server.run(own.state(), "%%script bash\necho three");
    assert_eq!(own.text(), "three\n", "{own:?}");
    assert_eq!(server.run(next.state(), "print(proc.returncode)").text(), "None\n");
}

#[test]
fn an_event_loop_that_ran_in_a_thread_refuses_work_in_branches() {
    let server = TestServer::start();
    let code = "import asyncio, threading\nloop = asyncio.new_event_loop()\n\
        threading.Thread(target=loop.run_forever, daemon=True).start()\nasync def f(): return 7\n\
        def ask(): return asyncio.run_coroutine_threadsafe(f(), loop).result()\nprint(ask())";
    let state = server.run("initial", code);
    assert_eq!(state.text(), "7\n", "{state:?}");
    warns_of(&server, state.state(), &["threads do not survive in a branch"]);
    assert_eq!(server.run(state.state(), "print(ask())").text(), "7\n");
    let branch = server.run(state.state(), "print(loop.is_running(), loop.is_closed())\nask()");
    assert_eq!((branch.text().as_str(), branch.ename()), ("False True\n", "RuntimeError"), "{branch:?}");
    assert!(branch.evalue().contains("this event loop ran in a thread"), "{}", branch.evalue());
    let anew = code.replace("import asyncio, threading", "f().close()");
    assert_eq!(server.run(state.state(), &anew).text(), "7\n");
}

/// Answers a run's prompts until the run has ended. Returns the text that the run printed, and its
/// last event.
fn debug(live: &mut Live, exec_id: &str, answers: &[&str]) -> (String, Value) {
    let (mut printed, mut answers) = (String::new(), answers.iter());
    loop {
        let event = live.hear(|m| m["exec_id"] == exec_id && m["event"].is_string());
        if let Some(text) = event["output"]["text"].as_str() {
            printed += text;
        }
        if event["event"] == "prompt_changed"
            && event["prompt"]["text"].as_str().is_some_and(|t| t.to_lowercase().contains("pdb"))
        {
            let text = answers.next().unwrap_or_else(|| panic!("asked once more after {printed}"));
            live.send(json!({"do": "answer_input", "exec_id": exec_id, "text": text}));
        }
        if event["event"] == "run_ended" {
            assert_eq!(answers.next(), None, "{printed}");
            return (printed, event);
        }
    }
}

#[test]
fn the_debugger_asks_the_client() {
    let server = TestServer::start();
    let mut live = Live::join(&server);
    let state = server.run("initial", "def f(deep):\n    return 1 // deep");
    let state = state.state();
    for (code, answers, seen, status) in [
        ("x = 41\nbreakpoint()\nprint('on', x)", &["x = 42", "c"][..], "on 42", "ok"),
        ("import pdb; pdb.set_trace()\nprint('on')", &["p 6 * 7", "c"], "42", "ok"),
        ("%pdb on\nf(0)", &["p deep + 7", "up", "q"], "7", "error"),
        (
            "try: f(0)\nexcept ZeroDivisionError: get_ipython().showtraceback()\n%debug",
            &["p deep + 7", "q"],
            "7",
            "ok",
        ),
        ("%%debug\nf(3)", &["p 6 * 7", "c"], "42", "ok"),
    ] {
        let exec_id = live.run(state, code);
        let (printed, ended) = debug(&mut live, &exec_id, answers);
        assert!(printed.contains(seen) && !printed.contains("Oldest frame"), "{code}: {printed}");
        assert_eq!(ended["status"], status, "{code}: {ended}");
    }
    // The cell failed in another process, and its error was lost with that process.
    let exec_id = live.run(state, "%debug");
    let (printed, _) = debug(&mut live, &exec_id, &[]);
    assert!(printed.contains("run the cell again after `%pdb on`"), "{printed}");
    assert_eq!(server.run(state, "print(f(1))").text(), "1\n");
}

#[test]
fn input_without_a_client_is_a_clear_error() {
    let server = TestServer::start();
    let why = "cannot ask anybody: this run was started over REST";
    for code in [
        "breakpoint()",
        "import pdb; pdb.set_trace()",
        "%%debug\nx = 1",
        "import pdb\ntry: 1/0\nexcept ZeroDivisionError as e: pdb.post_mortem(e.__traceback__)",
        "input('name? ')",
        "import getpass; getpass.getpass()",
    ] {
        let ran = server.run("initial", code);
        assert_eq!(ran.ename(), "StdinNotImplementedError", "{code}: {ran:?}");
        assert!(ran.evalue().contains(why), "{code}: {}", ran.evalue());
    }
    let ran = server.run("initial", "%pdb on\n1/0");
    assert_eq!(ran.ename(), "ZeroDivisionError");
    assert!(ran.stream("stderr").contains(why), "{ran:?}");
    assert!(server.run("initial", "%debug").stream("stderr").contains(why));
    assert_eq!(server.run("initial", "print('fine')").text(), "fine\n");
}

#[test]
fn a_cell_that_exits_ends_only_its_run() {
    let server = TestServer::start();
    let state = server.run("initial", "import sys; x = 1");
    for (code, says) in [
        ("sys.exit()", "exit() stopped this cell"),
        ("sys.exit(3)", "3 (exit() stopped this cell"),
        ("sys.exit('bye')", "bye (exit() stopped this cell"),
        ("exit", "exit() stopped this cell"),
        ("exit()", "exit() stopped this cell"),
        ("quit", "exit() stopped this cell"),
        ("quit(2)", "2 (exit() stopped this cell"),
        ("raise SystemExit", "exit() stopped this cell"),
    ] {
        let ran = server.run(state.state(), code);
        assert_eq!((ran.ename(), ran.state.as_deref()), ("SystemExit", None), "{code}: {ran:?}");
        assert!(
            ran.evalue().starts_with(says) && ran.evalue().contains("Nothing else changed."),
            "{code}: {ran:?}"
        );
    }
    assert_eq!(server.run(state.state(), "print(x)").text(), "1\n");
}

/// Code that makes forks hang. Each row also has the place of the hang, and a part of the run's
/// error message.
const HANGS: &[(&str, &str, &str)] = &[
    (
        "a loop in a branch",
        "def loop():\n    while True: pass\nos.register_at_fork(after_in_child=loop)",
        "the forked process hung: it is still computing. Suspected: functions given to \
        os.register_at_fork run once in each branch: loop",
    ),
    (
        "a lock in a branch",
        "lock = threading.Lock(); lock.acquire()\n\
        def wait(): lock.acquire()\n\
        os.register_at_fork(after_in_child=wait)",
        "the forked process hung: it waits for a lock. Suspected: functions given to \
        os.register_at_fork run once in each branch: wait",
    ),
    (
        "a hook that waits in a branch",
        "def wait(): time.sleep(1000)\nos.register_at_fork(after_in_child=wait)",
        "the forked process hung: it waits for something. Suspected: functions given to \
        os.register_at_fork run once in each branch: wait",
    ),
    (
        "a head that does not come to the fork",
        "def stay(): time.sleep(1000)\nos.register_at_fork(before=stay)",
        "the process of the state did not begin the cell",
    ),
];

#[test]
fn a_run_whose_fork_hangs_ends_with_an_error() {
    let mut server = TestServer::start();
    let base = server.run("initial", "import os, threading, time");
    std::thread::scope(|scope| {
        let (server, base) = (&server, &base);
        for (what, code, says) in HANGS {
            scope.spawn(move || {
                let state = server.run(base.state(), code);
                let first = server.run(state.state(), "pass");
                // If the head could be frozen, the next run is the first branch.
                let ran = if first.error.is_some() { first } else { server.run(state.state(), "pass") };
                assert_eq!(ran.ename(), "ForkFailed", "{what}: {ran:?}");
                assert!(ran.evalue().contains(says), "{what}: {}", ran.evalue());
                assert!(warnings(server, state.state()).contains("a fork of this state hung"), "{what}");
            });
        }
    });
    assert_eq!(server.run(base.state(), "print('harmed nobody')").text(), "harmed nobody\n");
    server.has_no_zombies();
    // Processes that hang at this time must also end.
    let processes = server.descendants();
    server.signal(Signal::SIGKILL);
    server.wait();
    all_end(&processes, Duration::from_secs(10));
}

#[test]
fn semaphores_and_shared_memory_exist_as_long_as_a_state_that_uses_them() {
    let mut server = TestServer::start();
    let made = "import multiprocessing, multiprocessing.shared_memory as shared
lock = multiprocessing.get_context('spawn').Lock()
memory = shared.SharedMemory(create=True, size=10)
print('/dev/shm/sem.' + lock._semlock.name[1:], '/dev/shm/' + memory.name)";
    let state = server.run("initial", made);
    let text = state.text();
    let names: Vec<&str> = text.split_whitespace().collect();
    let left = || names.iter().filter(|name| Path::new(name).exists()).count();
    assert_eq!((names.len(), left()), (2, 2), "{names:?}");
    // The process that made the hanging forks has ended. The state can still be used.
    assert_eq!(server.run(state.state(), "1 / 0").ename(), "ZeroDivisionError");
    let use_them = "again = shared.SharedMemory(memory.name); again.buf[0] = 7
again.close(); print(lock.acquire(False), memory.buf[0]); lock.release()";
    assert_eq!(server.run(state.state(), use_them).text(), "True 7\n");
    assert_eq!(left(), 2);
    server.signal(Signal::SIGKILL);
    server.wait();
    until("nothing of them is left", || left() == 0);
}

#[test]
fn a_state_that_cannot_be_examined_is_not_forked() {
    let server = TestServer::start();
    // An event loop makes the examination necessary, which needs `enumerate`.
    let code =
        "import asyncio, threading\nx = [1]\nloop = asyncio.new_event_loop()\nthreading.enumerate = None";
    let state = server.run("initial", code).state().to_owned();
    let kept = state_of(&server, &state);
    assert_eq!(kept["forks"], false, "{kept}");
    let warning = kept["warnings"][0].as_str().unwrap();
    assert!(warning.contains("could not find out what does not survive"), "{warning}");
    for _ in 0..2 {
        assert_eq!(server.run(&state, "print(x)").text(), "[1]\n");
    }
}

use super::*;
use std::os::unix::ffi::OsStrExt;

/// A directory with files that pretend to be Pythons.
struct Pythons(PathBuf);

impl Pythons {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("ratoon-interpreter-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Another process writes the file: a child forked by another test would inherit the open
        // descriptor, and the script could not be run ("text file busy").
        let write = "printf '%s' \"$1\" > \"$0\" && chmod 755 \"$0\"";
        let status = Command::new("sh").arg("-c").arg(write).arg(&path).arg(text).status().unwrap();
        assert!(status.success());
        path
    }

    /// A script that describes itself as this Python.
    fn python(&self, name: &str, description: &str) -> PathBuf {
        self.script(name, &format!("#!/bin/sh\necho welcome\necho \"ratoon-python {description} $$ $0\"\n"))
    }

    fn places(&self) -> Places {
        Places { dir: self.0.clone(), ..Places::default() }
    }

    fn why(&self, wish: &Path) -> String {
        choose(&Places { wish: Some(wish.to_owned()), ..self.places() }).unwrap_err().why
    }

    /// Chooses this Python. Returns its executable.
    fn chosen(&self, wish: &Path) -> PathBuf {
        choose(&Places { wish: Some(wish.to_owned()), ..self.places() }).unwrap().executable
    }
}

impl Drop for Pythons {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn choose(places: &Places) -> Result<Interpreter, Problem> {
    super::choose(places, &mut |_| {})
}

const GOOD: &str = "cpython 3.12.1 64 0 1";

#[test]
fn the_first_place_that_exists_is_used() {
    let pythons = Pythons::new("order");
    let good = |name: &str| pythons.python(name, GOOD);
    let chosen = |places: &Places| choose(places).unwrap().executable;
    let mut places = pythons.places();
    places.path = vec![pythons.0.join("nothing"), pythons.0.join("path")];
    let on_path = good("path/python3");
    assert_eq!(chosen(&places), on_path);
    places.own = Some(good("own"));
    assert_eq!(chosen(&places), pythons.0.join("own"));
    places.conda_prefix = Some(pythons.0.join("conda"));
    assert_eq!(chosen(&places), pythons.0.join("own"), "a conda environment without Python");
    let conda = good("conda/bin/python");
    assert_eq!(chosen(&places), conda);
    let local = good(".venv/bin/python");
    assert_eq!(chosen(&places), conda, "a directory that is no environment");
    std::fs::write(pythons.0.join(".venv/pyvenv.cfg"), "").unwrap();
    assert_eq!(chosen(&places), local);
    places.virtual_env = Some(pythons.0.join("active"));
    let active = good("active/bin/python");
    assert_eq!(chosen(&places), active);
    places.wish = Some(good("wish"));
    assert_eq!(
        choose(&places),
        Ok(Interpreter {
            executable: pythons.0.join("wish"),
            version: Version { major: 3, minor: 12, micro: 1 }
        })
    );
    places.wish = Some(pythons.0.join("conda"));
    assert_eq!(chosen(&places), conda, "the directory of an environment");
}

#[test]
fn an_old_python3_on_path_does_not_hide_a_newer_one() {
    let pythons = Pythons::new("path");
    let mut places = pythons.places();
    places.path = vec![pythons.0.clone()];
    let error = choose(&places).unwrap_err();
    assert!(error.to_string().contains("python3 (on $PATH): there is no such file"), "{error}");
    pythons.python("python3", "cpython 3.9.1 64 0 1");
    assert_eq!(choose(&places).unwrap_err().why, "it is Python 3.9, and Ratoon needs 3.11 or later");
    let newer = pythons.python("python3.11", "cpython 3.11.1 64 0 1");
    assert_eq!(choose(&places).unwrap().executable, newer);
}

#[test]
fn a_place_that_was_named_is_not_passed_over() {
    let pythons = Pythons::new("named");
    let mut places = pythons.places();
    pythons.python("path/python3", GOOD);
    places.path = vec![pythons.0.join("path")];
    places.virtual_env = Some(pythons.0.join("gone"));
    let error = choose(&places).unwrap_err();
    assert!(error.to_string().contains("gone/bin/python ($VIRTUAL_ENV): there is no such file"), "{error}");
    std::fs::create_dir_all(pythons.0.join("gone/bin")).unwrap();
    std::os::unix::fs::symlink("/nowhere/python3", pythons.0.join("gone/bin/python")).unwrap();
    assert_eq!(choose(&places).unwrap_err().why, "it is a link to a file that no longer exists");
}

#[test]
fn pythons_that_cannot_run_cells_are_refused_with_the_reason() {
    let pythons = Pythons::new("unsuitable");
    let refused = |description: &str| pythons.why(&pythons.python("python", description));
    assert_eq!(refused("pypy 3.11.1 64 0 1"), "it is pypy, and Ratoon needs CPython");
    assert_eq!(refused("cpython 2.7.1 64 0 0"), "it is Python 2.7, and Ratoon needs 3.11 or later");
    assert_eq!(
        refused("cpython 3.13.1 64 1 1"),
        "it is the free-threaded build of Python 3.13, and Ratoon needs the standard build"
    );
    assert_eq!(refused("cpython 3.12.1 32 0 1"), "it is a 32-bit program, and Ratoon needs a 64-bit one");
    assert!(refused("cpython 3.12.1 64 0 0").contains("musl"));
    assert_eq!(refused("cpython three 64"), "it does not behave like a Python interpreter");
    // A version that nobody has tried is not refused.
    assert!(
        choose(&Places { wish: Some(pythons.python("python", "cpython 3.99.1 64 0 1")), ..pythons.places() })
            .is_ok()
    );
}

#[test]
fn what_is_not_a_python_is_refused() {
    let pythons = Pythons::new("others");
    assert_eq!(pythons.why(Path::new("/nowhere/python")), "there is no such file");
    assert_eq!(pythons.why(Path::new("/dev/null")), "it is not a file");
    let plain = pythons.script("plain", "");
    std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(pythons.why(&plain), "it is not executable");
    let silent = pythons.script("silent", "#!/bin/sh\n");
    assert_eq!(pythons.why(&silent), "it does not behave like a Python interpreter");
    let echo = pythons.script("echo", "#!/bin/sh\necho \"unknown option: $*\" >&2; exit 2\n");
    assert_eq!(pythons.why(&echo), "it is not a Python interpreter");
    let failing = "#!/bin/sh\necho 'Fatal Python error: no encodings' >&2; echo 'no frame' >&2; exit 1\n";
    assert_eq!(
        pythons.why(&pythons.script("failing", failing)),
        "it does not start (Fatal Python error: no encodings)"
    );
    let dead = pythons.script("dead", "#!/bin/sh\nkill -SEGV $$\n");
    assert_eq!(pythons.why(&dead), "it does not start (it was killed by SIGSEGV)");
    let mute = pythons.script("mute", "#!/bin/sh\nexit 3\n");
    assert_eq!(pythons.why(&mute), "it does not start (it exited with status 3 and no message)");
    let odd = pythons.0.join(std::ffi::OsStr::from_bytes(b"odd-\xff"));
    std::os::unix::fs::symlink(pythons.python("good", GOOD), &odd).unwrap();
    assert_eq!(pythons.why(&odd), "its path is not valid UTF-8");
}

#[test]
fn the_directory_of_an_environment_stands_for_its_python() {
    let pythons = Pythons::new("directory");
    let python3 = pythons.python("only/bin/python3", GOOD);
    assert_eq!(pythons.chosen(&pythons.0.join("only")), python3);
    pythons.python("both/bin/python3", GOOD);
    let python = pythons.python("both/bin/python", GOOD);
    assert_eq!(pythons.chosen(&pythons.0.join("both")), python);
    assert!(pythons.why(&pythons.0).contains("there is no such file"));
}

#[test]
fn messages_of_a_python_are_cleaned_and_cut() {
    let pythons = Pythons::new("messages");
    let loud = "#!/bin/sh\nprintf '\\033[31mImportError\\033[0m: \\007' >&2\n\
                head -c 1000000 /dev/zero | tr '\\0' x >&2\nexit 1\n";
    let why = pythons.why(&pythons.script("loud", loud));
    assert!(why.starts_with("it does not start (ImportError: \u{fffd}xxx") && why.len() < 1000, "{why}");
    let alien = pythons.python("alien", "\\033[31malien 3.12.1 64 0 1");
    assert_eq!(pythons.why(&alien), "it is \u{fffd}[31malien, and Ratoon needs CPython");
}

/// What `patience` says while a Python is chosen on this path.
fn waited(places: &Places, timeouts: Timeouts) -> (Result<Interpreter, Problem>, Vec<String>) {
    let mut said = Vec::new();
    let mut progress = |line: &str| said.push(line.to_owned());
    let chosen = places.on_path(&mut Patience::new(timeouts, &mut progress));
    (chosen, said)
}

#[test]
fn a_python_that_hangs_is_named_and_tried_once() {
    let pythons = Pythons::new("hangs");
    let stuck = pythons.script("bin/python3", "#!/bin/sh\nexec sleep 600\n");
    std::os::unix::fs::symlink(&stuck, pythons.0.join("bin/python")).unwrap();
    let places = Places { path: vec![pythons.0.join("bin")], ..pythons.places() };
    let short = Duration::from_millis(50);
    let timeouts = Timeouts { one: short, all: Duration::from_secs(60), quiet: Duration::ZERO };
    let (chosen, said) = waited(&places, timeouts);
    assert_eq!(chosen.unwrap_err().why, "it did not answer within 0.05 s");
    let waiting = |path: &Path| format!("Waiting for {} to describe itself", path.display());
    assert_eq!(said, [waiting(&stuck)]);
    // Another file is another chance.
    let other = pythons.script("bin/python3.11", "#!/bin/sh\nexec sleep 600\n");
    assert_eq!(waited(&places, timeouts).1, [waiting(&stuck), waiting(&other)]);
    // All together have a limit, which the first has used up.
    let (chosen, said) = waited(&places, Timeouts { all: short, ..timeouts });
    assert_eq!(said.len(), 1);
    // On a slow machine, less than the whole limit is left.
    let why = chosen.unwrap_err().why;
    assert!(why.starts_with("it did not answer within 0.0"), "{why}");
    // One that answers in time is not named.
    let good = pythons.python("good/python3", GOOD);
    let places = Places { path: vec![pythons.0.join("good")], ..pythons.places() };
    let long = Duration::from_secs(60);
    let (chosen, said) = waited(&places, Timeouts { one: long, all: long, quiet: long });
    assert_eq!((chosen.unwrap().executable, said), (good, vec![]));
}

#[test]
fn a_launcher_is_replaced_by_the_python_that_it_starts_and_a_script_is_not() {
    let pythons = Pythons::new("launcher");
    let real = pythons.python("real", GOOD);
    let starting =
        |setting: &str, real: &Path| format!("#!/bin/sh\n{setting} exec '{}' \"$@\"\n", real.display());
    let script = pythons.script("script", &starting("SETTING=1", &real));
    assert_eq!(pythons.chosen(&script), script);
    let shim = pythons.script("shims/python3", &starting("", &real));
    assert_eq!(pythons.chosen(&shim), real);
    let link = pythons.0.join("link");
    std::os::unix::fs::symlink(&shim, &link).unwrap();
    assert_eq!(pythons.chosen(&link), real);
    // One that needs its launcher.
    let needy = pythons.script(
        "needy",
        "#!/bin/sh\n[ -n \"$HELP\" ] && echo \"ratoon-python cpython 3.12.1 64 0 1 $$ $0\"\n",
    );
    let shim = pythons.script("shims/python", &starting("HELP=1", &needy));
    assert_eq!(pythons.chosen(&shim), shim);
    // A script that runs Python as a child instead of with `exec`.
    let parent = pythons.script("parent", &format!("#!/bin/sh\n'{}' \"$@\"\ntrue\n", real.display()));
    assert!(pythons.why(&parent).contains("put `exec` before the command"), "{}", pythons.why(&parent));
}

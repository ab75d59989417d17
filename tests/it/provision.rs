//! Tests of providing IPython to an environment that has none. The environments and installations
//! are real.

use crate::chosen_python::pyenv;
use crate::server::program;
use ratoon::kernel::interpreter::{Interpreter, Places, choose};
use ratoon::kernel::provision::ensure;
use ratoon::problem::Problem;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A temporary directory for one test. It is deleted at the end of the test.
struct Room(PathBuf);

impl Room {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ratoon-provision-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    /// Creates an environment without packages, with the Python that the servers of the tests use.
    fn environment(&self) -> Interpreter {
        self.environment_named("env")
    }

    fn environment_named(&self, name: &str) -> Interpreter {
        let path = self.0.join(name);
        let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&path).status().unwrap();
        assert!(made.success());
        choose(&Places { wish: Some(path), ..Places::default() }, &mut |_| {}).unwrap()
    }

    /// Creates an environment without pip, whose Python has no pip either (like Debian's without
    /// `python3-venv`). Code at its start hides the wheel that its Python brings.
    fn environment_without_pip(&self, name: &str) -> Interpreter {
        let python = self.environment_named(name);
        let hide = "import os, sysconfig; os.__file__ = '/nowhere/os.py'; \
                    sysconfig.get_config_vars()['WHEEL_PKG_DIR'] = None\n";
        fs::write(site_packages(&python).join("hide_pip.pth"), hide).unwrap();
        python
    }

    /// Creates a program with this name in the directory `bin`, and returns the directory.
    fn program(&self, name: &str, script: &str) -> PathBuf {
        let bin = self.0.join("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join(name), script).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        bin
    }

    /// The directory of `uv`: the real one, or, if the index has none, a script that calls pip and
    /// takes the same options.
    fn uv(&self) -> PathBuf {
        let target = self.0.join("uv");
        // The first Python on the path may have no pip.
        let python = std::env::var("RATOON_TEST_PYTHON").expect("tests/run sets it");
        let install = ["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "uv"];
        let got = Command::new(&python).args(install).arg("--target").arg(&target).output().unwrap();
        if got.status.success() {
            return target.join("bin");
        }
        eprintln!("without the real uv: {}", String::from_utf8_lossy(&got.stderr));
        let script = format!(
            "#!/bin/sh\n[ \"$1 $2 $3\" = 'pip install --python' ] || exit 2\nshift 4\n\
             exec '{python}' -B -m pip install \"$@\"\n"
        );
        self.program("uv", &script)
    }
}

fn site_packages(python: &Interpreter) -> PathBuf {
    let (major, minor) = python.version.series();
    let env = python.executable.parent().unwrap().parent().unwrap();
    env.join(format!("lib/python{major}.{minor}/site-packages"))
}

/// A Python of this machine with pip, of another minor version.
fn other_python(than: &Interpreter) -> Option<PathBuf> {
    let of_pyenv = ["3.12.1", "3.13.0"].into_iter().filter_map(|version| pyenv([version]));
    let mut all = of_pyenv.flatten().chain([PathBuf::from("/usr/bin/python3")]);
    let found = all.find(|path| {
        let python = choose(&Places { wish: Some(path.clone()), ..Places::default() }, &mut |_| {});
        let has_pip =
            || Command::new(path).args(["-m", "pip", "--version"]).output().unwrap().status.success();
        python.is_ok_and(|python| python.version.series() != than.version.series()) && has_pip()
    });
    if found.is_none() {
        eprintln!("skipped: there is no other Python with pip");
    }
    found
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn provide(python: &Interpreter, data: &Path) -> (Result<Option<PathBuf>, Problem>, Vec<String>) {
    let mut said = Vec::new();
    let answer = ensure(python, &Places::default(), data, &mut |line| said.push(line.to_owned()));
    (answer, said)
}

/// Installs the packages with the installers in `places`. Checks that no environment changes.
fn provide_from(room: &Room, python: &Interpreter, places: &Places) {
    let environments = || {
        let entries = fs::read_dir(&room.0).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.join("pyvenv.cfg").exists()).flat_map(|path| files(&path))
    };
    let before: Vec<_> = environments().collect();
    let support = ensure(python, places, &room.data(), &mut |_| {}).unwrap().unwrap();
    assert!(ipython_of(python, &support).starts_with(&support));
    assert_eq!(environments().collect::<Vec<_>>(), before, "an environment was written to");
}

fn files(root: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files(&path));
        }
        found.insert(path);
    }
    found
}

/// Imports the packages that the kernel needs. Returns the file from which IPython was loaded.
fn ipython_of(python: &Interpreter, support: &Path) -> PathBuf {
    let code = "import sys; sys.path.append(sys.argv[1]); import IPython, cloudpickle, importlib.util as u; \
                assert u.find_spec('matplotlib_inline'); print(IPython.__file__)";
    let output = Command::new(&python.executable).args(["-B", "-c", code]).arg(support).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

#[test]
fn an_empty_environment_gets_ipython_once_and_is_not_changed() {
    let room = Room::new("once");
    let python = room.environment();
    let before = files(&room.0.join("env"));
    let killed = room.data().join("support/unfinished-1/packages-0/half");
    fs::create_dir_all(&killed).unwrap();

    let (answer, said) = provide(&python, &room.data());
    let support = answer.unwrap().unwrap();
    assert!(ipython_of(&python, &support).starts_with(&support));
    assert_eq!(files(&room.0.join("env")), before, "the environment was written to");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("Installing IPython ") && said[0].ends_with(" (once)"), "{said:?}");
    let left: BTreeSet<_> =
        fs::read_dir(room.data().join("support")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(left, BTreeSet::from([support.clone(), room.data().join("support/lock")]));

    // If the directory exists, no process is started. The path of this program does not exist, so
    // starting it would fail.
    let gone = Interpreter { executable: PathBuf::from("/nowhere/python"), version: python.version };
    let (again, said) = provide(&gone, &room.data());
    assert_eq!((again.unwrap(), said), (Some(support.clone()), vec![]));

    // If the environment has IPython, nothing is installed.
    fs::write(site_packages(&python).join("all.pth"), support.to_str().unwrap()).unwrap();
    let (answer, said) = provide(&python, &room.0.join("other-data"));
    assert_eq!((answer.unwrap(), said), (None, vec![]));
}

#[test]
#[ignore = "nightly: pip takes 10 s of processor time"]
fn two_servers_at_once_install_ipython_once() {
    let room = Room::new("two");
    let python = room.environment();
    let data = room.data();
    let [(one, said_one), (two, said_two)] = std::thread::scope(|scope| {
        let starts = [0, 1].map(|_| scope.spawn(|| provide(&python, &data)));
        starts.map(|start| start.join().unwrap())
    });
    assert_eq!(one.unwrap().unwrap(), two.unwrap().unwrap());
    let installed = said_one.iter().chain(&said_two).filter(|line| line.starts_with("Installing")).count();
    assert_eq!(installed, 1, "{said_one:?} {said_two:?}");
}

#[test]
fn an_old_ipython_in_the_environment_is_reported() {
    let room = Room::new("old");
    let python = room.environment();
    let site = site_packages(&python);
    fs::create_dir_all(site.join("IPython")).unwrap();
    fs::write(site.join("IPython/__init__.py"), "").unwrap();
    fs::create_dir_all(site.join("ipython-7.34.0.dist-info")).unwrap();
    fs::write(
        site.join("ipython-7.34.0.dist-info/METADATA"),
        "Metadata-Version: 2.1\nName: ipython\nVersion: 7.34.0\n",
    )
    .unwrap();
    let error = provide(&python, &room.data()).0.unwrap_err();
    assert!(error.what.contains("ipython 7.34.0"), "{error}");
    assert!(error.how.contains(" -m ensurepip && ") && error.how.ends_with(" --upgrade ipython"), "{error}");
}

/// The installers read environment variables. So the test runs its second half in a separate
/// process.
#[test]
fn without_a_network_one_error_says_what_to_do() {
    let half = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "provision::offline_half", "--ignored"])
        .envs([("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", ""), ("UV_OFFLINE", "1"), ("UV_NO_CACHE", "1")])
        // A user's settings that pip does not accept together with a directory.
        .envs([("PIP_PREFIX", "/nowhere"), ("PIP_ROOT", "/nowhere"), ("PIP_DRY_RUN", "1")])
        .output()
        .unwrap();
    assert!(half.status.success(), "{}", String::from_utf8_lossy(&half.stdout));
    assert!(String::from_utf8_lossy(&half.stdout).contains("1 passed"), "the other half did not run");
}

#[test]
#[ignore = "run by without_a_network_one_error_says_what_to_do"]
fn offline_half() {
    let room = Room::new("off line");
    let python = room.environment();
    let (answer, _) = provide(&python, &room.data());
    let Problem { what, why, how, .. } = answer.unwrap_err();
    let error = format!("{what}: {why}\n{how}");
    assert!(error.starts_with("install IPython for "), "{error}");
    assert!(error.contains("its pip says: No matching distribution found"), "{error}");
    assert!(error.contains("; uv: not on $PATH\nconnect to the network "), "{error}");
    assert!(error.contains("-off line/env/bin/python' -m pip install ipython cloudpickle"), "{error}");
    let left = fs::read_dir(room.data().join("support")).unwrap().map(|e| e.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["lock"]);
}

#[test]
#[ignore = "nightly: it takes 10 s of processor time"]
fn without_pip_uv_installs() {
    let room = Room::new("uv");
    let python = room.environment_without_pip("env");
    // This Python would be tried only after uv.
    let other = room.program("other", "#!/bin/sh\ntouch \"$0.was_started\"\nexit 1\n").join("other");
    let places = Places { own: Some(other), path: vec![room.uv()], ..Places::default() };
    provide_from(&room, &python, &places);
    assert!(!room.0.join("bin/other.was_started").exists());
}

#[test]
#[ignore = "nightly: pip takes 10 s of processor time"]
fn without_pip_the_python_of_ratoon_installs_for_another_version() {
    let room = Room::new("own");
    let python = room.environment_without_pip("env");
    let Some(other) = other_python(&python) else { return };
    provide_from(&room, &python, &Places { own: Some(other), ..Places::default() });
}

#[test]
#[ignore = "nightly: it takes 7 s of processor time"]
fn installers_that_do_not_work_are_skipped() {
    let room = Room::new("over");
    let python = room.environment_without_pip("env");
    let Some(other) = other_python(&python) else { return };
    // Its own pip is broken. uv fails. The Python of Ratoon has no pip, nor has the first python3.
    fs::create_dir(site_packages(&python).join("pip")).unwrap();
    fs::write(site_packages(&python).join("pip/__init__.py"), "").unwrap();
    let broken = room.program("uv", "#!/bin/sh\necho 'error: out of order' >&2\nexit 2\n");
    let own = Some(room.environment_without_pip("own").executable);
    let first = room.environment_without_pip("first").executable.parent().unwrap().to_owned();
    let last = room.0.join("last");
    fs::create_dir(&last).unwrap();
    symlink(other, last.join("python3")).unwrap();

    let mut places = Places { own, path: vec![broken, first], ..Places::default() };
    let error = ensure(&python, &places, &room.data(), &mut |_| {}).unwrap_err();
    let path = |name: &str| room.0.join(name).display().to_string();
    let reasons = [
        (path("env/bin/python"), "its pip does not work ("),
        (path("bin/uv"), "out of order"),
        (path("own/bin/python"), "it has no pip"),
        (path("first/bin/python3"), "it has no pip"),
    ];
    let mut rest = error.why.as_str();
    for (name, why) in reasons {
        let at = rest.find(&format!("{name}: {why}")).unwrap_or_else(|| panic!("{name}: {why} in {error}"));
        rest = &rest[at..];
    }
    places.path.push(last);
    provide_from(&room, &python, &places);
}

#[test]
fn a_machine_without_installers_gets_one_sentence_with_the_way_out() {
    let room = Room::new("none");
    let python = room.environment_without_pip("env").executable;
    let output = program(&[])
        .args(["--bind", "127.0.0.1:0", "--dir"])
        .arg(&room.0)
        .arg("--python")
        .arg(&python)
        .env("XDG_DATA_HOME", room.data())
        .env("PATH", "")
        .output()
        .unwrap();
    let (python, support) = (python.display(), room.data().join("ratoon/support"));
    let support = support.display();
    let expected = format!(
        "ratoon cannot install IPython for {python} into {support}: no installer worked: {python}: it has no pip; \
         uv: not on $PATH\n  install uv, or pip for one of these Pythons, and try again; or install it \
         yourself: uv pip install --python {python} ipython cloudpickle\n"
    );
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.ends_with(&expected), "{text}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_full_disk_is_reported_by_the_installer() {
    let room = Room::new("full");
    let python = room.environment();
    let pip = site_packages(&python).join("pip");
    fs::create_dir(&pip).unwrap();
    fs::write(pip.join("__init__.py"), "").unwrap();
    let fails = "import sys; print('ERROR: Exception:', file=sys.stderr); \
                 raise OSError(28, 'No space left on device')";
    fs::write(pip.join("__main__.py"), fails).unwrap();
    let error = provide(&python, &room.data()).0.unwrap_err();
    assert!(error.why.contains("its pip failed: OSError: [Errno 28] No space left on device"), "{error}");
    assert!(error.how.starts_with("make room there, and in "), "{error}");
    assert!(error.what.ends_with("/support"), "{error}");
}

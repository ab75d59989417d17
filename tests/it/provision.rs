//! Providing IPython to an environment that has none, with real environments and real
//! installations.

use ratoon::kernel::interpreter::{Interpreter, choose};
use ratoon::kernel::provision::ensure;
use ratoon::problem::Problem;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A temporary directory for one test, deleted at its end.
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

    /// Creates an environment without packages, of the Python with which the program was built.
    fn environment(&self) -> Interpreter {
        let path = self.0.join("env");
        let made = Command::new(env!("RATOON_BUILD_PYTHON"))
            .args(["-m", "venv", "--without-pip"])
            .arg(&path)
            .status()
            .unwrap();
        assert!(made.success());
        choose(Some(&path), None).unwrap()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn provide(python: &Interpreter, data: &Path) -> (Result<Option<PathBuf>, Problem>, Vec<String>) {
    let mut said = Vec::new();
    let answer = ensure(python, data, &mut |line| said.push(line.to_owned()));
    (answer, said)
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

/// Imports what the kernel imports, and returns the file from which IPython was loaded.
fn ipython_of(python: &Interpreter, support: &Path) -> PathBuf {
    let code = "import sys; sys.path.append(sys.argv[1]); import IPython, cloudpickle, importlib.util as u; \
                assert u.find_spec('matplotlib_inline'); print(IPython.__file__)";
    let output = Command::new(&python.executable).args(["-B", "-c", code]).arg(support).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

#[test]
fn an_empty_environment_gets_ipython_once_and_stays_as_it_is() {
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

    // If the directory exists, no process is started: there is no program at this path.
    let gone = Interpreter { executable: PathBuf::from("/nowhere/python"), version: python.version };
    let (again, said) = provide(&gone, &room.data());
    assert_eq!((again.unwrap(), said), (Some(support.clone()), vec![]));

    // In an environment that has IPython, nothing is installed.
    let (major, minor) = python.version;
    let site = room.0.join(format!("env/lib/python{major}.{minor}/site-packages"));
    fs::write(site.join("all.pth"), support.to_str().unwrap()).unwrap();
    let (answer, said) = provide(&python, &room.0.join("other-data"));
    assert_eq!((answer.unwrap(), said), (None, vec![]));
}

#[test]
fn two_at_once_install_one() {
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
fn an_old_ipython_of_the_environment_is_named() {
    let room = Room::new("old");
    let python = room.environment();
    let (major, minor) = python.version;
    let site = room.0.join(format!("env/lib/python{major}.{minor}/site-packages"));
    fs::create_dir_all(site.join("IPython")).unwrap();
    fs::write(site.join("IPython/__init__.py"), "").unwrap();
    fs::create_dir_all(site.join("ipython-7.34.0.dist-info")).unwrap();
    fs::write(
        site.join("ipython-7.34.0.dist-info/METADATA"),
        "Metadata-Version: 2.1\nName: ipython\nVersion: 7.34.0\n",
    )
    .unwrap();
    let error = provide(&python, &room.data()).0.unwrap_err();
    assert!(error.what.contains("IPython 7.34.0"), "{error}");
    assert!(error.how.contains("-m pip install --upgrade ipython"), "{error}");
}

/// The installers read environment variables, so this test runs a part of itself in a separate
/// process.
#[test]
fn without_a_network_one_error_says_what_to_do() {
    let half = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "provision::offline_half", "--ignored"])
        .envs([("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", ""), ("UV_OFFLINE", "1"), ("UV_NO_CACHE", "1")])
        .output()
        .unwrap();
    assert!(half.status.success(), "{}", String::from_utf8_lossy(&half.stdout));
    assert!(String::from_utf8_lossy(&half.stdout).contains("1 passed"), "the other half did not run");
}

#[test]
#[ignore = "run by without_a_network_one_error_says_what_to_do"]
fn offline_half() {
    let room = Room::new("offline");
    let python = room.environment();
    let (answer, _) = provide(&python, &room.data());
    let Problem { what, why, how, .. } = answer.unwrap_err();
    let error = format!("{what}: {why}\n{how}");
    assert!(error.starts_with("cannot install IPython, which runs the cells: "), "{error}");
    assert!(error.contains("No matching distribution found"), "{error}");
    assert!(error.contains("-m pip install ipython cloudpickle"), "{error}");
    let left = fs::read_dir(room.data().join("support")).unwrap().map(|e| e.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["lock"]);
}

//! Finds the Pythons of this machine in the places where programs install them, and starts each
//! once to learn what it is.

use super::found::{FoundPython, ReadyPython};
use crate::kernel::interpreter::{
    Candidate, Description, ON_PATH, Patience, Places, Timeouts, executable_of, unsuitable,
};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

/// How long a Python may take to describe itself, together with the launcher that starts it.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How many Pythons are started at a time.
const WORKERS: usize = 4;
/// Maximum number of files that are tried. Nobody would read a longer list.
const MAX_CANDIDATES: usize = 100;

/// Directories below the home directory in which conda and its relatives install themselves.
const CONDAS_OF_HOME: [&str; 7] =
    [".conda", "anaconda3", "mambaforge", "micromamba", "miniconda3", "miniforge3", ".local/share/mamba"];
/// The directories in which they install themselves for all users.
const CONDAS_OF_ALL: [&str; 4] = ["/opt/conda", "/opt/anaconda3", "/opt/miniconda3", "/opt/miniforge3"];

/// All Pythons: the default first, and those that cannot run cells last.
pub(super) fn all(places: &Places, home: Option<&Path>, default: &ReadyPython) -> Vec<FoundPython> {
    let candidates = candidates(places, home);
    let mut seen = HashSet::new();
    let mut found: Vec<FoundPython> = Vec::new();
    for (candidate, description) in candidates.iter().zip(describe_all(&candidates)) {
        // pyenv has a launcher for each version that any of its Pythons has. Most start nothing.
        if description.is_err() && candidate.is_launcher() {
            continue;
        }
        let python = found_python(candidate, description, default);
        if seen.insert(python.1) {
            found.push(python.0);
        }
    }
    found.sort_by_key(|python| (!python.is_default, python.problem.is_some()));
    found
}

/// What was found at a place, and its identity: the program and its environment.
fn found_python(
    candidate: &Candidate,
    described: Result<(PathBuf, Description), String>,
    default: &ReadyPython,
) -> (FoundPython, (PathBuf, PathBuf)) {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let place = candidate.source;
    match described {
        Ok((path, description)) => {
            let (version, problem) = (Some(description.version), unsuitable(&description));
            let key = (real(&path), real(&description.prefix));
            let is_default = path == default.executable;
            (FoundPython { path, version, place, is_default, problem }, key)
        }
        Err(why) => {
            let (path, key) = (candidate.path.clone(), (candidate.path.clone(), PathBuf::new()));
            (FoundPython { path, version: None, place, is_default: false, problem: Some(why) }, key)
        }
    }
}

/// Starts all candidates, a few at a time.
fn describe_all(candidates: &[Candidate]) -> Vec<Result<(PathBuf, Description), String>> {
    let next = Mutex::new(candidates.iter().enumerate());
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let Some((at, candidate)) = next.lock().unwrap_or_else(PoisonError::into_inner).next() else {
                return;
            };
            let timeouts = Timeouts { one: TIMEOUT, all: TIMEOUT, quiet: TIMEOUT };
            let described = candidate.found(&mut Patience::new(timeouts, &mut |_| {}));
            done.lock().unwrap_or_else(PoisonError::into_inner).push((at, described));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..WORKERS {
            // Fails if a cell has used up the user's limit of processes. The calling thread works
            // too, so it then does all the work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, described)| described).collect()
}

/// The files to try: first those that the server would choose, in its order, then by place. If two
/// names in one directory lead to the same file, it is tried once.
fn candidates(places: &Places, home: Option<&Path>) -> Vec<Candidate> {
    let mut all = places.named();
    for dir in &places.path {
        all.extend(pythons_in(dir).map(|path| Candidate { path, source: ON_PATH }));
    }
    let mut environments: Vec<(PathBuf, &'static str)> = Vec::new();
    if let Some(home) = home {
        environments.extend(directories_in(&home.join(".pyenv").join("versions")).map(|dir| (dir, "pyenv")));
        environments.extend(directories_in(&home.join(".local/share/uv/python")).map(|dir| (dir, "uv")));
        let listed = std::fs::read_to_string(home.join(".conda/environments.txt")).unwrap_or_default();
        environments.extend(listed.lines().filter(|l| l.starts_with('/')).map(|l| (l.into(), "conda")));
    }
    let of_home = home.into_iter().flat_map(|home| CONDAS_OF_HOME.map(|name| home.join(name)));
    for conda in of_home.chain(CONDAS_OF_ALL.map(PathBuf::from)) {
        environments.extend(directories_in(&conda.join("envs")).map(|dir| (dir, "conda")));
        environments.push((conda, "conda"));
    }
    for (dir, source) in environments {
        let path = Some(executable_of(&dir)).filter(|path| path.is_file());
        all.extend(path.map(|path| Candidate { path, source }));
    }
    for dir in ["/usr/bin", "/usr/local/bin"] {
        all.extend(pythons_in(Path::new(dir)).map(|path| Candidate { path, source: "system" }));
    }
    let mut seen = HashSet::new();
    all.retain(|candidate| seen.insert(candidate.identity()));
    all.truncate(MAX_CANDIDATES);
    all
}

/// The files `python3`, `python` and `python3.N` of a directory, in this order. Of the last, the
/// newest comes first.
fn pythons_in(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| Some((order(entry.file_name().to_str()?)?, entry.path())))
        .filter(|(_, path)| path.is_file())
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path)
}

fn order(name: &str) -> Option<u32> {
    match name.strip_prefix("python")? {
        "3" => Some(0),
        "" => Some(1),
        version => Some(u32::MAX - version.strip_prefix("3.")?.parse::<u32>().ok()?),
    }
}

fn directories_in(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found.into_iter()
}

#[allow(clippy::unwrap_used)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::interpreter::Version;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::process::Command;

    /// A directory with files that pretend to be Pythons.
    struct Home(PathBuf);

    impl Home {
        fn new(name: &str) -> Self {
            let dir = std::env::temp_dir().join(format!("ratoon-search-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&dir).unwrap();
            Self(dir)
        }

        /// A script that describes itself as a Python. Another process writes it: a child forked by
        /// another test would inherit the open descriptor, and the script could not be run.
        fn python(&self, name: &str, version: &str) -> PathBuf {
            let path = self.0.join(name);
            let prefix = path.parent().unwrap().parent().unwrap();
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let line = format!("ratoon-python cpython {version} 64 0 1 $$ $0\\t{}", prefix.display());
            let write = "printf '#!/bin/sh\\nprintf \"%s\\\\n\"\\n' \"$1\" > \"$0\" && chmod 755 \"$0\"";
            let status = Command::new("sh").arg("-c").arg(write).arg(&path).arg(line).status().unwrap();
            assert!(status.success());
            path
        }

        fn link(&self, name: &str, to: &Path) -> PathBuf {
            let path = self.0.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(to, &path).unwrap();
            path
        }
    }

    impl Drop for Home {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn each_place_is_searched_and_each_python_is_listed_once() {
        let home = Home::new("places");
        let wish = home.python("mine/bin/python", "3.12.1");
        let newer = home.python("path/python3.13", "3.13.0");
        home.link("path/python3", &newer);
        // An environment: the same file in another directory.
        let venv = home.python("venv/bin/python", "3.11.2");
        let pyenv = home.python(concat!(".pyenv", "/versions/3.10.1/bin/python"), "3.10.1");
        home.link("shims/python", &pyenv);
        home.link("unused/shims/python3.13", Path::new("/bin/false"));
        let uv = home.python(".local/share/uv/python/cpython-3.14/bin/python3", "3.14.2");
        let conda = home.python("miniconda3/envs/a/bin/python", "3.11.9");
        let listed = home.python("elsewhere/bin/python", "3.12.9");
        let odd = home.0.join(".local/share/uv/python").join(OsStr::from_bytes(b"\xff")).join("bin/python");
        std::fs::create_dir_all(odd.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&listed, &odd).unwrap();
        std::fs::create_dir_all(home.0.join(".conda")).unwrap();
        let lines = format!("{}\n\n{}\n", home.0.join("elsewhere").display(), home.0.join("gone").display());
        std::fs::write(home.0.join(".conda/environments.txt"), lines).unwrap();
        std::fs::create_dir_all(home.0.join(".venv")).unwrap();
        std::fs::write(home.0.join(".venv/pyvenv.cfg"), "").unwrap();
        let broken = home.link(".venv/bin/python", Path::new("/nowhere/python3"));
        let places = Places {
            wish: Some(wish.clone()),
            virtual_env: Some(home.0.join("venv")),
            dir: home.0.clone(),
            path: ["path", "none", "path", "unused/shims"].map(|name| home.0.join(name)).to_vec(),
            ..Places::default()
        };
        let version = Version { major: 3, minor: 12, micro: 1 };
        let default = ReadyPython { executable: wish.clone(), version, support: None };
        let found = all(&places, Some(&home.0), &default);
        let mine = |python: &FoundPython| python.path.starts_with(&home.0);
        let places: Vec<(&Path, &str)> =
            found.iter().filter(|p| mine(p)).map(|p| (p.path.as_path(), p.place)).collect();
        let first_on_path = home.0.join("path/python3");
        let expected: Vec<(&Path, &str)> = vec![
            (&wish, "--python"),
            (&venv, "$VIRTUAL_ENV"),
            (&first_on_path, "$PATH"),
            (&uv, "uv"),
            (&listed, "conda"),
            (&conda, "conda"),
            (&broken, ".venv"),
            (&pyenv, "pyenv"),
            (&odd, "uv"),
        ];
        assert_eq!(places, expected);
        assert!(found[0].is_default && found.iter().filter(|p| p.is_default).count() == 1, "{found:#?}");
        let problem = |path: &Path| found.iter().find(|p| p.path == path).unwrap().problem.clone();
        assert_eq!(problem(&broken).unwrap(), "it is a link to a file that no longer exists");
        assert_eq!(problem(&pyenv).unwrap(), "it is Python 3.10, and Ratoon needs 3.11 or later");
        assert_eq!(problem(&odd).unwrap(), "its path is not valid UTF-8");
        assert_eq!(problem(&uv), None);
    }
}

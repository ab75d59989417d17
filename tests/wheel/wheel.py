"""Installs the wheel into empty environments and uses it. tests/wheel/run starts this."""

import email
import functools
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import unittest
import urllib.parse
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import ratoon_client as ratoon

WHEELS = Path(os.environ["RATOON_WHEELS"])
# The program that was compiled in the clone.
CLONE = os.environ["RATOON_CLONE"]
TOOLS = Path(sys.executable).parent
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]["version"]
LARGEST = 12_000_000
SOURCES = [
    path
    for package in ("ratoon", "ratoon_worker")
    for path in (ROOT / "python" / package).rglob("*")
    if path.suffix in (".json", ".py", ".typed")
]
PACKAGES = [str(path.relative_to(ROOT / "python")) for path in SOURCES]
PACKAGES += ["ratoon/libratoon.so", "ratoon/ratoon"]
METADATA = [
    "METADATA",
    "RECORD",
    "WHEEL",
    "entry_points.txt",
    "licenses/LICENSE-APACHE",
    "licenses/LICENSE-MIT",
    "licenses/web/vendor/LICENSES.txt",
]
# Our files under web/ that browsers fetch by these names: entries of bundles, and single files.
OURS = {
    "early.js",
    "find-worker.js",
    "home.js",
    "home/home.css",
    "icon.svg",
    "notebook.js",
    "signin.js",
    "strip-token.js",
    "style/base.css",
    "style/later.css",
    "style/notebook.css",
    "style/plain.css",
    "widgets/in-frame.css",
    "widgets/in-frame.js",
}
# The only programs on $PATH: those that the scripts of uvx need.
COMMANDS = ("dirname", "realpath", "sh")
# Python code that prints whether a shared libpython is loaded.
HAS_LIBRARY = "print(any('libpython' in line for line in open('/proc/self/maps')))"

work = Path(tempfile.mkdtemp(prefix="ratoon-wheel-"))
unittest.addModuleCleanup(shutil.rmtree, work)


@functools.cache
def only(pattern):
    (found,) = WHEELS.glob(pattern)
    return found


def wheel():
    return only("ratoon-*.whl")


def environment(**more):
    """Environment variables without compiler, cargo and node on $PATH, and without an active Python."""
    few = work / "few-commands"
    few.mkdir(exist_ok=True)
    for name in COMMANDS:
        if not (few / name).exists():
            (few / name).symlink_to(shutil.which(name))
    unwanted = ("PYTHON", "RATOON_BIN", "RATOON_TEST_PYTHON", "VIRTUAL_ENV", "CONDA")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(unwanted)}
    own = {"PATH": few, "XDG_DATA_HOME": work / "data", "XDG_CONFIG_HOME": work / "config"}
    return {name: str(text) for name, text in (kept | own | more).items()}


def output(*command, status=0, env=None, cwd=None):
    """Runs a program to its end. Returns what it wrote, to both streams."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        env=env or environment(),
        cwd=cwd or work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != status:
        raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def pip(python, *words):
    # Uses the pip of the tools, because the environments have none.
    return output(sys.executable, "-m", "pip", "--python", python, *words)


def installed_pythons():
    """This machine's CPythons that can run Ratoon: {minor version: (path, whether it has no shared
    libpython)}. Of each version, prefers one without a shared libpython."""
    places = [*os.environ["PATH"].split(os.pathsep), "/usr/bin", "/usr/local/bin"]
    places += (Path.home() / ".pyenv" / "versions").glob("*/bin")
    found = {}
    for path in dict.fromkeys(Path(place) / "python3" for place in places):
        try:
            text = output(
                path,
                "-c",
                "import json, sys, sysconfig\n"
                "print(json.dumps([sys.version_info[:2], sys.prefix == sys.base_prefix,"
                " sys.implementation.name, sysconfig.get_config_var('Py_GIL_DISABLED')]))\n"
                + HAS_LIBRARY,
            )
        except (OSError, AssertionError):
            continue
        described, has_library = text.splitlines()[-2:]
        version, is_base, implementation, is_free_threaded = json.loads(described)
        if version < [3, 11] or not is_base or implementation != "cpython" or is_free_threaded:
            continue
        if tuple(version) not in found or has_library == "False":
            found[tuple(version)] = (path, has_library == "False")
    return found


def two_pythons():
    found = sorted(installed_pythons().values(), key=lambda python: not python[1])
    assert len(found) >= 2, f"two minor versions of Python are needed, found: {found}"
    # If this machine has both kinds, the first has no shared libpython, and the last has one.
    return [found[0][0], found[-1][0]]


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


class Installed(ratoon.Program):
    """The server of an installed package. `command` starts it."""

    headers = {"Authorization": f"Bearer {ratoon.TOKEN}"}

    def __init__(self, *command, **more):
        words = [str(word) for word in command]
        options = ["--bind", "{bind}", "--dir", "{directory}", f"--token={ratoon.TOKEN}"]
        self.own = environment(**more)
        super().__init__([*words, *options])

    def start(self):
        self.environment = self.own
        super().start()

    def main_job(self):
        """Runs a cell, and two cells against its state. Returns the path of their Python."""
        rest = self.rest()
        first = rest.run("import sys\nx = 6\nprint(sys.executable)")
        variables = rest.run("import os\nprint([v for v in os.environ if 'RATOON_INSTALLED' in v])")
        assert ratoon.printed(variables) == "[]\n", variables
        for factor in (7, 8):
            branch = rest.run(f"print(x * {factor})", state=first["state_name"])
            assert ratoon.printed(branch) == f"{6 * factor}\n", branch
        rest.close()
        return ratoon.printed(first).strip()

    def file(self, path, encoding):
        """A file of the page as it is sent."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", path, headers={**self.headers, "Accept-Encoding": encoding})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, answer.getheader("Content-Encoding"), body

    def assets(self):
        """The prefix of the page's files, which has a hash of all of them."""
        _, _, page = self.file("/n/main", "identity")
        return re.search(rb"/assets/[0-9a-f]+", page)[0].decode()


class TheFiles(unittest.TestCase):
    def test_the_wheel_has_the_program_the_extension_module_and_nothing_else(self):
        name = rf"ratoon-{re.escape(VERSION)}-py3-none-manylinux_2_\d+_{os.uname().machine}\.whl"
        self.assertRegex(wheel().name, f"^{name}$")
        self.assertLess(wheel().stat().st_size, LARGEST)
        with zipfile.ZipFile(wheel()) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        files = {entry.filename: entry.external_attr >> 16 for entry in entries}
        expected = PACKAGES + [f"ratoon-{VERSION}.dist-info/{name}" for name in METADATA]
        # Jupyter finds the kernel in the environment into which the wheel is installed.
        shared = f"ratoon-{VERSION}.data/data/share/jupyter/kernels/ratoon"
        expected += [f"{shared}/kernel.json", f"{shared}/logo-svg.svg"]
        self.assertEqual(sorted(files), sorted(expected))
        self.assertTrue(files["ratoon/ratoon"] & 0o111, "the program is executable")

    def test_its_metadata_is_complete(self):
        with zipfile.ZipFile(wheel()) as archive:
            text = archive.read(f"ratoon-{VERSION}.dist-info/METADATA").decode()
        metadata = email.message_from_string(text)
        self.assertEqual((metadata["Name"], metadata["Version"]), ("ratoon", VERSION))
        self.assertEqual(metadata["License-Expression"], "MIT OR Apache-2.0")
        self.assertEqual(len(metadata.get_all("License-File")), 3)
        self.assertEqual(metadata["Requires-Python"], ">=3.11")
        for field in ("Summary", "Keywords", "Classifier"):
            self.assertTrue(metadata[field], field)
        lines = metadata.get_all("Requires-Dist")
        needed = {re.match(r"[\w-]+", line)[0] for line in lines if "extra" not in line}
        self.assertEqual(needed, {"ipython", "cloudpickle", "matplotlib-inline"})
        self.assertEqual(metadata["Description-Content-Type"], "text/markdown")
        self.assertIn("can branch from any cell", metadata.get_payload())

    def test_the_readme_has_links_only_if_the_repository_is_known(self):
        ask = (
            "import build.util; metadata = build.util.project_wheel_metadata('.')\n"
            "print(metadata['Description'], metadata.get_all('Project-URL'))"
        )
        for address in ("", "https://example.org/ratoon"):
            own = {**os.environ, "RATOON_REPOSITORY": address}
            shown = output(TOOLS / "python", "-c", ask, env=own, cwd=ROOT)
            self.assertEqual(re.findall(r"\]\((?!https?:|#)[^)]*\)", shown), [])
            for link in (f"({address}/raw/HEAD/docs/screenshot.png)", f"Issues, {address}/issues"):
                self.assertEqual(link in shown, bool(address), link)

    def test_a_clone_gives_the_same_wheel_as_the_source_distribution(self):
        built = work / "from-the-clone"
        output(
            *(TOOLS / "python", "-m", "pip", "wheel", "--no-deps", "--wheel-dir", built, ROOT),
            env=dict(os.environ),
        )
        (clone,) = built.glob("*.whl")
        with zipfile.ZipFile(clone) as ours, zipfile.ZipFile(wheel()) as theirs:
            names = [name for name in theirs.namelist() if not name.endswith("/")]
            self.assertEqual(sorted(ours.namelist()), sorted(names))
            for name in names:
                if name.endswith((".py", "entry_points.txt", ".txt", "LICENSE-MIT")):
                    self.assertEqual(ours.read(name), theirs.read(name), name)

    def test_a_build_in_another_python_environment_compiles_nothing(self):
        path = os.pathsep.join([str(work / "other" / "bin"), os.environ["PATH"]])
        own = {**os.environ, "PATH": path, "VIRTUAL_ENV": str(work / "other")}
        said = output("cargo", "build", "--release", "--locked", env=own, cwd=ROOT)
        self.assertNotIn("Compiling", said)

    def test_the_source_distribution_has_all_sources(self):
        with tarfile.open(only("ratoon-*.tar.gz")) as archive:
            names = {name.partition("/")[2] for name in archive.getnames()}
        folders = (
            ".cargo",
            "src",
            "web",
            "templates",
            "python",
            "build.rs",
            "Cargo.toml",
            "Cargo.lock",
        )
        listed = subprocess.check_output(["git", "ls-files", *folders], cwd=ROOT, text=True)
        self.assertLessEqual(set(listed.split()), names)
        self.assertLessEqual({"LICENSE-APACHE", "LICENSE-MIT", "README.md", "PKG-INFO"}, names)


class InTwoPythons(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.venvs = []
        for number, python in enumerate(two_pythons()):
            venv = work / f"venv{number}"
            output(python, "-m", "venv", "--without-pip", venv)
            pip(venv, "install", "--quiet", "--only-binary", ":all:", wheel())
            cls.venvs.append(venv)

    def test_the_installed_server_runs_cells_and_branches(self):
        for venv in self.venvs:
            python = venv / "bin/python"
            ways = {"ratoon": [venv / "bin/ratoon"], "-m": [python, "-m", "ratoon"]}
            for name, command in ways.items():
                with self.subTest(python=output(python, "--version"), way=name):
                    self.assertEqual(output(*command, "--version"), f"ratoon {VERSION}\n")
                    self.assertIn("--no such", output(*command, "--no such", status=2))
                    with Installed(*command) as server:
                        self.assertEqual(server.main_job(), str(python))
                    self.assertEqual(server.process.returncode, 0, "the server ends with success")
                    with self.assertRaises(ConnectionRefusedError):
                        server.file("/health", "identity")
            with self.subTest(way="page"):
                self.use_the_page(venv)
        self.assertFalse((work / "data/ratoon/support").exists(), "nothing was installed at start")

    def use_the_page(self, venv):
        # The browser needs $PATH.
        program = work / "ratoon-without-tools"
        program.write_text(f'#!/bin/sh\nPATH={work}/few-commands exec {venv}/bin/ratoon "$@"\n')
        program.chmod(0o755)
        page = ROOT / "tests/wheel/page.test.mjs"
        own = environment(
            PATH=os.environ["PATH"],
            RATOON_BIN=program,
            RATOON_INSTALLED_PYTHON=venv / "bin/python",
        )
        output("node", "--test", page, env=own, cwd=ROOT)

    def test_the_page_equals_that_of_the_clone(self):
        venv = self.venvs[0]
        clone = Installed(CLONE, "--python", venv)
        with Installed(venv / "bin/ratoon") as server, clone:
            prefix = server.assets()
            self.assertEqual(prefix, clone.assets())
            web = subprocess.check_output(["git", "ls-files", "."], cwd=ROOT / "web", text=True)
            paths = [f"{prefix}/{urllib.parse.quote(name)}" for name in web.split()]
            served = set()
            for path in ["/", "/n/main", "/frame/v1", *paths]:
                for encoding in ("identity", "br"):
                    ours = server.file(path, encoding)
                    self.assertEqual(ours, clone.file(path, encoding), path)
                    if ours[0] == 200:
                        served.add(path.removeprefix(f"{prefix}/"))
            # All third-party files for browsers are served, and of ours the bundles and the texts.
            vendored = {name for name in web.split() if name.startswith("vendor/")}
            vendored -= {name for name in vendored if name.endswith((".d.ts", ".mjs"))}
            self.assertEqual(served, {"/", "/n/main", "/frame/v1", *OURS, *vendored})

    def test_cells_run_in_the_active_environment_if_there_is_one(self):
        ours, active = self.venvs
        with Installed(ours / "bin/ratoon", VIRTUAL_ENV=active) as server:
            self.assertEqual(server.main_job(), str(active / "bin/python"))

    def test_uninstalling_leaves_nothing(self):
        for venv in self.venvs:
            pip(venv, "uninstall", "--yes", "ratoon")
            before = tree(venv)
            self.assertEqual([path for path in before if "ratoon" in path], [])
            pip(venv, "install", "--quiet", wheel())
            with Installed(venv / "bin/ratoon") as server:
                server.main_job()
            pip(venv, "uninstall", "--yes", "ratoon")
            self.assertEqual(tree(venv), before)
            pip(venv, "install", "--quiet", wheel())

    def test_a_package_without_its_program_says_so(self):
        venv = self.venvs[0]
        (program,) = venv.glob("lib/python*/site-packages/ratoon/ratoon")
        kept = program.rename(program.with_name("kept"))
        said = output(venv / "bin/ratoon", status=1)
        kept.rename(program)
        self.assertIn(f"cannot start {program}: No such file", said)
        self.assertIn("--force-reinstall", said)

    def test_an_editable_install_is_refused_with_the_way_out(self):
        command = (sys.executable, "-m", "pip", "--python", self.venvs[0], "install", "-e", ROOT)
        self.assertIn("pip install .", output(*command, status=1))


class WithoutInstalling(unittest.TestCase):
    def test_pipx_runs_it(self):
        own = {"PIPX_HOME": work / "pipx", "PIPX_DEFAULT_PYTHON": sys.executable}
        self.use(own, TOOLS / "pipx", "run", "--spec", wheel(), "ratoon")

    def test_uvx_runs_it(self):
        own = {"UV_CACHE_DIR": work / "uv", "UV_PYTHON": sys.executable}
        self.use(own, TOOLS / "uvx", "--from", wheel(), "ratoon")

    def use(self, own, *command):
        with Installed(*command, **own) as server:
            python = server.main_job()
        self.assertTrue(Path(python).is_relative_to(work), python)


if __name__ == "__main__":
    unittest.main(warnings="ignore")

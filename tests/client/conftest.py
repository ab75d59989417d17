"""A real server in a directory of its own, and notebooks on it."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratoon import Notebook, servers


@pytest.fixture(scope="session", autouse=True)
def own_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Servers of the user are not found, and those that the tests start end with them."""
    if "RATOON_BIN" not in os.environ:
        pytest.fail("RATOON_BIN is not set: see CONTRIBUTING.md")
    with pytest.MonkeyPatch.context() as patch:
        # What the tests' Python needs is installed below the former directory, if at all.
        data = tmp_path_factory.mktemp("data")
        (data / "ratoon").mkdir(mode=0o700)
        support = servers.data_directory() / "support"
        if support.exists():
            (data / "ratoon/support").symlink_to(support)
        patch.setenv("XDG_DATA_HOME", str(data))
        for name in ("RATOON_URL", "RATOON_TOKEN"):
            patch.delenv(name, raising=False)
        yield
        for process in servers.STARTED:
            end(process)


def end(process: "servers.subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGINT)
    process.wait(60)


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("notebooks")


@pytest.fixture
def notebook(request: pytest.FixtureRequest, directory: Path) -> Iterator[Notebook]:
    """An empty notebook on the server of all tests."""
    with Notebook(
        request.node.name[:100].replace("[", "-").replace("]", ""), directory=directory
    ) as nb:
        yield nb

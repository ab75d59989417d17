"""Makes the wheel: compiles the server and adds it to the package, and completes the metadata.

hatchling calls the hooks below (`[tool.hatch]` in pyproject.toml). Nothing is written into the
source tree: the compiled files go from cargo's target directory into the wheel.
"""

import json
import os
import re
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

# The server and the extension module that kernels load. The server expects them side by side.
COMPILED = ("ratoon", "libratoon.so")
# The public address of the source code, for the links of a release.
ADDRESS = "RATOON_REPOSITORY"


class Compile(BuildHookInterface[Any]):
    """Compiles the server, for a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # An editable install loads the package from the source tree, in which no program is.
        if version == "editable":
            raise SystemExit("Ratoon cannot be installed as editable: run pip install . instead")
        for path in compile_server(Path(self.root)):
            build_data["force_include"][str(path)] = f"ratoon/{path.name}"
        # No part of it depends on a version of Python: the extension module has the stable ABI.
        platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False


def compile_server(root: Path) -> list[Path]:
    """Runs cargo, and returns the paths of the compiled files."""
    command = ["cargo", "build", "--release", "--locked"]
    # cargo says where the files are: this depends on its configuration and environment.
    command += ["--message-format", "json-render-diagnostics"]
    try:
        cargo = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=False)
    except FileNotFoundError:
        raise SystemExit(
            "cargo was not found: Ratoon is compiled here, as this is no ready-made wheel. "
            "Install Rust (https://rustup.rs), or install a wheel of a release."
        ) from None
    if cargo.returncode != 0:
        raise SystemExit("Ratoon could not be compiled: see cargo's messages above")
    messages = [json.loads(line) for line in cargo.stdout.splitlines() if line.startswith("{")]
    artifacts = [m for m in messages if m.get("reason") == "compiler-artifact"]
    files = {Path(name).name: Path(name) for m in artifacts for name in m["filenames"]}
    return [files[name] for name in COMPILED]


class Describe(MetadataHookInterface):
    """Adds the readme and the links.

    The readme's links are relative to the source code. On a package index they lead nowhere, so
    they become absolute if $RATOON_REPOSITORY is set, as in a release. Without it, the wheel has
    the readme's text without images and links.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        address = os.environ.get(ADDRESS, "").rstrip("/")
        text = absolute(text, address) if address else unlinked(text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        pages = {
            "Source": "",
            "Documentation": "/blob/HEAD/docs/tour.md",
            "Changelog": "/blob/HEAD/CHANGELOG.md",
            "Issues": "/issues",
        }
        metadata["urls"] = {name: address + path for name, path in pages.items() if address}


# A Markdown link or image with a relative target.
RELATIVE = re.compile(r"(!?)\[([^\]]+)\]\((?!https?:|#)([^)]+)\)")


def absolute(text: str, address: str) -> str:
    return RELATIVE.sub(
        lambda link: (
            f"{link[1]}[{link[2]}]({address}/{'raw' if link[1] else 'blob'}/HEAD/{link[3]})"
        ),
        text,
    )


def unlinked(text: str) -> str:
    return RELATIVE.sub(lambda link: "" if link[1] else link[2], text)

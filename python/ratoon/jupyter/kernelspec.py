"""`ratoon kernelspec install`: makes the kernel known to Jupyter installations elsewhere.

An environment into which the wheel is installed knows it already, by a file of the wheel.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

SPEC = Path(__file__).parent / "spec"
NAME = "ratoon"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="ratoon kernelspec", description="Makes the Jupyter kernel of Ratoon known to Jupyter."
    )
    commands = parser.add_subparsers(required=True, metavar="install")
    install = commands.add_parser("install", help="install the kernel, with this Python")
    where = install.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for this user (the default)")
    where.add_argument("--prefix", help="below a directory, such as that of an environment")
    where.add_argument(
        "--sys-prefix",
        dest="prefix",
        action="store_const",
        const=sys.prefix,
        help="for the environment of this Python",
    )
    install.add_argument("--name", default=NAME, help="the kernel's name (default: ratoon)")
    install.add_argument("--display-name", help="the name that Jupyter shows")
    options = parser.parse_args(arguments)
    print(install_spec(options.name, options.prefix, options.display_name))


def install_spec(name: str, prefix: str | None, display_name: str | None) -> str:
    """Installs the kernel, and returns the directory."""
    try:
        from jupyter_client.kernelspec import KernelSpecManager
    except ImportError:
        raise SystemExit(
            "ratoon cannot install its Jupyter kernel: jupyter_client is missing\n"
            "  pip install 'ratoon-….whl[jupyter]'"
        ) from None
    spec: dict[str, Any] = json.loads((SPEC / "kernel.json").read_text())
    # The Python of the front end is another one.
    spec["argv"][0] = sys.executable
    spec["display_name"] = display_name or spec["display_name"]
    with tempfile.TemporaryDirectory() as temporary:
        (Path(temporary) / "kernel.json").write_text(json.dumps(spec, indent=1))
        manager = KernelSpecManager()
        try:
            directory = manager.install_kernel_spec(
                temporary, name, user=prefix is None, prefix=prefix
            )
        except (OSError, ValueError) as error:
            raise SystemExit(
                f"ratoon cannot install its Jupyter kernel: {error}\n"
                "  choose another place with --user, --prefix or --sys-prefix"
            ) from None
    return f"the kernel {name} is in {directory}"

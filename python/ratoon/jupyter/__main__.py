"""The kernel's process: `python -m ratoon.jupyter -f CONNECTION_FILE`."""

import argparse
import asyncio
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ratoon.jupyter", description=__doc__)
    parser.add_argument("-f", dest="connection_file", type=Path, required=True)
    # Jupyter may add options for ipykernel.
    options, _ = parser.parse_known_args()
    try:
        from .kernel import serve
    except ImportError as error:
        raise SystemExit(
            f"the Jupyter kernel of Ratoon cannot start: {error}\n"
            "install it with what it needs: pip install 'ratoon-….whl[jupyter]'"
        ) from error
    asyncio.run(serve(options.connection_file))


if __name__ == "__main__":
    main()

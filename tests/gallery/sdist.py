"""Fetches the source distribution of a package: the file only.

`pip download` would also run its build to learn its metadata, which takes a compiler and minutes.
So pip's own finder is asked where the file is (it knows the index, the proxy and the certificates
that pip is set up with), and pip's own session fetches it. Runs in an environment that has pip.
"""

import hashlib
import os

from pip._internal.commands import create_command
from pip._vendor.packaging.specifiers import SpecifierSet


def fetch(package, version, folder):
    """Answers the path of the file in `folder`, where it is kept from then on."""
    command = create_command("download")
    options, _ = command.parse_args(["--no-deps", "--no-binary", ":all:", "--quiet"])
    with command.main_context():
        session = command.get_default_session(options)
        finder = command._build_package_finder(options, session)
        found = finder.find_best_candidate(package, SpecifierSet(f"=={version}")).best_candidate
        if found is None:
            raise RuntimeError(f"the index has no source distribution of {package} {version}")
        path = os.path.join(folder, found.link.filename)
        if not os.path.exists(path):
            answer = session.get(found.link.url_without_fragment)
            answer.raise_for_status()
            if (
                found.link.hash_name
                and hashlib.new(found.link.hash_name, answer.content).hexdigest() != found.link.hash
            ):
                raise RuntimeError(
                    f"{found.link.filename} is not what the index says: its hash differs"
                )
            os.makedirs(folder, exist_ok=True)
            with open(path + ".part", "wb") as file:
                file.write(answer.content)
            os.replace(path + ".part", path)
        return path

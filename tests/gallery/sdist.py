"""Downloads the source distribution of a package without building it.

`pip download` would also build the package to get its metadata. This needs a compiler and takes
minutes. So this module uses pip's internal finder and session, which respect the index, the proxy
and the certificates in pip's configuration. It must run in an environment that has pip.
"""

import hashlib
import os

from pip._internal.commands import create_command
from pip._vendor.packaging.specifiers import SpecifierSet


def fetch(package, version, folder):
    """Downloads the file into `folder` if it is not there yet. Returns its path."""
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
                raise RuntimeError(f"{found.link.filename} has another hash than the index says")
            os.makedirs(folder, exist_ok=True)
            with open(path + ".part", "wb") as file:
                file.write(answer.content)
            os.replace(path + ".part", path)
        return path

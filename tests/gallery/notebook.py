"""Makes a notebook from one of scikit-learn's examples, like sphinx-gallery, or examines a
notebook. Run it with the Python of the tests' environment.

usage: notebook.py make FILE.ipynb        fetches scikit-learn's source distribution and writes FILE
       notebook.py examine FILE.ipynb     validates FILE with nbformat and prints its cells as JSON
"""

import importlib.metadata
import json
import os
import re
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import nbformat
from nbformat.v4 import new_notebook

EXAMPLE = "ensemble/plot_gradient_boosting_regression.py"


def program():
    import sdist

    version = importlib.metadata.version("scikit-learn")
    cache = os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ratoon-tests"
    )
    with tarfile.open(sdist.fetch("scikit-learn", version, cache)) as tar:
        root = tar.next().name.split("/")[0]
        return tar.extractfile(f"{root}/examples/{EXAMPLE}").read().decode()


def as_markdown(text):
    """Converts headings, names and formulas of reStructuredText to Markdown, like
    sphinx-gallery."""
    text = re.sub(r"^([=~-])\1{3,}\n(.+)\n\1{4,}$", r"# \2", text, flags=re.MULTILINE)
    text = re.sub(r"^(.+)\n([=~-])\2{3,}$", r"## \1", text, flags=re.MULTILINE)
    text = re.sub(r":math:`([^`]+)`", r"$\1$", text)
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?([^`<]+?)(?: <[^`]*>)?`", r"``\1``", text)
    return re.sub(r"``([^`]+)``", r"`\1`", text)


def make(path):
    from notebooks import cells_of

    cells = list(cells_of(program()))
    for cell in cells:
        # Notebooks from the gallery have no outputs.
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        else:
            cell.source = as_markdown(cell.source)
    nbformat.write(new_notebook(cells=cells), path)


def examine(path):
    with open(path) as file:
        raw = json.load(file)
    nbformat.validate(raw)
    notebook = nbformat.from_dict(raw)
    return [
        {
            "kind": cell.cell_type,
            "source": cell.source if isinstance(cell.source, str) else "".join(cell.source),
            "outputs": [
                sorted(out.get("data", {})) or [out.output_type] for out in cell.get("outputs", [])
            ],
            "count": cell.get("execution_count"),
        }
        for cell in notebook.cells
    ]


if __name__ == "__main__":
    word, path = sys.argv[1:]
    if word == "make":
        make(path)
    print(json.dumps(examine(path)))

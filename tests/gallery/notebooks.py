"""Makes notebooks from three programs in the style of scikit-learn's gallery, like sphinx-gallery.
Needs no network.

The programs have the form of the gallery's files: a docstring, text in comments after a line `#
%%`, and plots. The gallery's own files are fetched by `sdist.py`.
"""

import ast

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

PLOT = '''"""
====================
Decision boundaries
====================

Shows :func:`sklearn.linear_model.LogisticRegression`, with $x^2$.
"""

# Authors: nobody
# SPDX-License-Identifier: BSD-3-Clause

import matplotlib.pyplot as plt
import numpy as np

# %%
# Data
# ----
# Two clouds of points, 100% synthetic.

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 2))
print("%s points" % len(X))

# %%
# A figure
plt.scatter(*X.T)
plt.show()
'''

TEXTS = '''"""
Only text
=========
"""

# %%
# - a list
# - with ``code``
#
# .. note:: and a note

text = """
# %% is no cell here
%not a magic
"""
'''

LONG = '"""\nMany cells\n==========\n"""\n' + "".join(
    f"\n# %%\n# Part {i}\nx{i} = {i}\nx{i} ** 2\n" for i in range(60)
)


def cells_of(program):
    """Yields the cells that sphinx-gallery would make of a program. Text comes from the docstring
    and from comments after a marker `# %%`.
    """
    head = ast.get_docstring(ast.parse(program), clean=False)
    body = program.split('"""', 2)[2]
    yield new_markdown_cell(head.strip())
    yield new_code_cell("%matplotlib inline")
    blocks, inside = [[]], False
    for line in body.splitlines():
        inside ^= line.count('"""') % 2 == 1
        if line == "# %%" and not inside:
            blocks.append([])
        else:
            blocks[-1].append(line)
    for number, block in enumerate(blocks):
        text = []
        while number and block and block[0].startswith("#"):
            text.append(block.pop(0).lstrip("#").removeprefix(" "))
        if text:
            yield new_markdown_cell("\n".join(text))
        code = "\n".join(block).strip("\n")
        if code:
            outputs = [new_output("stream", name="stdout", text="out\n")] if "print" in code else []
            yield new_code_cell(code, outputs=outputs, execution_count=number + 1)


def write_all(folder):
    for name, program in [("plot", PLOT), ("texts", TEXTS), ("long", LONG)]:
        nbformat.write(new_notebook(cells=list(cells_of(program))), f"{folder}/{name}.ipynb")

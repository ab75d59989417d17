"""Prints one JavaScript library that a Python package of the user contains. Exits with 1 if the
package is missing.

Ratoon runs this text as a program: `python -c TEXT NAME`. It imports few modules to start fast.
"""

import importlib.util
import os
import signal
import sys

# Ends this process if a package hangs.
signal.alarm(20)
# Imports nothing from the working directory.
sys.path[:] = [place for place in sys.path if place]

FILES = {
    "plotly": ("plotly", "package_data/plotly.min.js"),
    "bokeh": ("bokeh", "server/static/js/bokeh.min.js"),
    "bokeh-gl": ("bokeh", "server/static/js/bokeh-gl.min.js"),
    "bokeh-widgets": ("bokeh", "server/static/js/bokeh-widgets.min.js"),
    "bokeh-tables": ("bokeh", "server/static/js/bokeh-tables.min.js"),
    "bokeh-mathjax": ("bokeh", "server/static/js/bokeh-mathjax.min.js"),
}


def library(name):
    if name == "vega":
        # One file that defines Vega, Vega-Lite and Vega-Embed as globals.
        import vl_convert

        return vl_convert.javascript_bundle().encode()
    package, path = FILES[name]
    spec = importlib.util.find_spec(package)
    with open(os.path.join(os.path.dirname(spec.origin), path), "rb") as file:
        return file.read()


try:
    sys.stdout.buffer.write(library(sys.argv[1]))
except Exception:
    sys.exit(1)

"""Prints one JavaScript library out of the user's own Python packages; nothing where that package is missing.

Run as a program of its own: `python -c TEXT NAME`. It imports as little as it can.
"""

import importlib.util
import os
import signal
import sys

# It ends by itself, whatever a package does.
signal.alarm(20)
# Not from the directory that it was started in.
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
        # Vega, Vega-Lite and Vega-Embed in one, as globals: the package holds them in its binary.
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

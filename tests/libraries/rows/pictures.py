"""Rows with libraries for plots and image processing."""

from model import row

CHART = (
    "{'mark': 'point', 'data': {'values': [{'a': 1, 'b': 2}]}, 'encoding': {'x': {'field': 'a'}, "
    "'y': {'field': 'b'}}}"
)

ROWS = (
    row(
        "altair options",
        "import altair as alt\nfrom altair import data_transformers\n"
        "alt.data_transformers.disable_max_rows(); alt.theme.enable('dark')\n"
        "print(alt.data_transformers.options)",
        "print(alt.data_transformers.options, alt.theme.active,\n"
        "      data_transformers is alt.data_transformers)",
    ),
    row(
        "plotly templates",
        "import plotly.io as pio\nfrom plotly.io import templates\n"
        "pio.templates.default = 'plotly_dark'; print(templates.default)",
        "print(templates.default, templates is pio.templates)",
    ),
    row(
        "vl-convert",
        "import vl_convert as vlc\n"
        f"chart = {CHART}\n"
        "png = vlc.vegalite_to_png(chart)\n"
        "print(png[:4])",
        "print(vlc.vegalite_to_png(chart)[:4])",
    ),
    row(
        "vl-convert svg",
        f"import vl_convert as vlc\nchart = {CHART}\nprint(vlc.vegalite_to_svg(chart)[:4])",
        "print(vlc.vegalite_to_svg(chart)[:4])",
    ),
    row(
        "altair",
        "import altair as alt, pandas as pd\n"
        "c = alt.Chart(pd.DataFrame({'a': [1, 2], 'b': [3, 4]})).mark_point().encode(x='a', "
        "y='b')\n"
        "print(c.to_dict()['mark'])",
        "print(c.properties(width=100).to_dict()['width'])",
    ),
    row(
        "altair to_svg",
        "import altair as alt, pandas as pd, io\n"
        "c = alt.Chart(pd.DataFrame({'a': [1, 2], 'b': [3, 4]})).mark_point().encode(x='a', "
        "y='b')\n"
        "b = io.StringIO(); c.save(b, format='svg'); print(b.getvalue()[:4])",
        "b = io.StringIO(); c.save(b, format='svg'); print(b.getvalue()[:4])",
    ),
    row(
        "plotly",
        "import plotly.graph_objects as go\n"
        "f = go.Figure(go.Scatter(x=[1, 2], y=[3, 4]))\n"
        "print(len(f.data))",
        "f.add_bar(y=[1]); print(len(f.data), 'plotly' in "
        "f.to_html(include_plotlyjs=False).lower())",
    ),
    row(
        "bokeh",
        "from bokeh.plotting import figure\n"
        "from bokeh.embed import json_item\n"
        "p = figure(width=200, height=200); p.line([1, 2], [3, 4])\n"
        "print(len(p.renderers))",
        "p.scatter([1], [2]); print(len(p.renderers), sorted(json_item(p))[:3])\n"
        "q = figure(); q.line([1], [2]); print(len(q.renderers))",
    ),
    row(
        "matplotlib fig kept",
        "import matplotlib.pyplot as plt\n"
        "fig, ax = plt.subplots(figsize=(1, 1)); ax.plot([1, 2]); plt.show()",
        "ax.plot([2, 1]); display(fig)",
    ),
    row(
        "matplotlib fig as result",
        "import matplotlib.pyplot as plt\n"
        "fig, ax = plt.subplots(figsize=(1, 1)); ax.plot([1, 2]); plt.close(fig)",
        "from IPython.display import display\nprint(len(ax.lines))\ndisplay(fig)\nfig",
    ),
    row(
        "matplotlib animation",
        """
        import matplotlib.pyplot as plt, matplotlib.animation as an
        fig, ax = plt.subplots(figsize=(1, 1)); (ln,) = ax.plot([0, 1])
        def step(i): ln.set_ydata([0, i]); return (ln,)
        ani = an.FuncAnimation(fig, step, frames=2)
        print(len(ani.to_jshtml()) > 1000); plt.close(fig)
        """,
        "print(len(an.FuncAnimation(fig, step, frames=2).to_jshtml()) > 1000)",
    ),
    row(
        "matplotlib rcParams/style",
        "import matplotlib as mpl, matplotlib.pyplot as plt\n"
        "plt.style.use('ggplot'); mpl.rcParams['lines.linewidth'] = 7\n"
        "print(mpl.rcParams['axes.grid'])",
        "print(mpl.rcParams['lines.linewidth'], mpl.rcParams['axes.grid'])",
    ),
    row(
        "opencv threads",
        "import cv2, numpy as np\n"
        "cv2.setNumThreads(2)\n"
        "img = np.random.default_rng(0).integers(0, 255, (800, 800, 3), dtype=np.uint8)\n"
        "print(cv2.GaussianBlur(img, (9, 9), 2).sum())",
        "print(cv2.GaussianBlur(img, (9, 9), 2).sum(), cv2.getNumThreads())",
    ),
    row(
        "cv2 VideoWriter/parallel big",
        "import cv2, numpy as np\n"
        "img = np.random.default_rng(0).integers(0, 255, (1500, 1500, 3), dtype=np.uint8)\n"
        "w = cv2.VideoWriter('v.avi', cv2.VideoWriter_fourcc(*'MJPG'), 5, (64, 64)); "
        "w.write(img[:64, :64].copy()); w.release(); del w\n"
        "print(cv2.resize(img, (700, 700)).sum())",
        "print(cv2.resize(img, (700, 700)).sum(), cv2.cvtColor(img, cv2.COLOR_BGR2GRAY).sum())",
    ),
    row(
        "opencv + generator",
        "import cv2, numpy as np\n"
        "img = np.random.default_rng(0).integers(0, 255, (800, 800, 3), dtype=np.uint8)\n"
        "g = (n for n in range(9)); print(next(g), cv2.GaussianBlur(img, (9, 9), 2).sum())",
        "print(next(g), cv2.medianBlur(img, 9).sum(), cv2.getNumThreads())",
    ),
    row(
        "skimage",
        "import numpy as np\n"
        "from skimage import filters, measure\n"
        "img = np.zeros((64, 64)); img[8:20, 8:20] = 1\n"
        "print(measure.label(img).max())",
        "print(round(float(filters.gaussian(img, 1).sum()), 6), "
        "len(measure.regionprops(measure.label(img))))",
    ),
    row(
        "SimpleITK",
        "import SimpleITK as sitk, numpy as np\n"
        "im = sitk.GetImageFromArray(np.random.default_rng(0).random((32, 64, 64)))\n"
        "print(im.GetSize())",
        "print(round(float(sitk.GetArrayFromImage(sitk.SmoothingRecursiveGaussian(im, "
        "1.0)).sum()), 3))",
    ),
    row(
        "shapely",
        "from shapely.geometry import Point, Polygon\n"
        "import shapely\n"
        "p = Polygon([(0, 0), (1, 0), (1, 1)]); tree = shapely.STRtree([Point(0, 0), "
        "Point(5, 5)])\n"
        "print(p.area)",
        "print(p.buffer(0).area, p.contains(Point(.9, .5)), tree.query(p.buffer(.1)))",
    ),
    row(
        "pillow",
        "from PIL import Image, ImageDraw\n"
        "im = Image.new('RGB', (8, 8)); d = ImageDraw.Draw(im); d.point((1, 1), fill='red')\n"
        "print(im.getpixel((1, 1)))",
        "print(im.resize((4, 4)).size, im.getpixel((1, 1)))\nim",
    ),
    row(
        "pandas styler/option_context",
        "import pandas as pd\n"
        "df = pd.DataFrame({'a': [1.234567, 2]}); st = df.style.format('{:.1f}')\n"
        "pd.set_option('display.precision', 2)\n"
        "print(df)",
        "print(df); print('1.2' in st.to_html())",
    ),
)

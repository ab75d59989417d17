import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
const W='/work/wt-outputs/tests/browser/';
const { openBrowser, openPage, startServer } = await import(W+'browser.mjs');
const only = process.argv[2] ? process.argv[2].split(',') : null;
const CELLS = {
 ansi: `print("plain \\x1b[1mbold\\x1b[0m \\x1b[4munder\\x1b[0m \\x1b[31mred \\x1b[92mgreen \\x1b[38;5;208m256 \\x1b[38;2;80;120;255mtrue\\x1b[0m \\x1b[44;97mback\\x1b[0m \\x1b[7minverse\\x1b[0m")\nprint("see https://example.org/a_(b). And http://x.y/z?q=1!")\nimport sys; print("a warning on stderr", file=sys.stderr)`,
 tqdm: `from tqdm.auto import tqdm\nimport time\nfor i in tqdm(range(3), desc="outer"):\n    for j in tqdm(range(50), desc="inner", leave=False):\n        time.sleep(0.002)`,
 tqdmnb: `from tqdm.notebook import tqdm\nfor i in tqdm(range(20)): pass`,
 long: `for i in range(12345): print("line", i)`,
 df: `import pandas as pd, numpy as np\npd.DataFrame(np.random.default_rng(1).normal(size=(30, 30)).round(3), columns=[f"column {i}" for i in range(30)])`,
 plot: `import matplotlib.pyplot as plt\nplt.plot([1,3,2]); plt.title("A plot"); plt.show()`,
 retina: `%config InlineBackend.figure_format = "retina"\nplt.plot([3,1,2]); plt.show()`,
 svg: `from IPython.display import SVG\nSVG('<svg xmlns="http://www.w3.org/2000/svg" width="200" height="60"><rect width="200" height="60" rx="8" fill="#cde"/><text x="20" y="38" font-size="20">svg image</text><script>parent.x=1</script></svg>')`,
 plotly: `import plotly.express as px\npx.scatter(x=[1,2,3], y=[3,1,2], title="plotly")`,
 altair: `import altair as alt\nalt.Chart(pd.DataFrame({"a": list("ABC"), "b": [28, 55, 43]})).mark_bar().encode(x="a", y="b")`,
 bokeh: `from bokeh.plotting import figure, show\np = figure(height=250, title="bokeh"); p.scatter([1,2,3],[3,1,2], size=12); show(p)`,
 latex: `from IPython.display import Latex, Markdown, Math, JSON, Javascript, HTML, Audio, display\ndisplay(Latex(r"Euler: $e^{i\\pi}+1=0$ and \\begin{equation} \\int_0^1 x^2\\,dx = \\frac13 \\end{equation}"))\ndisplay(Math(r"\\sqrt{\\frac{a}{b}}"))\ndisplay(Markdown("# Head\\n\\nInline $\\\\alpha_1$ costs \$5 and \$6.\\n\\n$$\\n\\\\sum_{i=1}^n\\n= i\\n$$\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |\\n\\n- [ ] todo\\n- [x] done\\n\\n\`\`\`python\\nx = 1\\n\`\`\`"))`,
 sympy: `import sympy as sp\nsp.init_printing()\nx = sp.symbols('x'); sp.Integral(sp.sqrt(1/x), x)`,
 json: `JSON({"name": "tree", "list": list(range(250)), "nested": {"a": None, "b": True, "c": [1.5, "text"]}})`,
 js: `Javascript("element.innerHTML = '<b>made by javascript</b>'")`,
 audio: `import numpy as np\nAudio(np.sin(np.linspace(0, 3000, 8000)), rate=8000)`,
 video: `from IPython.display import Video\nVideo(data=b"\\0\\0\\0\\x18ftypmp42", embed=True, mimetype="video/mp4")`,
 pdf: `display({"application/pdf": "JVBERi0xLjQKJcOkw7zDtsOfCg==", "text/plain": "<pdf>"}, raw=True)`,
 widget: `import ipywidgets\nipywidgets.IntSlider(value=3)`,
 html: `HTML("<h3>Heading</h3><p>Some <a href='https://example.org'>link</a> and text</p><script src='https://cdn.example.org/x.js'></script>")`,
 tb: `def f(x):\n    return 1 / x\n\ndef g(x):\n    return f(x)`,
 tb2: `import json\ntry:\n    g(0)\nexcept ZeroDivisionError as e:\n    raise ValueError("something\\nwent wrong") from e`,
};
const server = await startServer();
const browser = await openBrowser();
try {
  const page = await openPage(browser, { viewport: { width: 1280, height: 900 } });
  const far = [];
  await page.context().route(/^https?:\/\/(?!127\.0\.0\.1)/, (r) => { far.push(r.request().url()); r.abort(); });
  await page.goto(server.url);
  await page.waitForSelector('.notebook[aria-busy="false"]');
  let n = 0;
  for (const [name, code] of Object.entries(CELLS)) {
    if (only && !only.includes(name)) continue;
    const t = Date.now();
    await page.locator('.cell[data-fresh] .editor').click();
    await page.keyboard.insertText(code);
    await page.keyboard.press('Shift+Enter');
    await page.waitForFunction((n) => [...document.querySelectorAll('.cell')].length > n && !document.querySelector('[data-status="running"], [data-status="queued"]'), n + 1, { timeout: 60000 });
    n += 1;
    const cell = page.locator('.cell').nth(n - 1);
    await cell.scrollIntoViewIfNeeded();
    await page.waitForTimeout(['plotly','bokeh','altair'].includes(name) ? 4000 : 400);
    await cell.screenshot({ path: `/tmp/shots-outputs/${name}.png` }).catch((e) => console.log(name, String(e).slice(0, 100)));
    console.log(name, Date.now() - t, 'ms');
    if (name === 'tb2') break;
  }
  console.log('faults', page.faults, 'far', far);
  for (const scheme of ['dark']) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.waitForTimeout(300);
    const cells = await page.locator('.cell').count();
    for (let i = 0; i < cells; i += 1) { const c = page.locator('.cell').nth(i); await c.scrollIntoViewIfNeeded(); await page.waitForTimeout(150);}
    await page.waitForTimeout(1500);
  }
  await page.locator('.middle').evaluate((m) => { for (let e = m; e && e !== document.documentElement; e = e.parentElement) { e.style.height='auto'; e.style.overflow='visible'; e.style.maxHeight='none'; } });
  await page.waitForTimeout(1500);
  await page.screenshot({ path: '/tmp/shots-outputs/all-dark.png', fullPage: true });
} finally { await browser.close(); await server.stop(); }

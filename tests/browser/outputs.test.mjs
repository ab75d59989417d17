// Outputs of cells in a real browser, with the real libraries where they are installed.

import assert from 'node:assert/strict';
import { mkdir, readFile } from 'node:fs/promises';
import { becomes, nightly } from './browser.mjs';
import {
    forgive,
    lacks,
    open,
    page,
    prints,
    ran,
    release,
    run,
    test,
    texts,
    untilReleased,
} from './harness.mjs';

const isReal = Boolean(process.env.RATOON_BIN);
const real = { skip: !isReal && 'needs RATOON_BIN' };
const IN = 'from IPython.display import *\n';

/** Saves a screenshot, if RATOON_SHOTS names a folder. */
async function picture(name, on = page) {
    const folder = process.env.RATOON_SHOTS;
    if (!folder) return;
    await mkdir(folder, { recursive: true });
    await on.screenshot({ path: `${folder}/${name}.png` });
}

/**
 * Blocks all requests except those to the server. Returns a list that records the blocked
 * addresses.
 */
async function cutNetwork() {
    const asked = [];
    await page
        .context()
        .route(
            /^(?!(http|ws):\/\/127\.0\.0\.1|data:|blob:)/,
            (route) => (asked.push(route.request().url()), route.abort()),
        );
    return asked;
}

const inFrame = (nth = 0) => page.frameLocator('iframe.frame').nth(nth);

/** @type {[string, string[], string, string][]} */
const PLOTS = [
    [
        'plotly',
        ['plotly'],
        'import plotly.graph_objects as go\ngo.Figure(go.Scatter(x=[1, 2, 3], y=[3, 1, 2]), layout_title_text="by plotly")',
        '.main-svg .scatterlayer .trace',
    ],
    [
        'plotly in 3D',
        ['plotly'],
        'import plotly.graph_objects as go\ngo.Figure(go.Scatter3d(x=[1, 2, 3], y=[3, 1, 2], z=[1, 2, 3])).show()',
        '.gl-container canvas',
    ],
    [
        'a figure as data',
        ['plotly'],
        `${IN}display({"application/vnd.plotly.v1+json": {"data": [{"y": [1, 3, 2]}], "layout": {}}}, raw=True)`,
        '.main-svg .scatterlayer .trace',
    ],
    [
        'bokeh',
        ['bokeh'],
        'from bokeh.plotting import figure, show\np = figure(height=250)\np.scatter([1, 2, 3], [3, 1, 2])\nshow(p)',
        '.bk-Figure',
    ],
    [
        'altair',
        ['altair', 'vl_convert'],
        'import altair as alt\nalt.Chart(alt.Data(values=[{"a": "A", "b": 2}])).mark_bar().encode(x="a:N", y="b:Q")',
        '.vega-embed canvas, .vega-embed svg',
    ],
];
for (const [i, [name, modules, code, painted]] of PLOTS.entries()) {
    const options = { skip: lacks(...modules) };
    test(`${name} shows its plot without a network`, i > 0 ? nightly(options) : options, async () => {
        const asked = await cutNetwork();
        await run(code);
        await ran(1);
        await inFrame().locator(painted).first().waitFor();
        await page.waitForFunction(() => document.querySelector('.frame-place').clientHeight > 200);
        assert.deepEqual(asked, [], 'no request was made');
        assert.deepEqual(await texts('.error-view'), []);
        await picture(name.replaceAll(' ', '-'));
        // Ignore Chromium's warnings on machines without a graphics card.
        forgive(page, /^\[\.WebGL|willReadFrequently/);
    });
}

test('a wide table scrolls in its own box, whose edge shows where more is hidden', real, async () => {
    const head = '<th>a long name of a column</th>'.repeat(40);
    await run(`${IN}display(HTML('<table class="dataframe"><tr>${head}</tr></table>'))`);
    await ran(1);
    const content = inFrame().locator('#content');
    const edges = () =>
        inFrame()
            .locator('html')
            .evaluate(({ dataset }) => Object.keys(dataset).sort());
    const scrollTo = (/** @type {number} */ left) =>
        content.evaluate((one, to) => void one.scrollTo({ left: to }), left);
    await becomes(edges, ['after', 'theme']);
    await scrollTo(200);
    await becomes(edges, ['after', 'before', 'theme']);
    await picture('wide-table');
    await scrollTo(100_000);
    await becomes(edges, ['before', 'theme']);
    const width = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    assert.ok(width[0] <= width[1], 'the page does not scroll sideways');
    await run(`${IN}display(HTML('<table class="dataframe"><tr><th>a</th></tr></table>'))`);
    await ran(2);
    const second = inFrame(1).locator('html');
    await second.locator('th').waitFor();
    assert.deepEqual(await second.evaluate(({ dataset }) => Object.keys(dataset)), ['theme']);
});

test('a table of the Styler has padding, and its own rules come first', nightly(real), async () => {
    await run(
        `${IN}display(HTML('<style>#T_a td {padding: 1px 2px}</style><table id="T_a"><tr><th>h<td>1</table>'))`,
    );
    await ran(1);
    const padding = (/** @type {string} */ cell) =>
        inFrame()
            .locator(`#T_a ${cell}`)
            .evaluate((one) => getComputedStyle(one).padding);
    assert.deepEqual([await padding('th'), await padding('td')], ['4px 10px', '1px 2px']);
});

test(
    'a plot whose JavaScript is missing says what to install',
    nightly({
        skip: lacks('altair') || (!lacks('vl_convert') && 'vl-convert is there'),
    }),
    async () => {
        await run(
            'import altair as alt\nalt.Chart(alt.Data(values=[{"a": "A"}])).mark_bar().encode(x="a:N")',
        );
        await ran(1);
        await inFrame().getByText('%pip install vl-convert-python').waitFor();
    },
);

test('a script from another server is not loaded, and the output says so', real, async () => {
    const asked = await cutNetwork();
    await run(
        `${IN}HTML("<p>here</p><script src='https://cdn.example.org/x.js'></script><script>document.body.dataset.went = 'on'</script>")`,
    );
    await ran(1);
    await inFrame().getByText('Not loaded: https://cdn.example.org/x.js').waitFor();
    await inFrame().locator('body[data-went="on"]').waitFor();
    assert.deepEqual(asked, []);
});

test(
    'frames far from the viewport are unloaded beyond a limit, and keep their height',
    nightly(real),
    async () => {
        await run(`${IN}for i in range(60): display(HTML(f"<div style='height: 400px'>frame {i}</div>"))`);
        await ran(1);
        await page.waitForFunction(() => document.querySelectorAll('.frame-place').length === 60);
        const tall = () =>
            page.evaluate(
                () =>
                    [...document.querySelectorAll('.frame-place')].filter((one) => one.clientHeight > 300)
                        .length,
            );
        for (let i = 0; i < 60; i += 4) {
            // Frames above may grow and push this one out of view again.
            await becomes(async () => {
                await page.locator('.frame-place').nth(i).scrollIntoViewIfNeeded();
                return page
                    .locator('.frame-place')
                    .nth(i)
                    .evaluate((one) => one.clientHeight > 300);
            }, true);
        }
        await page.locator('.frame-place').last().scrollIntoViewIfNeeded();
        await inFrame((await page.locator('iframe.frame').count()) - 1)
            .getByText('frame 59')
            .waitFor();
        const frames = await page.locator('iframe.frame').count();
        assert.ok(frames <= 30, `${frames} frames are alive`);
        const before = await tall();
        // Two frames come near the viewport together: one that must reload, and the oldest loaded
        // one, which would be unloaded to make room for it.
        const oldest = await page.evaluate(() =>
            [...document.querySelectorAll('.frame-place')].findIndex((one) => one.firstElementChild),
        );
        await page.locator('.frame-place').nth(oldest).scrollIntoViewIfNeeded();
        await page
            .frameLocator(`:nth-match(.frame-place, ${oldest + 1}) > iframe`)
            .getByText(`frame ${oldest}`)
            .waitFor();
        await page.locator('.frame-place').first().scrollIntoViewIfNeeded();
        await inFrame().getByText('frame 0').waitFor();
        assert.ok((await tall()) >= before, 'no height was lost');
    },
);

test('formulas are rendered in outputs and in prose without a policy violation', real, async () => {
    await run(
        `${IN}display(Latex(r"Euler: $e^{i\\pi}+1=0$"), Math(r"\\frac{a}{b}"), Markdown(r"It costs \\$5; $\\alpha$ and" + "\\n\\n$$\\n\\\\int x\\n= 1\\n$$\\n\\n- [x] done"), Latex(r"$\\href{javascript:alert(1)}{x}$ $\\htmlStyle{color:red}{y}$ $\\badcommand$"))`,
    );
    await ran(1);
    await page.waitForFunction(
        () =>
            document.querySelectorAll('.katex').length >= 4 &&
            document.querySelectorAll('.prose .katex-display').length === 1,
    );
    await page.evaluate(() => document.fonts.ready);
    assert.ok(
        await page.evaluate(() =>
            [...document.fonts].some((font) => font.family.includes('KaTeX') && font.status === 'loaded'),
        ),
        'with its own fonts',
    );
    assert.equal(await page.locator('.outputs a').count(), 0, 'a formula contains no link');
    assert.match((await texts('.prose'))[0], /It costs \$5/);
    assert.match((await texts('.prose li'))[0], /^☑ done/);
    await picture('formulas');
});

test('an error begins with its message, and links to the lines of its cells', real, async () => {
    await run('def f(x):\n    return 1 / x');
    await ran(1);
    await run('y = 2\nf(0)');
    await page.waitForSelector('.error-view');
    assert.equal((await texts('.error-view .title'))[0], 'ZeroDivisionError: division by zero');
    assert.deepEqual(await texts('.error-view .line'), ['This cell, line 2', 'Cell 1, line 2']);
    await picture('error');
    const selected = () =>
        page.evaluate(() => [
            String(getSelection()),
            [...document.querySelectorAll('.cell')].indexOf(document.activeElement.closest('.cell')),
        ]);
    await page.locator('.error-view .line').nth(1).click();
    assert.deepEqual(await selected(), ['    return 1 / x', 0]);
    await page.locator('.error-view .line').first().click();
    assert.deepEqual(await selected(), ['f(0)', 1]);
});

test('a syntax error links to its line; a deep traceback shows its last frames', nightly(real), async () => {
    await run('a = 1\nb = = 2');
    await page.waitForSelector('.error-view');
    assert.match((await texts('.error-view .title'))[0], /^SyntaxError: invalid syntax/);
    assert.deepEqual(await texts('.error-view .line'), ['This cell, line 2']);
    await run('def f(n):\n    if n == 0: raise ValueError("deep")\n    g(n)\ndef g(n):\n    f(n - 1)\nf(10)');
    const deep = page.locator('.error-view').last();
    await deep.getByRole('button', { name: /\d+ more frames/ }).waitFor();
    assert.equal(await deep.locator('.step').count(), 3);
    await deep.getByRole('button', { name: /more frames/ }).click();
    await page.waitForFunction(
        () => [...document.querySelectorAll('.error-view')].at(-1).querySelectorAll('.step').length > 3,
    );
});

test("frames of libraries are behind one click, and the user's own files are not", real, async () => {
    await run(
        'open("helper.py", "w").write("import json\\ndef f(x):\\n    return json.loads(x)\\n")\n' +
            'import helper\nhelper.f("{")',
    );
    await page.waitForSelector('.error-view');
    const frames = () => texts('.error-view .step');
    assert.equal((await frames()).length, 2);
    assert.match((await frames())[1], /helper\.py:3/);
    await page.getByRole('button', { name: /^3 library frames, last decoder\.py:\d+$/ }).click();
    await becomes(async () => (await frames()).length, 5);
    const cut = () =>
        page.$$eval(
            '.error-view .step',
            (all) => all.filter((one) => one.scrollWidth > one.clientWidth).length,
        );
    await page.setViewportSize({ width: 390, height: 800 });
    await becomes(cut, 0);
    await page.getByRole('button', { name: /^3 library frames/, expanded: true }).click();
    await becomes(async () => (await frames()).length, 2);
});

test('the buttons of a one-line output stay between its cell and the next', async () => {
    await run('print("one")');
    await ran(1);
    await run('print("two")');
    await ran(2);
    await page.locator('.output').first().hover();
    const { count, bottom, next } = await page
        .locator('.cell')
        .first()
        .evaluate((cell) => {
            const tools = [...cell.querySelectorAll('.output-tools .tool')];
            return {
                count: tools.length,
                bottom: Math.max(...tools.map((one) => one.getBoundingClientRect().bottom)),
                next: cell.nextElementSibling.querySelector('.source').getBoundingClientRect().top,
            };
        });
    assert.equal(count, 2);
    assert.ok(bottom <= next, `${bottom} and ${next}`);
});

test(
    'an image can be resized by keys and by pointer, keeps its size, and can be shown in full size, saved and copied',
    nightly(real),
    async () => {
        await run(
            `${IN}SVG('<svg width="300" height="100" onload="top.evil = 1"><script>top.evil = 1</script><rect width="300" height="100" fill="teal"/></svg>')`,
        );
        await ran(1);
        const width = () => page.locator('.image').evaluate((one) => one.clientWidth);
        await page.waitForFunction(
            () =>
                /** @type {HTMLImageElement} */ (document.querySelector('.image'))?.complete &&
                document.querySelector('.image').clientWidth === 300,
        );
        await page.locator('.handle').focus();
        await page.keyboard.press('ArrowLeft');
        await page.keyboard.press('ArrowLeft');
        assert.equal(await width(), 260);
        await page.reload();
        await page.waitForSelector('.image');
        assert.equal(await width(), 260);
        const grip = await page.locator('.handle').boundingBox();
        await page.mouse.move(grip.x + 5, grip.y + 5);
        await page.mouse.down();
        await page.mouse.move(grip.x + 65, grip.y + 5, { steps: 3 });
        await page.mouse.up();
        assert.equal(await width(), 320);
        await page.locator('.picture .view').click();
        await page.locator('dialog.full-size[open] img').waitFor();
        await page.keyboard.press('Escape');
        await page.waitForFunction(() => !document.querySelector('dialog.full-size'));
        assert.equal(await page.evaluate(() => window.evil), undefined, 'an image runs no script');
        const download = page.waitForEvent('download');
        await page.locator('.output').hover();
        await page.getByRole('button', { name: 'Save image' }).click();
        assert.equal((await download).suggestedFilename(), 'output.svg');
        await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
        await page.getByRole('button', { name: 'Copy image' }).click();
        await page.getByText('Image copied.').waitFor();
        const types = () =>
            page.evaluate(async () => (await navigator.clipboard.read()).flatMap((one) => one.types));
        assert.deepEqual(await types(), ['image/png']);
    },
);

test('an SVG without a size is large enough to read', nightly(real), async () => {
    await run(`${IN}SVG('<svg viewBox="0 0 300 120"><rect width="300" height="120" fill="teal"/></svg>')`);
    await ran(1);
    await page.waitForFunction(() => document.querySelector('.image')?.clientWidth >= 200);
});

test(
    'JSON is a tree with keyboard navigation; a hundred thousand entries are shown in parts',
    nightly(real),
    async () => {
        await run(`${IN}JSON({"big": list(range(100000)), "nested": {"a": [None, True, "text"]}})`);
        await ran(1);
        await page.locator('.tree [role="treeitem"]').first().focus();
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('ArrowRight');
        await page.waitForFunction(() => document.querySelectorAll('.tree .leaf').length === 100);
        assert.equal(
            await page.evaluate(() => document.activeElement.getAttribute('aria-label')),
            'big, 100,000 items',
        );
        await page.getByRole('treeitem', { name: 'Show 1,000 more' }).click();
        await page.waitForFunction(() => document.querySelectorAll('.tree .leaf').length === 1100);
        // The tree is one stop of the Tab key: the item focused last.
        assert.deepEqual(
            await page.$$eval('.tree [tabindex="0"]', (all) =>
                all.map((one) => [
                    one === document.activeElement,
                    one.textContent,
                    one.getAttribute('aria-posinset'),
                    one.getAttribute('aria-setsize'),
                ]),
            ),
            [[true, '100100', '101', '100000']],
        );
        await page.locator('.tree [role="treeitem"]').nth(1).focus();
        await page.keyboard.press('ArrowLeft');
        await page.waitForFunction(() => document.querySelectorAll('.tree .leaf').length === 0);
    },
);

test('audio, files, scripts and the text of unknown widgets are shown', nightly(real), async () => {
    await run(
        `${IN}display(Audio(data=b"RIFF", rate=8000), Javascript("element.textContent = 'scripted'"))\ndisplay({"application/vnd.jupyter.widget-view+json": {"model_id": "gone"}, "text/plain": "Slider()"}, raw=True)\ndisplay({"application/pdf": "JVBERi0=", "text/plain": "x"}, raw=True)`,
    );
    await ran(1);
    await inFrame(0).locator('audio').waitFor();
    await inFrame(1).getByText('scripted').waitFor();
    await page
        .locator('.output-note', { hasText: 'The data of this widget is not in this notebook' })
        .waitFor();
    assert.match((await texts('.output'))[2], /Slider\(\)/);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as a file (application/pdf, 6 B)' }).click();
    assert.equal((await download).suggestedFilename(), 'output.pdf');
});

test(
    'nested progress bars are text, and leave no thread behind',
    nightly({
        skip: lacks('tqdm'),
    }),
    async () => {
        await run(
            'from tqdm import tqdm\nfor i in tqdm(range(3), desc="outer"):\n    for j in tqdm(range(40), desc="inner", leave=False): pass',
        );
        await ran(1);
        const lines = (await texts('.stream'))[0].split('\n');
        assert.equal(lines.length, 1, lines.join('|'));
        assert.match(lines[0], /^outer: 100%.*3\/3/);
        // A warning about memory shared between branches appears shortly after the run. Only one
        // cell shows it.
        await run('import mmap; shared = mmap.mmap(-1, 10)');
        await page.waitForSelector('.notes .warning');
        assert.equal((await texts('.notes .warning')).length, 1);
        assert.match((await texts('.notes .warning'))[0], /this memory.*without a name \(4096 bytes\)$/);
    },
);

test('blank lines have their place as soon as text follows them', async () => {
    await run(`print("one" + "\\n" * 300, flush=True, end="")\n${untilReleased('two')}\nprint("two")`);
    await prints('one');
    await release('two');
    await ran(1);
    await prints('two');
    assert.equal((await texts('.stream > .text'))[0], `one${'\n'.repeat(300)}two`);
    const lines = await page.$eval('.stream > .text', (box) => {
        const height =
            box.lastElementChild.getBoundingClientRect().bottom -
            box.firstElementChild.getBoundingClientRect().top;
        return height / Number.parseFloat(getComputedStyle(box).lineHeight);
    });
    assert.equal(Math.round(lines), 301);
});

test('a hundred thousand lines block the page for less than a second', nightly(real), async (t) => {
    await page.evaluate(() => {
        window.longest = 0;
        new PerformanceObserver((list) =>
            list.getEntries().forEach((one) => (window.longest = Math.max(window.longest, one.duration))),
        ).observe({ entryTypes: ['longtask'] });
    });
    await run('for i in range(100_000): print("line", i)');
    await ran(1);
    await prints('line 99999');
    await page.getByRole('button', { name: 'Show all 100,000 lines' }).waitFor();
    const longest = await page.evaluate(() => window.longest);
    t.diagnostic(`longest task ${Math.round(longest)} ms`);
    // The limit is generous, because the machine may be busy. The diagnostic above has the actual
    // time.
    assert.ok(longest < 1000, `${longest} ms`);
    await page.getByRole('button', { name: 'Show all 100,000 lines' }).click();
    await page.reload();
    await page.getByRole('button', { name: 'Show less' }).waitFor();
});

test('the grid of a data frame sorts, filters, scrolls, copies and downloads all its rows', {
    skip: lacks('pandas', 'polars'),
}, async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const frame = 'pd.DataFrame({"n": range(1_000_000), "kind": ["ä", \'b "c"\'] * 500_000})';
    await run(
        `import pandas as pd, polars as pl\ndf = ${frame}\nfew = pl.DataFrame({"x": [3, None, 1]})\ndf`,
    );
    await ran(1);
    await page.getByRole('button', { name: 'Open large' }).click();
    const grid = page.getByRole('grid', { name: 'df' });
    const active = () =>
        grid.evaluate(
            (one) => document.getElementById(one.getAttribute('aria-activedescendant'))?.textContent,
        );
    const firstRow = () => texts('.grid-row:first-child .grid-cell');
    const status = page.locator('.grid-top [role="status"]');
    await grid.waitFor();
    await becomes(firstRow, ['0', '0', 'ä']);
    assert.equal(await status.textContent(), '1,000,000 rows, 2 columns');
    assert.deepEqual(
        await grid.evaluate((one) => [one.ariaRowCount, one.ariaColCount, document.activeElement === one]),
        ['1000001', '3', true],
    );
    assert.match(
        await page.locator('.grid-head').nth(1).getAttribute('aria-label'),
        /^n, int64, from 0 to 999999/,
    );
    await picture('grid');

    await page.keyboard.press('Control+End');
    await becomes(active, 'b "c"');
    assert.ok((await page.locator('.grid-row').count()) < 60, 'only rows in view have elements');
    assert.equal(await page.locator('.grid-row').last().getAttribute('aria-rowindex'), '1000001');
    await page.keyboard.press('Control+Home');
    for (const key of ['ArrowUp', 'ArrowRight', 'Enter', 'Enter']) await page.keyboard.press(key);
    await becomes(() => page.locator('.grid-head').nth(1).getAttribute('aria-sort'), 'descending');
    await becomes(firstRow, ['999999', '999999', 'b "c"']);

    await page.keyboard.press('f');
    await page.getByLabel('Value', { exact: true }).fill('many');
    await page.keyboard.press('Enter');
    await page.getByText("the column n is compared with 'many', which is not a number").waitFor();
    assert.equal(await status.textContent(), '1,000,000 rows, 2 columns', 'the rows stay');
    await page.getByLabel('Condition', { exact: true }).selectOption('is at most');
    await page.getByLabel('Value', { exact: true }).fill('9');
    await page.keyboard.press('Enter');
    await becomes(() => status.textContent(), '10 of 1,000,000 rows, 2 columns');
    assert.deepEqual(await texts('.grid-chip'), ['n ≤ 9']);
    await becomes(firstRow, ['9', '9', 'b "c"']);

    for (const key of ['ArrowDown', 'Shift+ArrowDown', 'Shift+ArrowRight', 'Control+c'])
        await page.keyboard.press(key);
    await page.getByText('Copied 2 rows × 2 columns.').waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), '9\t"b ""c"""\n8\tä\n');
    const coming = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download CSV' }).click();
    const file = await coming;
    assert.equal(file.suggestedFilename(), 'df.csv');
    assert.match(await readFile(await file.path(), 'utf8'), /^,n,kind\n9,9,"b ""c"""\n8,8,ä\n.*\n0,0,ä\n$/s);
    await page.getByRole('button', { name: 'Remove the filter n ≤ 9' }).click();
    await becomes(() => status.textContent(), '1,000,000 rows, 2 columns');
    await page.getByRole('button', { name: 'Copy as CSV' }).click();
    await page.getByText('Copied the first 100,000 of 1,000,000 rows as CSV.').waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(copied, /^,n,kind\n999999,999999,"b ""c"""\n(.*\n)*900000,900000,ä\n$/);
    assert.equal(copied.split('\n').length, 100_002);
    await page.keyboard.press('Escape');
    await grid.waitFor({ state: 'detached' });

    // A data frame of polars, from the variables pane.
    await page.getByRole('button', { name: 'Variables' }).click();
    await page.getByRole('button', { name: 'few', exact: true }).click();
    await page.locator('.whole').getByRole('button', { name: 'Open as grid' }).click();
    await becomes(() => texts('.grid-cell'), ['3', 'missing', '1']);
    await page.locator('.grid-sort').click();
    await becomes(() => texts('.grid-cell'), ['1', '3', 'missing']);
    await page.getByRole('button', { name: 'Close' }).click();

    // An array with three axes: the pane asks for the position on the first one.
    await run('import numpy as np\ncube = np.arange(24).reshape(2, 3, 4)');
    await ran(2);
    await page.getByRole('button', { name: 'cube', exact: true }).click();
    await page.getByLabel('Position on axis 0').fill('1');
    await page
        .locator('.whole', { has: page.getByLabel('Position on axis 0') })
        .getByRole('button', { name: 'Open as grid' })
        .click();
    await page.getByRole('grid', { name: 'cube[1]' }).waitFor();
    await becomes(async () => (await texts('.grid-cell')).slice(-5), ['2', '20', '21', '22', '23']);
    await page.getByRole('button', { name: 'Close' }).click();

    // Any expression, from the palette.
    await page.locator('.cell[data-fresh]').focus();
    await page.keyboard.press('F1');
    await page.locator('#commands li', { hasText: 'Open a DataFrame as a grid…' }).click();
    await page.getByRole('textbox', { name: 'Open as grid' }).fill('few.shape');
    await page.keyboard.press('Enter');
    await page.getByText('is no DataFrame, Series or array, but a tuple').waitFor();
    await page.keyboard.press('Escape');
});

test('the grid works in place of the static table, and moves nothing when rows arrive', {
    skip: lacks('pandas'),
}, async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const frame = 'pd.DataFrame({"n": range(10_000), "t": ["ä", "x\\ry", "a,b"] + ["z"] * 9_997})';
    await run(`import pandas as pd\ndf = ${frame}\ndf`);
    await ran(1);
    await run('1 + 1');
    await ran(2);
    const grid = page.getByRole('grid', { name: 'df' });
    const firstRow = () => texts('.grid-place .grid-row:first-child .grid-cell');
    /** The distances between the grid and the cell below, in all frames. */
    await page.evaluate(() => {
        const seen = (window.distances = new Set());
        const look = () => {
            const place = document.querySelector('.grid-place');
            const below = document.querySelectorAll('.cell')[1];
            if (place) seen.add(below.getBoundingClientRect().top - place.getBoundingClientRect().top);
            requestAnimationFrame(look);
        };
        look();
    });
    await page.getByRole('button', { name: 'Show as grid' }).click();
    await becomes(firstRow, ['0', '0', 'ä']);
    assert.equal(await page.locator('.output .frame').count(), 0, 'the static table is replaced');
    await becomes(() => grid.evaluate((one) => document.activeElement === one), true);
    for (const key of ['Control+End', 'Control+Home', 'ArrowUp', 'ArrowRight', 'Enter', 'Enter'])
        await page.keyboard.press(key);
    await becomes(firstRow, ['9999', '9999', 'z']);
    await page.keyboard.press('f');
    await page.getByLabel('Condition', { exact: true }).selectOption('is at most');
    await page.getByLabel('Value', { exact: true }).fill('2');
    await page.keyboard.press('Enter');
    await becomes(firstRow, ['2', '2', 'a,b']);
    assert.equal(await page.evaluate(() => window.distances.size), 1, 'the cell below did not move');
    await picture('grid-in-place');

    await page.getByRole('button', { name: 'Copy as CSV' }).click();
    await page.getByText('Copied 3 rows as CSV.').waitFor();
    assert.equal(
        await page.evaluate(() => navigator.clipboard.readText()),
        ',n,t\n2,2,"a,b"\n1,1,"x\ry"\n0,0,ä\n',
    );

    // The large grid has the same rows, and its order comes back.
    await page.getByRole('button', { name: 'Open large' }).click();
    const large = page.locator('dialog');
    const firstOfLarge = () => texts('dialog .grid-row:first-child .grid-cell');
    await becomes(firstOfLarge, ['2', '2', 'a,b']);
    await large.getByRole('button', { name: 'Remove the filter n ≤ 2' }).click();
    await becomes(firstOfLarge, ['9999', '9999', 'z']);
    await page.keyboard.press('Escape');
    await large.waitFor({ state: 'detached' });
    await becomes(firstRow, ['9999', '9999', 'z']);

    // The grid and its order stay when the cell is painted again, and after a reload.
    await grid.focus();
    await page.keyboard.press('Escape');
    const cell = page.locator('.cell').first();
    await becomes(() => cell.evaluate((one) => document.activeElement === one), true);
    await page.keyboard.press('o');
    await grid.waitFor({ state: 'detached' });
    await page.keyboard.press('o');
    await becomes(firstRow, ['9999', '9999', 'z']);
    await page.reload();
    await becomes(firstRow, ['9999', '9999', 'z']);
    assert.equal(await grid.evaluate((one) => document.activeElement === one), false, 'it takes no focus');

    await page.getByRole('button', { name: 'Show as table' }).click();
    await page.locator('.output .frame').waitFor();
    assert.equal(await grid.count(), 0);
});

test('a click on a variable shows its entries as a tree, or its picture', {
    skip: lacks('PIL', 'matplotlib'),
}, async () => {
    await run(`from PIL import Image
import matplotlib
matplotlib.use('agg')
from matplotlib.figure import Figure
config = {'model': {'layers': [64, 32]}, 'ids': list(range(250)), 'on': True}
image = Image.new('RGB', (40, 30), 'red')
plot = Figure(figsize=(2, 1))
plot.subplots().plot([1, 3, 2])
plot = plot`);
    await ran(1);
    await page.getByRole('button', { name: 'Variables' }).click();
    await page.getByRole('button', { name: 'config', exact: true }).click();
    const tree = page.getByRole('tree', { name: 'Entries of config' });
    await tree.getByRole('treeitem', { name: "'model', dict, 1 entry" }).click();
    await tree.getByRole('treeitem', { name: "'layers', list, 2 entries" }).click();
    await becomes(() => tree.locator('.leaf').allTextContents(), ['064', '132', "'on'True"]);
    // By keyboard, and in parts of 100 entries.
    await tree.getByRole('treeitem', { name: "'ids', list, 250 entries" }).focus();
    await page.keyboard.press('ArrowRight');
    await tree.getByRole('treeitem', { name: 'Show 100 more of 150' }).click();
    await tree.getByRole('treeitem', { name: 'Show 50 more' }).click();
    await becomes(() => tree.locator('.leaf').count(), 253);
    await page.keyboard.press('ArrowLeft');
    await page.getByRole('button', { name: 'config', exact: true }).click();

    const widthOf = (/** @type {string} */ name) =>
        page.getByAltText(`Picture of ${name}`).evaluate((/** @type {any} */ one) => one.naturalWidth);
    await page.getByRole('button', { name: 'image', exact: true }).click();
    await becomes(() => widthOf('image'), 40);
    await page.getByRole('button', { name: 'plot', exact: true }).click();
    await becomes(() => widthOf('plot'), 160);
    await picture('variables');

    // In a window of 1024 px, the columns show the whole type and shape.
    await page.setViewportSize({ width: 1024, height: 700 });
    const row = page.locator('.variables-pane tr', { hasText: 'image' }).first();
    await becomes(() => row.locator('.type').isVisible(), true);
    assert.equal(await row.locator('.type').evaluate((one) => one.scrollWidth <= one.clientWidth), true);
});

test('outputs can be collapsed into one line, and stay collapsed after a reload', nightly(real), async () => {
    await run('for i in range(30): print(i)');
    await ran(1);
    await prints('29');
    await page.locator('.cell').first().focus();
    await page.keyboard.press('o');
    await page.getByText('Output collapsed: 30 lines').waitFor();
    await page.reload();
    await page.getByText('Output collapsed: 30 lines').waitFor();
    await page.getByRole('button', { name: 'Expand output' }).first().click();
    await prints('29');
});

test('addresses in text are links that send no referrer', real, async () => {
    await run('print("see https://example.org/a?b=1.")');
    await ran(1);
    const link = page.locator('.stream a');
    assert.deepEqual(await link.evaluate((one) => [one.href, one.rel, one.target]), [
        'https://example.org/a?b=1',
        'noopener noreferrer',
        '_blank',
    ]);
});

test('the page follows the end of a running cell until the user scrolls away', real, async () => {
    await run('for i in range(40): print("before", i)');
    await ran(1);
    const below = () =>
        page.evaluate(() => {
            const cell = document.querySelector('[data-status="running"]');
            return (
                cell &&
                Math.round(
                    cell.getBoundingClientRect().bottom -
                        document.querySelector('main').getBoundingClientRect().bottom,
                )
            );
        });
    const lines = (from, to) =>
        `for i in range(${from}, ${to}): print("line", i, file=(sys.stdout, sys.stderr)[i // 10 % 2])`;
    const parts = [lines(0, 301), untilReleased('go 300'), lines(301, 601), untilReleased('go 600')];
    await run(['import sys', ...parts].join('\n'), 'Control+Enter');
    await prints('line 300');
    await page.waitForFunction(
        () =>
            document.querySelector('[data-status="running"]').getBoundingClientRect().bottom <=
            document.querySelector('main').getBoundingClientRect().bottom,
    );
    assert.ok((await below()) <= 0, 'followed');
    await page.locator('main').hover();
    await page.mouse.wheel(0, -600);
    await page.getByRole('button', { name: '↓ Follow' }).waitFor();
    const top = await page.evaluate(() => document.querySelector('main').scrollTop);
    await release('go 300');
    await prints('line 600');
    const moved = (await page.evaluate(() => document.querySelector('main').scrollTop)) - top;
    assert.ok(Math.abs(moved) < 60, `the page stays where the user scrolled, but moved by ${moved} px`);
    await picture('follow');
    await page.getByRole('button', { name: '↓ Follow' }).click();
    assert.ok((await below()) <= 0, 'followed again');
    await release('go 600');
    await ran(2);
});

test(
    'output that is cleared and printed again does not make the cells below jump',
    nightly(real),
    async () => {
        await run(
            `${IN}import time\nfor i in range(12):\n    clear_output()\n    for k in range(20): print("row", k)\n    time.sleep(0.05)`,
            'Control+Enter',
        );
        const lowest = await page.evaluate(
            () =>
                new Promise((done) => {
                    let lowest = Infinity;
                    let seen = false;
                    const look = () => {
                        const place = document.querySelector('.outputs');
                        if (place?.offsetHeight > 300) seen = true;
                        if (seen) lowest = Math.min(lowest, place?.offsetHeight ?? 0);
                        if (
                            document.querySelector('.cell[data-kind="ran"]') &&
                            !document.querySelector('[data-status="running"]')
                        )
                            done(lowest);
                        else requestAnimationFrame(look);
                    };
                    look();
                }),
        );
        assert.ok(lowest > 300, `${lowest} px`);
    },
);

test('wide outputs do not make the page wider than a phone', nightly(real), async () => {
    await run(`${IN}print("a" * 300)\ndisplay(Latex("$" + "x + " * 60 + "1$"))\n{"a": [1, 2]}`);
    await ran(1);
    await page.waitForSelector('.katex');
    const small = await open(page.url(), {
        viewport: { width: 360, height: 740 },
        colorScheme: 'dark',
        storageState: await page.context().storageState(),
    });
    await small.waitForSelector('.katex');
    const wide = await small.evaluate(
        () =>
            document.documentElement.scrollWidth -
            innerWidth +
            document.querySelector('main').scrollWidth -
            document.querySelector('main').clientWidth,
    );
    assert.equal(wide, 0, 'nothing makes the page wider than the phone');
    await picture('phone', small);
});

test(
    'outputs of an imported file are grey, and say that the cell has not run here',
    nightly(real),
    async () => {
        const cell = {
            cell_type: 'code',
            id: 'a',
            metadata: {},
            source: 'print(1)',
            execution_count: 1,
            outputs: [{ output_type: 'stream', name: 'stdout', text: 'from elsewhere\n' }],
        };
        const file = { nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [cell] };
        const answer = await page.request.post(new URL('/api/notebooks/import?name=taken', page.url()).href, {
            data: file,
            headers: { origin: new URL(page.url()).origin },
        });
        assert.ok(answer.ok(), await answer.text());
        const { name } = await answer.json();
        await page.goto(new URL(`/n/${name}`, page.url()).href);
        await page.getByText('Output of the imported file; the cell has not run here').waitFor();
        await prints('from elsewhere');
        await picture('imported');
        const shown = () => texts('.output .stream');
        const first = page.locator('.cell').first();
        // What was deleted comes back with its output.
        await first.focus();
        for (const key of ['d', 'd']) await page.keyboard.press(key);
        await becomes(shown, []);
        await page.keyboard.press('z');
        await becomes(shown, ['from elsewhere']);
        await page.getByText('Output of the imported file; the cell has not run here').waitFor();
        // So it does when all outputs were cleared.
        await page.getByRole('button', { name: 'More' }).click();
        await page.getByRole('menuitem', { name: 'Clear all outputs' }).click();
        await becomes(shown, []);
        await becomes(() => texts('.cell[data-kind="draft"]:not([data-fresh]) .cm-line'), ['print(1)']);
        await page.getByRole('button', { name: 'Undo', exact: true }).click();
        await becomes(shown, ['from elsewhere']);
        await page.reload();
        await becomes(shown, ['from elsewhere']);
    },
);

test('the outputs of an earlier version are dimmed, also those in frames', nightly(real), async () => {
    await run('from IPython.display import HTML\nHTML("<b>framed</b>")', 'Control+Enter');
    await ran(1);
    await page.locator('.frame-place[data-ready]').waitFor();
    for (const key of ['0', '0']) await page.keyboard.press(key);
    const frame = page.locator('.stale .frame-place[data-ready]');
    await frame.waitFor();
    assert.equal(await frame.evaluate((one) => getComputedStyle(one).opacity), '0.65');
});

test('the columns of a Markdown table are aligned as it says', async () => {
    await page.locator('.cell[data-fresh]').getByRole('button', { name: 'Text' }).click();
    await page.keyboard.insertText('|a|b|c|d|\n|---|:--|:-:|--:|\n|one|two|three|four|');
    await page.keyboard.press('Shift+Enter');
    await page.waitForSelector('.prose td');
    const sides = (tag) =>
        page.$$eval(`.prose ${tag}`, (all) =>
            all.map((one) => getComputedStyle(one).textAlign.replace(/^-webkit-/, '')),
        );
    assert.deepEqual(await sides('td'), ['start', 'left', 'center', 'right']);
    assert.deepEqual(await sides('th'), ['left', 'left', 'center', 'right']);
});

test('the find bar and the buttons beside an output cover nothing', nightly(), async () => {
    await run('print("word " * 200)');
    await ran(1);
    for (const width of [1440, 1024]) {
        await page.setViewportSize({ width, height: 800 });
        const output = page.locator('.output').first();
        await output.hover();
        const copy = await output.getByRole('button', { name: 'Copy output' }).boundingBox();
        const text = await output.locator('.text').boundingBox();
        assert.ok(copy.x >= text.x + text.width, `at ${width} px`);
        assert.ok(copy.x + copy.width <= width);
        await page.keyboard.press('Control+f');
        await page.waitForSelector('.find-panel input:focus');
        const [bar, cells] = [
            await page.locator('.find-panel').boundingBox(),
            await page.locator('main').boundingBox(),
        ];
        assert.ok(bar.y + bar.height <= cells.y, `at ${width} px`);
        await page.keyboard.press('Escape');
    }
});

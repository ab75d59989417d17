// Complete user stories on the real server. With RATOON_SHOTS=DIR, saves a screenshot of each step
// in DIR, for inspection (CONTRIBUTING.md). Related tests are in other files:
//
// - comparing branches: compare.test.mjs
// - replaying the rest after an early change: editing.test.mjs (by keys)
// - kill -9 of the server in the middle of a run: durable.test.mjs
// - two people: people.test.mjs
// - a view link: people.test.mjs presses every control ("a viewer has no control …")
// - unusual files: home.test.mjs
// - each key: editing.test.mjs, keys.test.mjs, graph.test.mjs
// - other widths, and fingers: sizes.test.mjs
// - a graph of 10,000 states: graph.test.mjs
// - isolated outputs: isolation.test.mjs
// - access that ends, and a full disk: banners.test.mjs

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startBinary } from './binary.mjs';
import { becomes, IN_FULL, nightly } from './browser.mjs';
import {
    choose,
    drafts,
    focused,
    forgive,
    onBranch,
    open,
    page,
    prints,
    ran,
    release,
    rows,
    run,
    sees,
    server,
    test,
    testOnOwnServer,
    testWithoutPage,
    texts,
    untilReleased,
} from './harness.mjs';

const GALLERY = fileURLToPath(new URL('../gallery/notebook.py', import.meta.url));

before(() =>
    assert.ok(
        process.env.RATOON_BIN && process.env.RATOON_TEST_PYTHON,
        'stories need the real server and the tests’ Python: tests/run browser',
    ),
);

async function shot(name, on = page) {
    if (!process.env.RATOON_SHOTS) return;
    await mkdir(process.env.RATOON_SHOTS, { recursive: true });
    await on.screenshot({ path: join(process.env.RATOON_SHOTS, `${name}.png`) });
}

/** Changes a cell that ran, or a draft, and runs it. */
async function change(cell, code, key = 'Shift+Enter') {
    await page.locator('.cell').nth(cell).locator('.cm-content').click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(code);
    await page.keyboard.press(key);
}

const row = (text, on = page) => on.locator('.row', { hasText: text });
const fits = (on = page) =>
    on.evaluate(
        () =>
            document.documentElement.scrollWidth <= innerWidth &&
            document.querySelector('main').scrollWidth <= document.querySelector('main').clientWidth,
    );
/** Waits until `count` images have loaded. */
const drawn = (count, on = page) =>
    on.waitForFunction(
        (n) =>
            [...document.querySelectorAll('.outputs img, .compare img')].filter(
                (/** @type {HTMLImageElement} */ one) => one.complete && one.naturalWidth > 100,
            ).length >= n,
        count,
    );
const inGallery = async (...words) =>
    JSON.parse((await promisify(execFile)(process.env.RATOON_TEST_PYTHON, [GALLERY, ...words])).stdout);

testOnOwnServer('on a first visit, typed code runs, and the graph shows it', nightly(), async () => {
    assert.ok(!page.url().includes('token'));
    await focused([0, 'editor']);
    await shot('first-1-empty');
    await page.keyboard.type('print("hello")\n6 * 7');
    await page.keyboard.press('Shift+Enter');
    await ran(1);
    assert.deepEqual(await texts('.stream'), ['hello', '42']);
    assert.deepEqual(await rows(), ['Start', '6 * 7']);
    await focused([1, 'editor']);
    await shot('first-2-result');
    await page.keyboard.type('1 / 0');
    await page.keyboard.press('Shift+Enter');
    await sees('ZeroDivisionError');
    await shot('first-3-error');
    await page.reload();
    await ran(1);
    await sees('ZeroDivisionError');
    await page.getByRole('link', { name: 'All notebooks' }).click();
    await page.waitForSelector('.notebooks a');
    assert.deepEqual(await texts('.notebooks a'), ['main']);
    await shot('first-4-home');
});

/**
 * A person types about five keys a second and pauses before each step. Only the nightly run is this
 * slow. In milliseconds.
 */
const PACE = IN_FULL ? { key: 200, look: 1500 } : { key: 10, look: 100 };

test('the README’s sixty seconds work step by step, and are timed', async (t) => {
    const readme = await readFile(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8');
    const steps = readme.match(/^## Sixty seconds\n(.*?)^## /ms)[1];
    const [price, first, second] = [...steps.matchAll(/`([^`]*)`(?= and press Shift-Enter)/g)].map(
        ([, code]) => code,
    );
    assert.deepEqual(
        [price, first, second],
        ['price = 10', 'print(price * 3)', 'print(price * 4)'],
        'the steps that this test performs',
    );
    assert.match(steps, /Point at the first cell and press \*Branch\*, or click its dot/);
    const began = performance.now();
    const types = async (code) => {
        await page.waitForTimeout(PACE.look);
        await page.keyboard.type(code, { delay: PACE.key });
        await page.keyboard.press('Shift+Enter');
    };
    await focused([0, 'editor']);
    await types(price);
    await ran(1);
    assert.deepEqual(await rows(), ['Start', price]);
    await types(first);
    await prints('30');
    await page.waitForTimeout(PACE.look);
    await page.locator('.cell').first().hover();
    await page.locator('.cell').first().getByRole('button', { name: 'Branch' }).click();
    await ran(1);
    await focused([1, 'editor']);
    await types(second);
    await prints('40');
    await ran(2);
    const took = (performance.now() - began) / 1000;
    t.diagnostic(`${took.toFixed(1)} s at ${1000 / PACE.key} keys a second`);
    const lanes = await page.$$eval('.mark', (all) =>
        all.map((one) => one.style.transform.match(/\((\d+)/)[1]),
    );
    assert.equal(new Set(lanes).size, 2, 'the second branch has a lane of its own');
    await row(first).click();
    await prints('30');
    await row(second).click();
    await prints('40');
    await shot('minute-1-branches');
});

test('the tour’s keys lead to a branch without a mouse', nightly(), async () => {
    const tour = await readFile(fileURLToPath(new URL('../../docs/tour.md', import.meta.url)), 'utf8');
    const keys = tour
        .match(/the\s+state before the current one, press\s+([^.]*)\./)[1]
        .replaceAll('`', '')
        .split(/,\s+/);
    assert.deepEqual(keys, ['Esc', 'g', 'left arrow', 'Enter', 'Enter']);
    const lead = async () => {
        for (const key of keys)
            await page.keyboard.press({ Esc: 'Escape', 'left arrow': 'ArrowLeft' }[key] ?? key);
    };
    await run('price = 10');
    await ran(1);
    await run('print(price * 3)');
    await ran(2);
    await prints('30');
    await lead();
    await focused([1, 'editor']);
    await page.keyboard.type('print(price * 4)');
    await page.keyboard.press('Shift+Enter');
    await prints('40');
    assert.deepEqual(await rows(), ['Start', 'price = 10', 'print(price * 4)', 'print(price * 3)']);
    // The page is now at the end of the new branch. The same keys lead back from there.
    await ran(2);
    await lead();
    await focused([1, 'editor']);
    await page.keyboard.type('print(price * 5)');
    await page.keyboard.press('Shift+Enter');
    await prints('50');
    assert.deepEqual(await rows(), [
        'Start',
        'price = 10',
        'print(price * 4)',
        'print(price * 5)',
        'print(price * 3)',
    ]);
});

test(
    'Enter, Enter in the graph also leads from the current state to the empty cell, and inserts no line',
    nightly(),
    async () => {
        await run('price = 10');
        await ran(1);
        for (const key of ['Escape', 'g', 'Enter', 'Enter']) await page.keyboard.press(key);
        await focused([1, 'editor']);
        assert.equal(await page.locator('.cell[data-fresh] .cm-line').count(), 1);
        await page.keyboard.insertText('x = 1');
        await page.waitForFunction(
            () =>
                [...document.querySelectorAll('.cell[data-kind="draft"]')][0].querySelector('.cm-content')
                    .textContent === 'x = 1',
        );
    },
);

const LOAD =
    'import numpy as np, pandas as pd, matplotlib.pyplot as plt\nrng = np.random.default_rng(7)\ndf = pd.DataFrame({"x": np.linspace(0, 6, 80)})\ndf["y"] = np.sin(df.x) + rng.normal(0, 0.25, 80)\ndf.head(3)';
const fit = (degree) =>
    `degree = ${degree}\nfitted = np.polyval(np.polyfit(df.x, df.y, degree), df.x)\nprint(f"error {((df.y - fitted) ** 2).mean():.3f}")`;
const PLOT =
    'plt.figure(figsize=(5, 2.4))\nplt.plot(df.x, df.y, ".", df.x, fitted); plt.title(f"degree {degree}");';

test(
    'two models of the same data can be edited, run as branches, and compared side by side',
    nightly(),
    async () => {
        for (const [i, code] of [LOAD, fit(1), PLOT].entries()) {
            await run(code);
            await ran(i + 1);
        }
        await drawn(1);
        await change(1, fit(5));
        await ran(2);
        await onBranch(2, 2);
        await page.getByRole('button', { name: /Run \d cells? below/ }).click();
        await ran(3);
        await drawn(1);
        await shot('compare-1-branch');
        assert.equal((await rows()).length, 6);
        const lanes = await page.$$eval('.mark', (all) =>
            all.map((one) => one.style.transform.match(/\((\d+)/)[1]),
        );
        assert.equal(new Set(lanes).size, 2);
        await page
            .locator('.row')
            .nth(5)
            .click({ modifiers: ['Shift'] });
        await page.waitForSelector('.compare .diff-line');
        await page.locator('.compare-value', { hasText: 'degree' }).first().waitFor();
        await drawn(2);
        assert.match(await page.locator('.compare').textContent(), /degree.*error.*degree/s);
        await shot('compare-2-side-by-side');
        await page
            .locator('.compare-page, .compare')
            .first()
            .evaluate((one) => (one.closest('main') ?? one).scrollTo(0, 1e6));
        await shot('compare-3-outputs');
        await page.keyboard.press('Escape');
        await ran(3);
    },
);

test('after a change of an early cell, one button replays the rest, and the old lineage stays', async () => {
    for (const [i, code] of ['price = 10', 'total = price * 3', 'print("total", total)'].entries()) {
        await run(code);
        await ran(i + 1);
    }
    await change(0, 'price = 20');
    await ran(1);
    await shot('replay-1-the-rest-waits');
    // What was on the page stays, marked as stale, also after a reload.
    const stale = () => texts('.cell[data-kind="draft"] .stale .stream');
    await becomes(stale, ['total 30']);
    await page.locator('.notes', { hasText: 'Stale: from the earlier version' }).waitFor();
    await page.reload();
    await becomes(stale, ['total 30']);
    await page.getByRole('button', { name: 'Run 2 cells below' }).click();
    await ran(3);
    assert.deepEqual(await texts('.stream'), ['total 60']);
    assert.deepEqual(await stale(), []);
    await shot('replay-2-replayed');
    await page.locator('.row').nth(6).click();
    await prints('total 30');
    assert.deepEqual(await rows(), [
        'Start',
        'price = 20',
        'total = price * 3',
        'print("total", total)',
        'price = 10',
        'total = price * 3',
        'print("total", total)',
    ]);
});

test('a branch begins beside a cell that runs: after a click on the state, by its button, by the key', async () => {
    // Not `ran`: cells of other branches run meanwhile.
    const shows = (...outputs) =>
        page.waitForFunction(
            (wanted) =>
                [...document.querySelectorAll('.cell[data-kind="ran"] .stream')]
                    .map((one) => one.textContent.trim())
                    .join() === wanted,
            outputs.join(),
        );
    await run('x = 1\nprint("base")');
    await ran(1);
    const base = page.locator('.row').nth(1);
    await run(`${untilReleased('one may end')}\nprint("one")`);
    await row('one may end').and(page.locator('[data-status="running"]')).waitFor();

    await base.click();
    await page.waitForSelector('.cell[data-status="running"]', { state: 'detached' });
    await run('print("two")');
    await shows('base', 'two');

    await page.locator('.cell').first().hover();
    await page.locator('.cell').first().getByRole('button', { name: 'Branch' }).click();
    await focused([1, 'editor']);
    await shot('branch-1-from-the-button');
    await page.keyboard.insertText('print("three")');
    await page.keyboard.press('Shift+Enter');
    await shows('base', 'three');

    await run(`${untilReleased('four may end')}\nprint("four")`);
    await row('four may end').and(page.locator('[data-status="running"]')).waitFor();
    await run('print("five")', 'Control+Alt+Enter');
    await shows('base', 'three', 'five');
    await shot('branch-2-beside-two-that-run');

    for (const name of ['one may end', 'four may end']) await release(name);
    await page.waitForSelector('.row[data-status="running"]', { state: 'detached' });
    assert.deepEqual(await texts('.stream'), ['base', 'three', 'five'], 'the page stays where it was');
    await row('while not').filter({ hasText: 'one may end' }).click();
    await shows('base', 'one');
});

test('variants of a cell run at once as branches; versions, prose and later drafts go with each', async () => {
    const editors = page.locator('dialog .variants .cm-content');
    const type = async (at, text) => {
        await editors.nth(at).click();
        await page.keyboard.press('Control+A');
        await page.keyboard.insertText(text);
    };
    await run('x = 6');
    await ran(1);
    await drafts('print(x * 1)', 'print("below", x)');
    await page.locator('.cell').nth(1).locator('.cm-content').click();
    await page.keyboard.press('Control+Alt+Shift+Enter');
    await page.waitForSelector('dialog .variants');
    await page.getByRole('button', { name: 'Run 1 variant' }).waitFor();
    await type(1, 'print(x * 2)');
    await page.getByRole('button', { name: 'Run 2 variants' }).waitFor();
    await page.getByRole('button', { name: 'Add variant' }).click();
    await type(2, 'raise ValueError("three")');
    await shot('variants-1-dialog');

    // A closed dialog loses nothing.
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog', { state: 'detached' });
    await choose(1, 'Try variants');
    await page.waitForSelector('dialog .variants');
    assert.deepEqual(await editors.allTextContents(), [
        'print(x * 1)',
        'print(x * 2)',
        'raise ValueError("three")',
    ]);
    await type(0, 'print(x * 7)');
    await page.keyboard.press('Control+Enter');
    await prints('42');
    await ran(2);
    const tabs = () => page.locator('.branch-tab').count();
    const tab = () => texts('.branch-tab[aria-selected="true"] .told');
    await becomes(tab, ['print(x * 7)']);
    // The variant that fails keeps its tab, which says so.
    await becomes(tabs, 3);
    const failed = page.locator('.branch-tab[data-status="error"]');
    assert.match(await failed.textContent(), /^raise ValueError.*failed$/);
    assert.deepEqual((await rows()).toSorted(), [
        'Start',
        'print(x * 2)',
        'print(x * 7)',
        'raise ValueError("three")',
        'x = 6',
    ]);
    const below = () =>
        page.locator('.cell[data-kind="draft"]:not([data-fresh]) .cm-content').allTextContents();
    await becomes(below, ['print("below", x)']);
    await shot('variants-2-first');
    await failed.click();
    await sees('ValueError');
    await becomes(tabs, 3);
    await page.getByRole('button', { name: 'Edit a copy' }).click();
    await page.keyboard.press('Control+End');
    await page.keyboard.insertText(' # no');
    await becomes(below, ['raise ValueError("three") # no']);
    await shot('variants-2-failed');
    await page.keyboard.press('Escape');
    await page.keyboard.press('d');
    await page.keyboard.press('d');
    await becomes(below, []);
    await row('print(x * 2)').click();
    await prints('12');
    await becomes(tab, ['print(x * 2)']);
    await becomes(tabs, 3);
    await becomes(below, ['print("below", x)']);

    // Variants of a cell that ran are new versions of it; the cells below become drafts.
    await page.locator('.cell').nth(0).hover();
    await choose(0, 'Try variants');
    await page.waitForSelector('dialog .variants');
    await type(1, 'x = 100');
    await page.getByRole('button', { name: 'Run 1 variant (1 ran before)' }).click();
    // The first is the cell as it ran, so only the second runs.
    await page.locator('.notice', { hasText: 'One variant has run here before' }).waitFor();
    await row('x = 100').click();
    await ran(1);
    await becomes(tab, ['x = 100']);
    await becomes(tabs, 2);
    await becomes(below, ['print(x * 2)', 'print("below", x)']);
    await shot('variants-3-of-a-cell-that-ran');
});

test(
    'the table of branches evaluates expressions, marks the best, goes to a branch and compares rows',
    nightly(),
    async () => {
        await run('x = 2');
        await ran(1);
        for (const power of [2, 5, 3]) {
            await page.locator('.row').nth(1).click();
            await ran(1);
            await run(`score = x ** ${power}`);
            await ran(2);
        }
        await page.getByRole('button', { name: 'Show the table of branches' }).click();
        const add = async (column) => {
            await page.locator('.branches-add input').fill(column);
            await page.keyboard.press('Enter');
        };
        const table = () =>
            page.$$eval('.branches tbody tr', (all) =>
                all.map((row) => [
                    row.querySelector('b').textContent,
                    ...[...row.querySelectorAll('[data-value]')].map((cell) => cell.textContent),
                    row.dataset.extreme === undefined ? '' : 'best',
                ]),
            );
        const scores = async () => (await table()).map(([, score]) => score);
        await add('score');
        await becomes(table, [
            ['score = x ** 5', '32', 'best'],
            ['score = x ** 3', '8', ''],
            ['score = x ** 2', '4', ''],
        ]);
        await add('1 / (score - 8)');
        await becomes(table, [
            ['score = x ** 5', '32', '0.041666666666666664', 'best'],
            ['score = x ** 2', '4', '-0.25', ''],
            ['score = x ** 3', '8', 'ZeroDivisionError: division by zero', ''],
        ]);
        await shot('table-1-of-branches');
        await page.getByRole('button', { name: 'score', exact: true }).click();
        await page.getByRole('button', { name: 'score', exact: true }).click();
        await becomes(
            async () => (await table()).map(([name]) => name),
            ['score = x ** 2', 'score = x ** 3', 'score = x ** 5'],
        );
        await page.keyboard.press('Escape');

        // The columns stay; the values are those of the states, which no expression changes.
        await page.locator('#graph').focus();
        await page.keyboard.press('t');
        await becomes(scores, ['4', '8', '32']);
        await page.locator('.branches tbody tr').first().getByRole('checkbox').check();
        await page.locator('.branches tbody tr').last().getByRole('checkbox').check();
        await page.locator('dialog').getByRole('button', { name: 'Compare', exact: true }).click();
        await page.waitForSelector('.compare .diff-line');
        await page.keyboard.press('Escape');
        await page.waitForSelector('.compare', { state: 'detached' });

        // Three and more: a state that ends no branch is added to the table from the graph.
        await page.locator('.row').nth(1).click({ button: 'right' });
        await page.getByRole('menuitem', { name: 'Add to the table of branches' }).click();
        await page.locator('.notice').getByRole('button', { name: 'Show table' }).click();
        await becomes(scores, ['4', '8', '32', '']);
        for (const box of await page.locator('.branches tbody').getByRole('checkbox').all())
            await box.check();
        await page.locator('dialog').getByRole('button', { name: 'Compare', exact: true }).click();
        await page.getByRole('heading', { name: 'Compare 4 states' }).waitFor();
        await becomes(() => texts('.side-card .letter'), ['A', 'B', 'C', 'D']);
        await becomes(async () => (await texts('.row .letter')).sort(), ['A', 'B', 'C', 'D']);
        const names = await texts('.side-card .card-name');
        assert.equal(new Set(names).size, 4, names.join());
        await becomes(
            () => texts('.compare-value:first-of-type .many-cell :is(.preview, .from-to code, .hint)'),
            ['4', '8', '32', 'No such variable'],
        );
        await shot('compare-four-states');
        await page.reload();
        await page.getByRole('button', { name: 'Take A out of the comparison' }).click();
        await page.getByRole('heading', { name: 'Compare 3 states' }).waitFor();
        await page.getByRole('button', { name: 'Add a state…' }).click();
        await page.locator('.state-list button').first().click();
        await page.getByRole('heading', { name: 'Compare 4 states' }).waitFor();
        await page.keyboard.press('Escape');
        await page.waitForSelector('.compare', { state: 'detached' });
        await page.locator('#graph').focus();
        await page.keyboard.press('t');
        await becomes(scores, ['4', '8', '32', '']);
        await page.getByRole('button', { name: /^Remove .* from the table$/ }).click();
        await becomes(
            async () => (await table()).map(([name]) => name),
            ['score = x ** 2', 'score = x ** 3', 'score = x ** 5'],
        );
        await page.locator('.branches tbody tr').first().locator('.branch-name').click();
        await page.waitForSelector('dialog', { state: 'detached' });
        await ran(2);
        await becomes(
            async () => (await page.locator('.row[data-here] .what').textContent()).includes('2'),
            true,
        );
    },
);

test('the table of branches offers columns, filters, compares with a baseline, and travels by its address', async () => {
    await run('x = 2');
    await ran(1);
    for (const power of [2, 5, 3]) {
        await page.locator('.row').nth(1).click();
        await ran(1);
        await run(`score = x ** ${power}\nsame = 1`);
        await ran(2);
    }
    await page.locator('#graph').focus();
    await page.keyboard.press('t');
    const cells = (selector, on = page) => texts(`.branches tbody ${selector}`, on);
    await becomes(
        () => cells('.code'),
        [5, 3, 2].map((power) => `score = x ** ${power}`),
    );
    await becomes(() => texts('.branches-offered code'), ['score']);
    await page.getByRole('button', { name: 'Add the column score' }).click();
    await becomes(() => cells('[data-value]'), ['32', '8', '4']);
    await becomes(() => texts('.branches-offered code'), []);

    // Memory and run time.
    const heads = ['Branch', 'score', 'Differing code', 'Run time', 'Memory', 'Created'];
    assert.deepEqual(await texts('.branches thead th'), heads);
    await becomes(
        async () => (await cells('td:nth-child(6)')).every((text) => /^\d.* [kM]B$/.test(text)),
        true,
    );
    assert.ok((await cells('td:nth-child(5)')).every((text) => /^(<|\d).* m?s$/.test(text)));

    // The baseline comes first, and stays when a filter hides other rows.
    await page.getByRole('button', { name: 'Make score = x ** 3 the baseline' }).click();
    await becomes(() => cells('[data-value]'), ['8', '32+24 (+300 %)', '4−4 (−50 %)']);
    await becomes(() => cells('.code'), ['score = x ** 5', 'score = x ** 2']);
    await page.locator('.branches-filter').fill('score > 10');
    await becomes(() => cells('[data-value]'), ['8', '32+24 (+300 %)']);
    await page.locator('dialog p', { hasText: '1 of 3 rows matches the filter' }).waitFor();

    // A reload and a link show the same table. Expressions of a link run only after a question.
    await page.locator('.branches-add input').fill('[score, 0][0] + 1');
    await page.keyboard.press('Enter');
    const shown = ['8', '9', '32+24 (+300 %)', '33+24 (+267 %)'];
    await becomes(() => cells('[data-value]'), shown);
    await page.reload();
    await becomes(() => cells('[data-value]'), shown);
    const address = page.url();
    const other = await open(server.url);
    await other.evaluate((to) => (location.hash = to), new URL(address).hash);
    await becomes(() => cells('[data-value]', other), ['8', '32+24 (+300 %)']);
    await becomes(() => cells('tr:first-child .pending', other), ['not run yet', '–']);
    await other.locator('.branches-question', { hasText: '[score, 0][0] + 1' }).getByRole('button').click();
    await becomes(() => cells('[data-value]', other), shown);

    // Closing returns to the state; Back opens the table again.
    await page.getByRole('button', { name: 'Close' }).click();
    await page.waitForSelector('dialog', { state: 'detached' });
    assert.doesNotMatch(page.url(), /branches/);
    await page.goBack();
    await becomes(() => cells('[data-value]'), shown);
    await page.locator('.branch-name').first().click();
    await page.waitForSelector('dialog', { state: 'detached' });
    await becomes(async () => (await texts('.row[data-here] .what'))[0], 'score = x ** 3');
});

test('variables of another branch are taken into a new state; what both changed is decided', async () => {
    await run('x, k, model = 1, 1, "none"');
    await ran(1);
    await run('k = 2; own = 5');
    await ran(2);
    await row('x, k, model').click();
    await ran(1);
    await run('k = 3; model = "best"; kept = [model]; del x');
    await ran(2);
    // Stand at the first branch, and take from the second.
    await row('own = 5').click();
    await page.waitForFunction(() => document.querySelector('.notebook')?.textContent.includes('own = 5'));
    await row('model = "best"').click({ button: 'right' });
    await page.getByRole('menuitem', { name: 'Take variables…' }).click();
    const dialog = page.locator('dialog');
    await dialog.getByText('Both changed it').waitFor();
    const group = (name) => dialog.getByRole('group', { name: `What to do with ${name}` });
    assert.deepEqual(await texts('dialog .take-name'), ['k', 'kept', 'model', 'x']);
    await group('model').getByText("'none'").waitFor();
    await group('x').getByText('Deletes it').waitFor();
    const act = dialog.locator('[data-main]');
    assert.deepEqual([await act.textContent(), await act.isDisabled()], ['Take 3 variables', true]);
    await shot('take-1-dialog');
    await group('k').getByLabel('Keep both, as k_b').check();
    await group('x').getByLabel('Leave').check();
    await act.click();
    await page.waitForSelector('dialog', { state: 'detached' });
    await ran(3);
    await run('print(x, k, k_b, model, kept, own)');
    await prints("1 2 3 best ['best'] 5");
    await page.locator('.taken-edge').waitFor({ state: 'attached' });
    await row('%take k as k_b, kept, model from').waitFor();
    await shot('take-2-taken');

    // The other way round nothing is left to take but what the first branch has changed.
    await row('model = "best"').click({ button: 'right' });
    await page.getByRole('menuitem', { name: 'Take variables…' }).click();
    await group('x').waitFor();
    await dialog.getByRole('button', { name: 'Swap the two states' }).click();
    await group('own').waitFor();
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog', { state: 'detached' });

    // In a comparison, one variable is taken beside its values: A is the first branch.
    await row('own = 5').click();
    await row('model = "best"').click({ modifiers: ['Shift'] });
    await page.getByRole('button', { name: 'Take model of B into A' }).waitFor();
    await shot('take-3-compare');
    await page.getByRole('button', { name: 'Take model of B into A' }).click();
    await group('kept').getByLabel('Leave').waitFor();
    assert.equal(await group('kept').getByLabel('Leave').isChecked(), true);
    assert.equal(await group('model').getByLabel('Take', { exact: true }).isChecked(), true);
    await act.click();
    await page.waitForSelector('dialog', { state: 'detached' });
    await run('print(model, k, "kept" in globals())');
    await prints('best 2 False');
});

test('after a reload in the middle of a run, output continues and nothing is lost', nightly(), async () => {
    const lines = 30;
    const first = 'for i in range(10): print("line", i)';
    const rest = `for i in range(10, ${lines}): print("line", i)`;
    await run([first, untilReleased('reloaded'), rest, untilReleased('seen again')].join('\n'));
    await prints('line 9');
    await page.keyboard.insertText('after = "typed while it ran"');
    await sees('typed while it ran');
    await page.reload();
    await page.waitForSelector('.cell[data-status="running"]');
    await prints('line 9');
    await release('reloaded');
    await prints(`line ${lines - 1}`);
    await shot('reload-1-still-running');
    await page.reload();
    await release('seen again');
    await ran(1);
    assert.deepEqual(await texts('.stream'), [
        Array.from({ length: lines }, (_, i) => `line ${i}`).join('\n'),
    ]);
    assert.deepEqual(await texts('.cell[data-kind="draft"]:not([data-fresh]) .editor'), [
        'after = "typed while it ran"',
    ]);
    await shot('reload-2-whole');
});

test('a viewer sees everything live and cannot run cells', nightly(), async () => {
    await run('print("for all to see")');
    await ran(1);
    await page.getByRole('button', { name: 'Share' }).click();
    await page.getByRole('radio', { name: /can view/ }).check();
    await page.getByRole('button', { name: 'Create and copy link' }).click();
    const link = await page.getByLabel('Link', { exact: true }).inputValue();
    await shot('view-1-the-link');
    await page.keyboard.press('Escape');
    const guest = await open(link);
    await ran(1, guest);
    await prints('for all to see', guest);
    assert.equal(await guest.locator('.cm-content[contenteditable="true"], .cell[data-fresh]').count(), 0);
    assert.equal(await guest.getByRole('button', { name: /^(Run|Share|Stop)$/ }).count(), 0);
    await guest.locator('.cell').first().focus();
    for (const key of ['Shift+Enter', 'b', 'd', 'd', 'Control+Enter']) await guest.keyboard.press(key);
    const refused = await guest.evaluate(() => {
        const post = (path, body) =>
            fetch(path, {
                method: 'POST',
                headers: { 'content-type': 'application/json' },
                body: JSON.stringify(body),
            }).then(({ status }) => status);
        return Promise.all([
            post('/execute', { exec_id: 'theirs', state_name: 'initial', code: 'open("taken", "w")' }),
            post('/api/notebooks/main/commands', {
                command: 'run',
                exec_id: 'theirs2',
                on: { state: 'initial' },
                code: '1',
            }),
            post('/api/links', { scope: 'run' }),
            fetch('/states/initial', { method: 'DELETE' }).then(({ status }) => status),
        ]);
    });
    assert.ok(
        refused.every((status) => status === 403 || status === 400) &&
            refused.filter((status) => status === 403).length >= 3,
        refused.join(),
    );
    forgive(guest, /status of 40[03]/);
    await run(`print("live")\n${untilReleased('the guest looks')}\nprint("to the end")`);
    await guest.locator('.row').nth(2).click();
    await prints('live', guest);
    await release('the guest looks');
    await prints('live\nto the end', guest);
    await ran(2, guest);
    await shot('view-2-the-guest', guest);
    for (const on of [page, guest]) await on.locator('.row').nth(3).waitFor();
    assert.deepEqual(await rows(guest), await rows());
    assert.equal((await rows()).length, 4);
});

testOnOwnServer(
    'a notebook of scikit-learn’s gallery can be imported, run, and exported as valid nbformat',
    nightly(),
    async (t) => {
        const dir = await mkdtemp(join(tmpdir(), 'ratoon-gallery-'));
        t.after(() => rm(dir, { recursive: true, force: true }));
        const theirs = await inGallery('make', join(dir, 'gradient boosting.ipynb'));
        const code = theirs.filter(({ kind }) => kind === 'code');
        await page.goto(`${new URL(page.url()).origin}/`);
        await page.waitForSelector('#home:not([aria-busy])');
        const [chooser] = await Promise.all([
            page.waitForEvent('filechooser'),
            page.getByRole('button', { name: 'Import…' }).click(),
        ]);
        await chooser.setFiles(join(dir, 'gradient boosting.ipynb'));
        await page.waitForURL(/\/n\/gradient%20boosting/);
        await page.waitForSelector('.notebook[aria-busy="false"]');
        await page.locator('.prose h1', { hasText: 'Gradient Boosting regression' }).waitFor();
        await focused([0, 'cell']);
        assert.equal(
            await page.locator('main').evaluate((main) => main.scrollTop),
            0,
            'long lines are scrolled to their beginning',
        );
        await shot('gallery-1-imported');
        await page.getByRole('button', { name: `Run these ${code.length} cells` }).click();
        await page.waitForFunction(
            (n) =>
                document.querySelectorAll('.cell[data-kind="ran"]').length === n &&
                !document.querySelector('[data-status="running"], [data-status="queued"]'),
            code.length,
            { timeout: 300_000 },
        );
        await prints('mean squared error');
        assert.equal(await page.locator('[data-status="error"]').count(), 0);
        await drawn(2);
        await shot('gallery-2-ran');
        await page.locator('main').evaluate((main) => main.scrollTo(0, 0));
        await shot('gallery-3-top');
        await page.getByRole('button', { name: 'More', exact: true }).click();
        const [file] = await Promise.all([
            page.waitForEvent('download'),
            page.getByRole('menuitem', { name: 'Download as .ipynb' }).click(),
        ]);
        const path = join(dir, 'ours.ipynb');
        await writeFile(path, await readFile(await file.path()));
        const ours = await inGallery('examine', path);
        assert.deepEqual(
            ours.map(({ kind, source }) => [kind, source.trim()]),
            theirs.map(({ kind, source }) => [kind, source.trim()]),
            'every cell, in order',
        );
        const ranCode = ours.filter(({ kind }) => kind === 'code');
        assert.deepEqual(
            ranCode.map(({ count }) => count),
            code.map((_, i) => i + 1),
        );
        const outputs = ranCode.flatMap((cell) => cell.outputs);
        assert.ok(
            outputs.filter((kinds) => kinds.includes('image/png')).length >= 2 &&
                outputs.some(([kind]) => kind === 'stream'),
            JSON.stringify(outputs),
        );
    },
);

testOnOwnServer(
    'an imported notebook that was only looked at is downloaded as the same file',
    nightly(),
    async (t) => {
        const dir = await mkdtemp(join(tmpdir(), 'ratoon-import-'));
        t.after(() => rm(dir, { recursive: true, force: true }));
        const file = await readFile(new URL('../ipynb/jupyterlab.ipynb', import.meta.url), 'utf8');
        // Line ends that editors would change.
        const text = file.replace('"x = 20\\n"', '"x = 20\\r\\n"');
        assert.notEqual(text, file);
        await writeFile(join(dir, 'theirs.ipynb'), text);
        await page.goto(`${new URL(page.url()).origin}/`);
        await page.waitForSelector('#home:not([aria-busy])');
        const [chooser] = await Promise.all([
            page.waitForEvent('filechooser'),
            page.getByRole('button', { name: 'Import…' }).click(),
        ]);
        await chooser.setFiles(join(dir, 'theirs.ipynb'));
        await page.waitForURL(/\/n\/theirs/);
        await page.waitForSelector('.notebook[aria-busy="false"]');
        const downloaded = async () => {
            await page.getByRole('button', { name: 'More', exact: true }).click();
            const [download] = await Promise.all([
                page.waitForEvent('download'),
                page.getByRole('menuitem', { name: 'Download as .ipynb' }).click(),
            ]);
            return await readFile(await download.path(), 'utf8');
        };
        await page.locator('.cell .cm-content').first().click();
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Escape');
        assert.equal(await downloaded(), text);
        await shot('imported-unchanged');
        await page.locator('.cell .cm-content', { hasText: '1/0' }).click();
        await page.keyboard.press('Control+End');
        await page.keyboard.type(' # why');
        await page.keyboard.press('Escape');
        assert.equal(await downloaded(), text.replace('"source": "1/0"', '"source": "1/0 # why"'));
    },
);

test('the keyboard alone leads from the address to a branch', nightly(), async () => {
    const { keyboard } = page;
    await page.goto(server.url);
    await page.waitForSelector('.notebook[aria-busy="false"]');
    await focused([0, 'editor']);
    await keyboard.type('x = 1');
    await keyboard.press('Shift+Enter');
    await ran(1);
    await focused([1, 'editor']);
    await keyboard.type('print("first", x + 1)');
    await keyboard.press('Shift+Enter');
    await ran(2);
    await keyboard.press('Escape');
    await keyboard.press('g');
    await page.waitForFunction(() => document.activeElement.id === 'graph');
    await keyboard.press('ArrowUp');
    await shot('keyboard-1-in-the-graph');
    await keyboard.press('Enter');
    await ran(1);
    await keyboard.press('Enter');
    await focused([1, 'editor']);
    await keyboard.type('print("branch", x + 100)');
    await keyboard.press('Shift+Enter');
    await ran(2);
    assert.deepEqual(await texts('.stream'), ['branch 101']);
    assert.deepEqual(await rows(), ['Start', 'x = 1', 'print("branch", x + 100)', 'print("first", x + 1)']);
    await shot('keyboard-2-a-branch');
    await keyboard.press('Escape');
    await keyboard.press('?');
    await page.locator('dialog[open]').waitFor();
    await shot('keyboard-3-the-sheet');
    await keyboard.press('Escape');
    await page.waitForSelector('dialog[open]', { state: 'detached' });
});

test('a phone can type, run, go back in the graph, branch and compare', async () => {
    const url = page.url();
    const phone = await open(url, {
        viewport: { width: 360, height: 740 },
        deviceScaleFactor: 2,
        hasTouch: true,
        isMobile: true,
        storageState: await page.context().storageState(),
    });
    const type = async (code) => {
        await phone.locator('.cell[data-fresh] .editor').tap();
        await phone.keyboard.insertText(code);
        await phone
            .locator('.cell:has(.cm-content:focus)')
            .getByRole('button', { name: 'Run', exact: true })
            .tap();
    };
    await type(LOAD);
    await ran(1, phone);
    await type(`${fit(3)}\n${PLOT}`);
    await ran(2, phone);
    await drawn(1, phone);
    assert.ok(await fits(phone));
    await shot('phone-1-a-plot', phone);
    if ((await phone.locator('#graph').count()) === 0) await phone.getByTitle('Graph of states').tap();
    await phone.locator('#graph').waitFor();
    await shot('phone-2-the-graph', phone);
    await row('df["y"] = ', phone).tap();
    await ran(1, phone);
    await phone.waitForSelector('#graph', { state: 'detached' });
    await type(`${fit(9)}\n${PLOT}`);
    await ran(2, phone);
    await drawn(1, phone);
    assert.ok(await fits(phone));
    await shot('phone-3-a-branch', phone);
    await phone.locator('.cell').nth(1).getByRole('button', { name: 'Cell actions' }).tap();
    await phone.getByRole('menuitem', { name: 'Compare with…' }).tap();
    await phone.locator('.state-list button').first().tap();
    await phone.waitForSelector('.compare .diff-line');
    await drawn(2, phone);
    assert.ok(await fits(phone));
    await shot('phone-4-compared', phone);
});

/** Runs `count` cells, each in the state of the previous one. Returns the last state. */
async function grow(from, name, count) {
    const { origin, searchParams } = new URL(server.url);
    let state = from;
    for (let i = 0; i < count; i += 1) {
        const code =
            i % 25 === 24 ? `score_${name} = ${i}\nprint("score", score_${name})` : `${name}_${i} = ${i}`;
        const body = JSON.stringify({
            exec_id: `${name}-${i}`,
            state_name: state,
            new_state_name: `${name}-${i}`,
            code,
        });
        const answer = await fetch(`${origin}/execute`, {
            method: 'POST',
            headers: {
                'content-type': 'application/json',
                authorization: `Bearer ${searchParams.get('token')}`,
            },
            body,
        });
        assert.equal(answer.status, 200);
        const { error } = await answer.json();
        assert.equal(error, null);
        state = `${name}-${i}`;
    }
    return state;
}

/** The lengths of the lineages that `grow` creates: 1,000 states in total. */
const LINES = { stem: 400, branches: [200, 200, 198] };
const STATES = LINES.stem + LINES.branches.reduce((sum, one) => sum + one) + 2;

test('a graph of a thousand states can be opened, scrolled, searched and continued', nightly(), async (t) => {
    await run('base = 1');
    await ran(1);
    const began = performance.now();
    const stem = await grow('initial', 'stem', LINES.stem);
    const [a, b, c] = LINES.branches;
    await Promise.all([grow('stem-99', 'a', a), grow(stem, 'c', c)]);
    // The last: of many cells in a row, only the latest are searched for changed variables.
    await grow('stem-199', 'b', b);
    t.diagnostic(`${STATES} states by REST in ${((performance.now() - began) / 1000).toFixed(1)} s`);
    const other = await open(
        `${new URL(page.url()).origin}/n/main?token=${new URL(server.url).searchParams.get('token')}`,
    );
    await other.waitForSelector('.row');
    await shot('thousand-1-opened', other);
    const all = other.getByRole('button', { name: 'Unfold all' });
    if (await all.count()) await all.click();
    await other.waitForFunction(
        (count) => document.querySelector('.rows').style.height === `${count * 30}px`,
        STATES,
    );
    assert.ok((await other.locator('.row').count()) < 90, 'only rows near the screen are rendered');
    const { frames, blank } = await other.evaluate(async () => {
        const box = document.getElementById('graph');
        box.scrollTop = box.scrollHeight;
        const times = [];
        let [blank, last] = [0, performance.now()];
        for (let i = 0; i < 150; i += 1) {
            await new Promise((done) => requestAnimationFrame(done));
            const now = performance.now();
            times.push(now - last);
            last = now;
            box.scrollTop -= 90;
            const edge = box.getBoundingClientRect();
            if (!document.elementFromPoint(edge.left + 150, edge.top + edge.height / 2)?.closest('.row'))
                blank += 1;
        }
        return { frames: times.sort((a, b) => a - b), blank };
    });
    t.diagnostic(
        `frames while scrolling: median ${frames[75].toFixed(1)} ms, 95 of 100 within ${frames[142].toFixed(1)} ms, longest ${frames.at(-1).toFixed(1)} ms`,
    );
    assert.equal(blank, 0, 'no gap is visible');
    await other.getByPlaceholder('Search code, outputs and labels').fill('var:score_b');
    await other.waitForFunction(() => / of /.test(document.querySelector('.graph-found')?.textContent ?? ''));
    await shot('thousand-2-searched', other);
    await other.keyboard.press('Enter');
    await row('score_b', other).first().click();
    await prints('score', other);
    await shot('thousand-3-stood', other);
    await run('print("score_b here:", score_b)', 'Shift+Enter', other);
    await prints('score_b here: ', other);
    await shot('thousand-4-branch', other);
});

testWithoutPage(
    'a crash of a cell is reported below the cell, and a crash of the server in a banner',
    nightly(),
    async (t) => {
        const dir = await mkdtemp(join(tmpdir(), 'ratoon-browser-'));
        const servers = [await startBinary(dir, 0)];
        t.after(async () => {
            await servers.at(-1).stop();
            await rm(dir, { recursive: true, force: true });
        });
        const tab = await open(servers[0].url);
        await run('x = 41', 'Shift+Enter', tab);
        await ran(1, tab);
        await run('print("before")\nimport ctypes\nctypes.string_at(0)', 'Control+Enter', tab);
        await tab.waitForSelector('.cell[data-status="crashed"]');
        await prints('before', tab);
        await tab.waitForSelector('.crash');
        assert.match(
            await tab.locator('.cell[data-status="crashed"]').textContent(),
            /SIGSEGV.*Only the process of this cell ended/s,
        );
        await shot('crash-1-of-a-cell', tab);
        // Wait for the checkpoint. Without it, the cells would have to run again after the kill.
        await tab.locator('.residency-line', { hasText: 'on disk' }).waitFor();
        await servers[0].kill();
        await tab.locator('[role="status"] .banner', { hasText: 'Offline. Your edits' }).waitFor();
        await tab.locator('.cell[data-fresh] .editor').click();
        await tab.keyboard.type('print(x + 1)');
        await shot('crash-2-of-the-server', tab);
        servers.push(await startBinary(dir, new URL(servers[0].url).port));
        await tab.waitForSelector('.banner', { state: 'detached' });
        await tab.keyboard.press('Shift+Enter');
        await prints('42', tab);
        await shot('crash-3-it-goes-on', tab);
        forgive(tab, /ERR_|WebSocket/);
    },
);

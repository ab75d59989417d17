// Two states side by side, in a real browser: opening and closing the comparison, and its content.

import assert from 'node:assert/strict';
import { becomes, nightly } from './browser.mjs';
import { branches } from './fixture.mjs';
import { choose, onBranch, open, page, ran, run, test, testWithoutPage, texts } from './harness.mjs';
import { start } from './mock.mjs';

const real = { skip: !process.env.RATOON_BIN };

/** Opens a notebook with two branches. Without a `hash`, the page compares their ends. */
async function at(t, hash = 'compare=a2..b3', options = {}) {
    const other = await start(0, branches());
    t.after(() => other.stop());
    const one = await open(other.url, options);
    one.server = other;
    await one.evaluate((to) => (location.hash = to), hash);
    if (hash.startsWith('compare')) await one.waitForSelector('.compare-value, .compare .hint');
    return one;
}
const hash = (one) => one.evaluate(() => decodeURIComponent(location.hash.slice(1)));

test('one click compares the versions of a cell, and Esc returns to the notebook', async () => {
    await run('x = 1\nprint("one", x)');
    await ran(1);
    await page.locator('.cell .cm-content').first().click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText('x = 2\nprint("one", x)');
    await page.keyboard.press('Control+Enter');
    await onBranch(2, 2);
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    await page.waitForSelector('.compare .diff-line');
    assert.deepEqual(await texts('.compare-cell .diff-line code'), ['x = 1', 'x = 2', 'print("one", x)']);
    assert.deepEqual([await texts('.compare-cell del'), await texts('.compare-cell ins')], [['1'], ['2']]);
    await page.locator('.compare-value', { hasText: 'x' }).first().waitFor();
    assert.match(await page.locator('.compare-value').first().textContent(), /changed.*x.*1.*→.*2.*\+1/s);
    assert.match(await hash(page), /^compare=.+\.\..+$/);
    assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), 'Compare two states');
    await page.keyboard.press('Escape');
    await page.waitForSelector('.compare', { state: 'detached' });
    assert.doesNotMatch(await hash(page), /compare/);
    await page.waitForFunction(() => document.activeElement.closest('.cell') !== null);
    await page.goBack();
    await page.waitForSelector('.compare');
    await page.reload();
    await page.waitForSelector('.compare .diff-line');
    await page.getByRole('button', { name: 'Close' }).click();
    await onBranch(2, 2);
});

test('a cell’s output can be collapsed after a comparison has shown it', real, async () => {
    const picture = (width) =>
        `from IPython.display import SVG\nSVG('<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="9"/>')`;
    await run(picture(100));
    await ran(1);
    await page.locator('.cell .cm-content').first().click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(picture(90));
    await page.keyboard.press('Control+Enter');
    await onBranch(2, 2);
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    await page.locator('.compare .picture').nth(1).waitFor();
    await page.keyboard.press('Escape');
    await page.waitForSelector('.compare', { state: 'detached' });
    await page.locator('.cell').first().focus();
    await page.keyboard.press('o');
    await page.locator('main').getByText('Output collapsed').waitFor();
});

test('changes in arrays and data frames are described in numbers', nightly(real), async () => {
    const cell = (n) =>
        `import numpy as np, matplotlib\nmatplotlib.use("agg")\na = np.arange(${n}.0)\nname = "same"`;
    await run(cell(4));
    await ran(1);
    await page.locator('.cell .cm-content').first().click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(cell(6));
    await page.keyboard.press('Control+Enter');
    await onBranch(2, 2);
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    const value = page.locator('.compare-value');
    await value.first().waitFor();
    assert.equal(await value.count(), 1);
    assert.match(await value.textContent(), /a.*ndarray.*4.*6/s);
});

testWithoutPage(
    'a comparison shows the cells, variables and outputs that differ between two branches',
    async (t) => {
        const one = await at(t);
        assert.deepEqual(await texts('.compare-cell h4', one), ['~ changed Cell 2', '+ only in B Cell 4']);
        assert.match(await one.locator('.equal-cells').textContent(), /1 equal cell: plot\(model\)/);
        assert.deepEqual(await texts('.compare-value h4 > code', one), [
            'df',
            'X',
            'model',
            'score',
            'title',
            'draft',
            'notes',
            'best',
        ]);
        assert.match(
            await one.locator('.compare-value', { hasText: 'score' }).textContent(),
            /0\.8124.*0\.9071.*\+0\.0947 \(\+11\.7 %\)/s,
        );
        const frame = one.locator('.compare-value').first();
        assert.deepEqual(await frame.locator('table').last().locator('tbody th').allTextContents(), [
            'population',
            'density',
            'old_id',
        ]);
        assert.match(await frame.textContent(), /2 equal columns/);
        assert.equal(await one.locator('summary', { hasText: '2 equal' }).count(), 1);
        assert.deepEqual(await texts('.compare-output .diff-line[data-sign="+"] code', one), [
            'epoch 2: loss 0.48',
            'epoch 3: loss 0.31',
        ]);
    },
);

testWithoutPage('plots are compared side by side at the same scale', nightly(), async (t) => {
    const one = await at(t);
    const widths = () =>
        one.$$eval('.compare-output .side-by-side-column img', (images) =>
            images.slice(0, 2).map((image) => image.clientWidth),
        );
    await one.waitForFunction(() =>
        [...document.querySelectorAll('.compare-output .side-by-side-column img')].every(
            (image) => image.style.width,
        ),
    );
    for (const width of [1280, 900, 700]) {
        await one.setViewportSize({ width, height: 800 });
        // The page fits both images again after the resize.
        await becomes(async () => {
            const fit = await one.$$eval('.compare-output .side-by-side-column img', (images) =>
                images.every((image) => image.clientWidth <= image.closest('.output').clientWidth + 1),
            );
            const [a, b] = await widths();
            return fit && Math.abs(a / b - 2) < 0.05 ? 'twice as wide' : `${a} and ${b} at ${width}`;
        }, 'twice as wide');
    }
});

testWithoutPage(
    'Swap exchanges the sides of a comparison, and the current state stays',
    nightly(),
    async (t) => {
        const one = await at(t);
        const here = await one.locator('.row[data-here]').getAttribute('data-node');
        await one.getByRole('button', { name: 'Swap' }).click();
        assert.equal(await hash(one), 'compare=b3..a2');
        await becomes(() => texts('.compare-cell h4', one), ['~ changed Cell 2', '− only in A Cell 4']);
        assert.equal(await one.locator('.row[data-here]').getAttribute('data-node'), here);
        await one.locator('.row[data-node="load"]').click();
        await one.waitForSelector('.compare', { state: 'detached' });
        assert.equal(await hash(one), 'load');
    },
);

testWithoutPage('typing finds a state to compare with', nightly(), async (t) => {
    const one = await at(t, 'b3');
    await one.waitForSelector('.row[data-node="b3"][data-here]');
    await choose(2, 'Compare with…', one);
    await one.waitForSelector('dialog[open] input:focus');
    await one.keyboard.type('dropna');
    await one.waitForFunction(() => document.querySelectorAll('.state-list .state-name').length === 1);
    await one.locator('.state-list .state-name', { hasText: 'df = df.dropna()' }).waitFor();
    await one.keyboard.press('Enter');
    await one.waitForSelector('.compare');
    assert.equal(await hash(one), 'compare=a1..b2');
});

testWithoutPage(
    'a comparison with a state that is not loaded says so, and a replay adds its variables',
    async (t) => {
        const one = await at(t, 'compare=away..b3');
        await one.getByText('The variables of A are not in memory and cannot be loaded from disk.').waitFor();
        assert.equal(await one.locator('.compare-cell').count(), 4, 'the code is compared anyway');
        one.server.notebook.variables.away = [];
        await one.getByRole('button', { name: 'Replay cells of A' }).click();
        await one.locator('dialog button[data-main]').click();
        await one.locator('.compare-value').first().waitFor();
    },
);

testWithoutPage(
    'variables can be sorted by keyboard and filtered, and a click on a cell number goes to the cell',
    async (t) => {
        const one = await at(t, 'b3');
        await one.getByRole('button', { name: 'Variables' }).click();
        await one.waitForSelector('.variables-pane tbody tr');
        const names = () => texts('.variables-pane tbody th', one);
        const before = await names();
        await one.getByRole('button', { name: 'Name', exact: true }).focus();
        await one.keyboard.press('Enter');
        assert.equal(await one.locator('.variables-pane th.name').getAttribute('aria-sort'), 'ascending');
        assert.deepEqual(
            await names(),
            [...before].sort((a, b) => a.localeCompare(b, 'en', { numeric: true })),
        );
        await one.keyboard.press('Enter');
        assert.equal(await one.locator('.variables-pane th.name').getAttribute('aria-sort'), 'descending');
        await one.keyboard.press('Enter');
        assert.deepEqual(await names(), before);
        await one.getByRole('searchbox').fill('ridge');
        assert.deepEqual(await names(), ['model']);
        await one.getByRole('button', { name: 'Go to cell 2, which last changed model' }).click();
        const label = () => one.evaluate(() => document.activeElement.getAttribute('aria-label'));
        await becomes(label, 'Cell 2, branch 3 of 3');
    },
);

testWithoutPage('a thousand variables are shown in parts, and compared', nightly(), async (t) => {
    const one = await at(t, 'b3');
    const list = (shift) =>
        Array.from({ length: 1000 }, (_, i) => ({
            name: `v${i}`,
            type: 'int',
            repr: String(i + shift),
            size: null,
            bytes: 28,
            fingerprint: String(i + shift),
            summary: null,
        }));
    one.server.notebook.variables.b3 = list(0);
    one.server.notebook.variables.b2 = list(0);
    await one.getByRole('button', { name: 'Variables' }).click();
    await one.waitForSelector('.variables-pane tbody tr');
    const rows = (count) =>
        one.waitForFunction(
            (want) => document.querySelectorAll('.variables-pane tbody th').length === want,
            count,
        );
    await rows(300);
    for (const [more, shown] of [
        ['Show 300 more of 700', 600],
        ['Show 300 more of 400', 900],
        ['Show 100 more', 1000],
    ]) {
        await one.getByRole('button', { name: more }).click();
        await rows(shown);
    }
    await one.getByRole('searchbox').fill('v99');
    await rows(11);
    one.server.notebook.variables.a2 = list(1);
    await one.evaluate(() => (location.hash = 'compare=a2..b3'));
    await one.waitForFunction(() => document.querySelectorAll('.compare-value').length === 1000);
});

// Nothing moves under the pointer: outputs reserve their height before their content loads, or the
// notebook scrolls to compensate.

import assert from 'node:assert/strict';
import { becomes, nightly } from './browser.mjs';
import { page, post, ran, release, run, server, test, texts, untilReleased } from './harness.mjs';

const real = { skip: !process.env.RATOON_BIN };
const HTML = (text) => `from IPython.display import HTML\nHTML(${JSON.stringify(text)})`;

/** From now on, frames load only after the returned function is called. */
async function holdFrames(on = page) {
    let release;
    const held = new Promise((done) => (release = done));
    await on.route('**/frame/v1', async (route) => (await held, route.continue().catch(() => {})));
    return release;
}

const heights = (on = page) => on.$$eval('.frame-place', (all) => all.map((one) => one.offsetHeight));
const tops = (on = page) =>
    on.$$eval('.cell', (all) => all.map((one) => Math.round(one.getBoundingClientRect().top)));
const shown = (count, on = page) =>
    on.waitForFunction((n) => document.querySelectorAll('.frame-place[data-ready]').length === n, count);

/**
 * Moves the pointer to the middle of an element. The returned function checks whether the element
 * is still at that point.
 */
async function pointAt(selector, on = page) {
    const { x, y, width, height } = await on.locator(selector).boundingBox();
    const at = [x + width / 2, y + height / 2];
    await on.mouse.move(...at);
    return () =>
        on.evaluate(
            ([left, top, what]) => document.elementFromPoint(left, top)?.closest(what) != null,
            [...at, selector],
        );
}

const FRESH = '.cell[data-fresh] .editor';

for (const [what, before] of [
    ['in a short notebook', ''],
    ['in a notebook that scrolls', 'print("line\\n" * 60)'],
]) {
    test(
        `a frame that gets its height late does not move the cell under the pointer ${what}`,
        real,
        async () => {
            if (before) {
                await run(before);
                await ran(1);
            }
            const release = await holdFrames();
            await run(HTML('<div style="height: 180px">a plot</div>'));
            await ran(before ? 2 : 1);
            const isFresh = await pointAt(FRESH);
            release();
            await shown(1);
            await becomes(async () => (await heights())[0] > 180, true);
            assert.equal(await isFresh(), true);
            await page.mouse.down();
            await page.mouse.up();
            await page.keyboard.insertText('typed here');
            await becomes(
                () => texts('.cell[data-kind="draft"]:not([data-fresh]) .cm-content'),
                ['typed here'],
            );
        },
    );
}

test('the height of a table is reserved before its frame has loaded', real, async () => {
    const release = await holdFrames();
    await run('import pandas as pd\npd.DataFrame({"city": ["Lisbon", "Porto"] * 3, "area": range(6)})');
    await ran(1);
    const reserved = await heights();
    assert.ok(reserved[0] > 100, `${reserved} px`);
    const before = await tops();
    release();
    await shown(1);
    assert.deepEqual(await heights(), reserved);
    assert.deepEqual(await tops(), before);
});

test(
    'after a reload, and after a return to a state, frames have their previous heights',
    nightly(real),
    async () => {
        await run(HTML('<div style="height: 120px"></div>'));
        await ran(1);
        await run(HTML('<p>one</p><p>two</p>'));
        await ran(2);
        await run('print("below")');
        await ran(3);
        await shown(2);
        const [high, low] = await heights();
        assert.ok(high > 120 && low > 20 && low < 100, `${high}, ${low}`);
        // The page stores a height after the content has stopped changing.
        await becomes(
            () => page.evaluate(() => JSON.stringify({ ...sessionStorage }).match(/height /g)?.length),
            2,
        );
        const before = await tops();

        const release = await holdFrames();
        await page.reload();
        await ran(3);
        assert.deepEqual(await heights(), [high, low]);
        await page.locator('main').evaluate((main) => main.scrollTo(0, 0));
        const loaded = await tops();
        release();
        await shown(2);
        assert.deepEqual(await tops(), loaded);
        assert.deepEqual(
            loaded.map((top) => top - loaded[0]),
            before.map((top) => top - before[0]),
        );

        await page.locator('.row').nth(0).click();
        await ran(0);
        await page.locator('.row').nth(3).click();
        await page.locator('.stream', { hasText: 'below' }).waitFor();
        assert.deepEqual(await heights(), [high, low]);
    },
);

/**
 * The top of the editor that is typed in, as painted: the notebook scrolls between a change of the
 * layout and the next paint.
 */
const top = () =>
    page.evaluate(async () => {
        for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
        return document.activeElement.closest('.cm-editor').getBoundingClientRect().top;
    });

for (const [what, code] of [
    ['prints 100 lines', 'for i in range(100): print(i)'],
    ['shows a plot', HTML('<div style="height: 400px">a plot</div>')],
])
    test(`the cell that is typed in keeps its place while a cell above it ${what}`, real, async () => {
        await run(`import os, time\n${untilReleased('go')}\n${code}`);
        await page.waitForSelector('.cell[data-status="running"]');
        await page.keyboard.insertText('typing');
        const before = await top();
        await release('go');
        await ran(1);
        if (what === 'shows a plot') await shown(1);
        await page.waitForFunction(
            () => document.querySelector('.outputs')?.getBoundingClientRect().height > 400,
        );
        assert.equal(await top(), before);
        // A key press then does not move it, either.
        await page.keyboard.insertText(' on');
        assert.equal(await top(), before);
    });

test(
    'the cell typed in keeps its place while the notebook ends above the bottom for a moment',
    real,
    async () => {
        await run('1');
        await ran(1);
        await page.keyboard.insertText('typing');
        const before = await top();
        const layOut = (above, below) =>
            page.$eval(
                '.notebook',
                (notebook, [above, below]) => {
                    notebook.querySelector('.cell').style.marginTop = `${above}px`;
                    notebook.style.paddingBottom = `${below}px`;
                },
                [above, below],
            );
        await layOut(400, 0);
        assert.equal(await top(), before, 'it has become longer above the cell');
        await layOut(320, 30);
        assert.equal(await top(), before, 'it has become shorter above, and longer below');
        await page.locator('main').evaluate((main) => {
            const { style } = main.querySelector('.cell');
            const scrolled = main.scrollTop;
            style.marginTop = '300px';
            if (main.scrollTop >= scrolled) throw new Error('the browser has not scrolled back');
            style.marginTop = '400px';
        });
        assert.equal(await top(), before, 'it was shorter for a moment');
    },
);

test('the end of the window does not cut the cell that gets the focus after a run', real, async () => {
    const { height } = await page.$eval('main', (one) => one.getBoundingClientRect());
    const cut = [];
    // At some of these heights, the cell below begins in the window and ends below it.
    for (const [i, left] of [150, 135, 120, 105, 90].entries()) {
        await page.locator('.cell[data-fresh] .cm-content').click();
        await run(HTML(`<div style="height: ${Math.round(height - left)}px"></div>`));
        await ran(i + 1);
        await shown(i + 1);
        const isCut = await page.evaluate(async () => {
            for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
            const cell = document.activeElement.closest('.cell').getBoundingClientRect();
            const pane = document.querySelector('main').getBoundingClientRect();
            return cell.top < pane.bottom - 1 && cell.bottom > pane.bottom + 1;
        });
        if (isCut) cut.push(left);
    }
    assert.deepEqual(cut, []);
});

test(
    'a reload keeps what the notebook and the graph are scrolled to, and which lines are unfolded',
    real,
    async () => {
        for (let i = 0; i < 40; i += 1)
            await post(server, '/execute', {
                exec_id: `e${i}`,
                state_name: i ? `s${i - 1}` : 'initial',
                new_state_name: `s${i}`,
                code: `print(${i})`,
            });
        await page.goto(new URL('/n/main', page.url()).href);
        await ran(40);
        await page
            .locator('.row', { hasText: /\d+ cells/ })
            .first()
            .click();
        await page.waitForFunction(() => document.querySelectorAll('.row').length > 25);
        const place = () =>
            page.evaluate(() => [
                document.querySelector('main').scrollTop,
                document.querySelector('#graph').scrollTop,
                document.querySelector('#graph').scrollHeight,
            ]);
        await page.locator('main').evaluate((one) => one.scrollTo(0, 700));
        await page.locator('#graph').evaluate((one) => one.scrollTo(0, 333));
        await becomes(async () => (await place()).slice(0, 2), [700, 333]);
        const before = await place();
        await page.reload();
        await ran(40);
        await becomes(place, before);
        // It also stays after all outputs have loaded.
        await page.waitForFunction(() => performance.getEntriesByName('parts loaded').length > 0);
        assert.deepEqual(await place(), before);
    },
);

test('going to a state by the graph or by Back scrolls no notebook that fits', real, async () => {
    for (const [i, code] of ['a = 1', 'b = 2', 'c = 3\nc'].entries()) {
        await run(code);
        await ran(i + 1);
    }
    const at = () =>
        page.$eval('main', ({ scrollTop, style }) => [
            document.querySelectorAll('.cell[data-kind="ran"]').length,
            scrollTop,
            style.paddingBottom,
        ]);
    for (const row of [1, 3, 2, 3]) {
        await page.locator('.row').nth(row).click();
        await becomes(at, [row, 0, '']);
    }
    for (const row of [2, 3, 1]) {
        await page.goBack();
        await becomes(at, [row, 0, '']);
    }
});

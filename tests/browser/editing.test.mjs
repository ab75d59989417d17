// Editing with the keyboard: modes and their keys, completion, documentation at the cursor, find,
// the palette, moving cells. The stand-in answers requests for completion and documentation.

import assert from 'node:assert/strict';
import { becomes, nightly } from './browser.mjs';
import { start } from './mock.mjs';
import {
    allParts,
    choose,
    drafts,
    focused,
    onDisk,
    open,
    page,
    ran,
    rows,
    run,
    sees,
    test,
    testOnOwnServer,
    testWithoutPage,
    texts,
    three,
} from './harness.mjs';
import { whenOver } from './pages.mjs';

const sources = (on = page) => texts('.cell[data-kind="draft"]:not([data-fresh]) .source > .editor', on);
const lines = (cell, on = page) => on.locator('.cell').nth(cell).locator('.cm-line').allTextContents();
const keys = async (...all) => {
    for (const key of all) await page.keyboard.press(key);
};
/** @type {any[]} */
const mocks = [];
whenOver(async () => {
    for (const mock of mocks.splice(0)) await mock.stop();
});
/**
 * Opens a page on a stand-in, which records the requests it receives, and runs one cell: `x = 1`.
 */
async function asked() {
    const mock = await start();
    mocks.push(mock);
    const on = await open(mock.url);
    // Typing asks for completions only after quick answers, and a busy machine answers late. So the
    // page's clock runs slowly.
    await on.evaluate(() => {
        const now = performance.now.bind(performance);
        performance.now = () => now() / 100;
    });
    await run('x = 1', 'Shift+Enter', on);
    await ran(1, on);
    await focused([1, 'editor'], on);
    return { on, notebook: mock.notebook, keys: on.keyboard };
}
const list = (on) => texts('.completions li .cm-completionLabel', on);

test('Esc and Enter switch the mode visibly; letters are commands in command mode and text in edit mode', async () => {
    await drafts('one', 'two');
    const bar = () =>
        page.evaluate(() =>
            getComputedStyle(
                document.activeElement.closest('.cell').querySelector('.source'),
            ).boxShadow.includes('inset'),
        );
    await page.locator('.cell').nth(1).focus();
    assert.equal(await bar(), true);
    await keys('Enter', 'End', 'b');
    await focused([1, 'editor']);
    assert.equal(await bar(), false);
    assert.deepEqual(await lines(1), ['twob']);
    await keys('Escape', 'b');
    await focused([2, 'cell']);
    await keys('a', 'Enter');
    await page.keyboard.insertText('new');
    await keys('Escape', 'k', 'k');
    await focused([0, 'cell']);
    await keys('j', 'ArrowDown', 'ArrowUp');
    await focused([1, 'cell']);
    assert.deepEqual(await sources(), ['one', 'twob', 'new']);
    await keys('End');
    await focused([3, 'cell']);
    await keys('Home');
    await focused([0, 'cell']);
});

test('a cell that gets the focus back has its cursor at once where it was', async () => {
    await drafts('one', 'two');
    await page.locator('.cell').nth(1).focus();
    await keys('Enter', 'End', 'Escape');
    // All in one task: CodeMirror does not hear of the other cursor before.
    const cursor = await page.evaluate(() => {
        const [, cell, next] = document.querySelectorAll('.cell');
        next.querySelector('.cm-content').focus();
        cell.focus();
        cell.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
        const { anchorNode, anchorOffset } = getSelection();
        return [cell.contains(anchorNode), anchorOffset];
    });
    assert.deepEqual(cursor, [true, 3]);
});

test('Ctrl-Enter runs and enters command mode, Shift-Enter runs and goes to the next cell, Alt-Enter runs and inserts one', async () => {
    await drafts('x = 1', 'y = 2');
    await page.locator('.cell').nth(0).focus();
    await keys('Enter', 'Control+Enter');
    await ran(1);
    await focused([0, 'cell']);
    await keys('j', 'Enter', 'Home', 'Shift+Enter');
    await ran(2);
    await focused([2, 'editor']);
    await page.keyboard.insertText('z = 3');
    await keys('Alt+Enter');
    await ran(3);
    await focused([3, 'editor']);
    assert.deepEqual(await rows(), ['Start', 'x = 1', 'y = 2', 'z = 3']);
});

test('several selected drafts are cut, pasted, copied, deleted and restored in one step each', async () => {
    await drafts('one', 'two', 'three', 'four');
    await page.locator('.cell').nth(1).focus();
    await keys('Shift+ArrowDown');
    assert.equal(await page.locator('.cell[data-selected]').count(), 2);
    assert.equal(await page.locator('#said').textContent(), '2 cells selected');
    await keys('x');
    await becomes(sources, ['one', 'four']);
    await focused([1, 'cell']);
    await keys('k', 'Shift+V');
    await becomes(sources, ['two', 'three', 'one', 'four']);
    await focused([0, 'cell']);
    await keys('Shift+j', 'd', 'd');
    await becomes(sources, ['one', 'four']);
    assert.match(await page.locator('.notice').textContent(), /2 cells deleted/);
    await keys('z');
    await becomes(sources, ['two', 'three', 'one', 'four']);
    await keys('Home', 'Shift+ArrowDown', 'c', 'End', 'k', 'v');
    await becomes(sources, ['two', 'three', 'one', 'four', 'two', 'three']);
    await keys('Control+a', 'd', 'd');
    await becomes(sources, []);
    await keys('z');
    await becomes(sources, ['two', 'three', 'one', 'four', 'two', 'three']);
    // At the empty cell, they are pasted above it.
    await keys('End', 'v');
    await becomes(sources, ['two', 'three', 'one', 'four', 'two', 'three', 'two', 'three']);
});

testOnOwnServer(
    'copied cells are pasted in another notebook, and after a reload',
    {
        skip: !process.env.RATOON_BIN && 'needs RATOON_BIN',
    },
    async () => {
        await run('x = 1');
        await ran(1);
        await drafts('one', 'two');
        await page.locator('.cell').nth(0).focus();
        await keys('Shift+ArrowDown', 'Shift+ArrowDown', 'c');
        await page.reload();
        await page.locator('.cell').nth(2).focus();
        await keys('v');
        await becomes(sources, ['one', 'two', 'x = 1', 'one', 'two']);
        const { origin } = new URL(page.url());
        const data = { name: 'other' };
        const made = await page.request.post(`${origin}/api/notebooks`, { data, headers: { origin } });
        assert.ok(made.ok(), await made.text());
        await page.goto(`${origin}/n/other`);
        await page.locator('.cell[data-fresh]').focus();
        await keys('v');
        await becomes(sources, ['x = 1', 'one', 'two']);
        // Outputs and what else belongs to the first notebook stay there.
        assert.equal(await page.locator('.stale').count(), 0);
    },
);

test('a collapsed section moves as one, and cells move past it', async () => {
    await drafts('zero', '# A', 'a', '# B', 'b');
    const at = (nth) => page.locator('.cell').nth(nth);
    const all = () => texts('.cell:not([data-fresh]) .source > :not(.tools)');
    for (const key of ['m', 'ArrowLeft'])
        for (const nth of [1, 3]) {
            await at(nth).focus();
            await keys(key);
        }
    const heads = () => texts('.cell:not([hidden], [data-fresh]) .source > :not(.tools)');
    await becomes(heads, ['zero', 'A', 'B']);
    await at(1).focus();
    await keys('Control+Shift+ArrowDown');
    await becomes(heads, ['zero', 'B', 'A']);
    await becomes(all, ['zero', 'B', 'b', 'A', 'a']);
    await focused([3, 'cell']);
    await at(0).focus();
    await keys('Control+Shift+ArrowDown');
    await becomes(all, ['B', 'b', 'zero', 'A', 'a']);
    await becomes(heads, ['B', 'b', 'zero', 'A']);
    await keys('z', 'z');
    await becomes(all, ['zero', 'A', 'a', 'B', 'b']);
    await at(3).focus();
    await keys('ArrowLeft');
    await becomes(heads, ['zero', 'A', 'B']);
    await keys('Control+Shift+ArrowUp');
    await becomes(all, ['zero', 'B', 'b', 'A', 'a']);
    await keys('Control+Shift+ArrowUp');
    await becomes(all, ['B', 'b', 'zero', 'A', 'a']);
    // It expands, so that it hides no cell that was shown.
    await becomes(heads, ['B', 'b', 'zero', 'A']);
});

test('selected drafts run together', nightly(), async () => {
    await drafts('a = 1', 'b = 2', 'c = 3');
    await page.locator('.cell').nth(0).focus();
    await keys('Shift+ArrowDown', 'Shift+Enter');
    await ran(2);
    assert.deepEqual(await rows(), ['Start', 'a = 1', 'b = 2']);
    assert.deepEqual(await sources(), ['c = 3']);
});

test('drafts can be converted to text, headings and code, and split and merged with Undo', async () => {
    await drafts('one\ntwo', 'three');
    await page.locator('.cell').nth(0).focus();
    await keys('Enter', 'Control+Home', 'ArrowDown', 'Control+Shift+Minus');
    await becomes(sources, ['one', 'two', 'three']);
    await focused([1, 'editor']);
    await keys('Escape', 'k', 'Shift+M');
    await becomes(() => lines(0), ['one', '', 'two']);
    await page.getByRole('button', { name: 'Undo' }).click();
    await becomes(sources, ['one', 'two', 'three']);
    await page.locator('.cell').nth(0).focus();
    await keys('m');
    await page.waitForSelector('.cell[data-text] .prose');
    await focused([0, 'cell']);
    await keys('2');
    await page.waitForSelector('.cell[data-text] .cm-line');
    assert.deepEqual(await lines(0), ['## one']);
    await keys('Escape');
    await page.waitForSelector('.cell[data-text] .prose h2');
    await keys('y');
    await page.waitForFunction(() => !document.querySelector('.cell[data-text]'));
    await focused([0, 'cell']);
});

test('a raw cell is plain text that never runs, and stays as it is when cells around it run and move', async () => {
    const kinds = (on = page) =>
        on.$$eval('.cell:not([data-fresh])', (all) =>
            all.map(({ dataset }) => dataset.text ?? dataset.kind).join(' '),
        );
    const told = [];
    page.on('websocket', (socket) => socket.on('framesent', ({ payload }) => told.push(String(payload))));
    await page.reload();
    await drafts('x = 1', '# not a *heading*', 'x + 1');
    await page.locator('.cell').nth(1).focus();
    await keys('r');
    await becomes(kinds, 'draft raw draft');
    await focused([1, 'cell']);
    assert.equal(await page.locator('.cell').nth(1).locator('.raw-mark').textContent(), 'Raw');
    await keys('Enter', 'Control+End');
    await page.keyboard.insertText('\n\\end');
    assert.equal(await page.locator('.cell[data-text] .cm-line span').count(), 0, 'no highlighting');
    await keys('Shift+Enter');
    await focused([2, 'cell']);
    assert.deepEqual(await lines(1), ['# not a *heading*', '\\end']);
    // Split, merged, duplicated, and back with Undo.
    await page.locator('.cell').nth(1).focus();
    await keys('Enter', 'Control+Home', 'ArrowDown', 'Control+Shift+Minus', 'Escape');
    await becomes(kinds, 'draft raw raw draft');
    await keys('k', 'Shift+M');
    await becomes(kinds, 'draft raw draft');
    await keys('Alt+Shift+ArrowDown', 'z', 'z', 'z');
    await becomes(kinds, 'draft raw draft');
    await keys('c', 'v');
    await becomes(kinds, 'draft raw raw draft');
    await keys('z');
    await becomes(kinds, 'draft raw draft');
    // Running all runs the code, and the raw cell stays between the cells.
    await page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement).blur());
    await page.locator('.cell').nth(0).focus();
    await keys('Enter', 'Shift+Enter');
    await ran(1);
    await page.locator('.cell').nth(2).focus();
    await keys('Enter', 'Shift+Enter');
    await ran(2);
    await becomes(kinds, 'ran raw ran');
    assert.equal(told.filter((sent) => sent.includes('"do":"run"')).length, 2);
    await page.reload();
    await becomes(kinds, 'ran raw ran');
    // It moves past cells that ran, and nothing needs to run again.
    await page.locator('.cell').nth(1).focus();
    await keys('Control+Shift+ArrowUp');
    await becomes(kinds, 'raw ran ran');
    await keys('Control+Shift+ArrowDown', 'Control+Shift+ArrowDown');
    await becomes(kinds, 'ran ran raw');
    await keys('z', 'z');
    await becomes(kinds, 'raw ran ran');
    assert.equal(await page.locator('.notice[data-open]').count(), 0);
    // Markdown above a cell that ran becomes raw and Markdown again.
    await choose(0, 'Convert to Markdown');
    await becomes(kinds, 'markdown ran ran');
    await focused([0, 'editor']);
    await keys('Escape');
    await page.waitForSelector('.cell[data-text] .prose h1');
    await choose(0, 'Convert to raw text');
    await becomes(kinds, 'raw ran ran');
    await choose(1, 'Convert to raw text');
    await becomes(kinds, 'raw raw draft');
});

test('a cell inserted above one that ran begins a branch; deleting a cell that ran makes drafts of those below, and Undo goes back', async () => {
    await three();
    await page.locator('.cell').nth(1).focus();
    await keys('a');
    await focused([1, 'cell']);
    await keys('Enter');
    await page.keyboard.insertText('between = 1');
    await sees('must then run again');
    await keys('Escape', 'j');
    await focused([2, 'cell']);
    await keys('d', 'd');
    await page
        .locator('.notice', { hasText: '1 cell left out. 2 cells wait to run in a new branch.' })
        .waitFor();
    await ran(1);
    await becomes(sources, ['between = 1', 'x = x + 1print("three")']);
    await focused([2, 'cell']);
    assert.equal(await page.locator('.row').count(), 4, 'nothing is deleted');
    await page.getByRole('button', { name: 'Undo' }).click();
    await ran(3);
});

test('cells that ran are moved, split, merged and turned into text in one step; their outputs stay, and z goes back', async () => {
    await three();
    const lines = () => texts('.cell:not([data-fresh]) .cm-content, .cell .prose');
    const whole = ['x = 1print("one")', 'x = x + 1print("two")', 'x = x + 1print("three")'];
    const [one, two, third] = whole;
    await becomes(lines, whole);
    const onSecond = () => page.locator('.cell').nth(1).focus();
    const isBack = async () => {
        await keys('z');
        await ran(3);
        await becomes(lines, whole);
        await focused([1, 'cell']);
    };
    await onSecond();
    await keys('Control+Shift+ArrowDown');
    await becomes(lines, [one, third, two]);
    await becomes(() => texts('.stale .stream'), ['three', 'two']);
    await focused([2, 'cell']);
    await page.locator('.notice', { hasText: '1 cell moved. 2 cells wait' }).waitFor();
    await isBack();
    await keys('Control+Shift+ArrowUp');
    await becomes(lines, [two, one, third]);
    await focused([0, 'cell']);
    await isBack();
    await keys('Enter', 'Control+Home', 'End', 'Control+Shift+-');
    await becomes(lines, [one, 'x = x + 1', 'print("two")', third]);
    await becomes(() => texts('.cell[data-kind="draft"] .stale .stream'), ['two', 'three']);
    await focused([2, 'editor']);
    await keys('Escape');
    await isBack();
    await keys('Shift+M');
    await becomes(lines, [one, two + third]);
    await isBack();
    await keys('m');
    await becomes(async () => (await lines())[1].includes('print'), true);
    await page.waitForSelector('.cell[data-text]');
    await isBack();

    // The last cell is dragged to the top.
    await allParts();
    await dragToTop(2);
    await becomes(lines, [third, one, two]);
    await keys('z');
    await ran(3);
    await becomes(lines, whole);
    await onSecond();

    // They run in the new order, as a new branch.
    await keys('Control+Shift+ArrowDown');
    await becomes(lines, [one, third, two]);
    await page.getByRole('button', { name: 'Run 2 cells below' }).click();
    await ran(3);
    await becomes(() => texts('.cell .stream'), ['one', 'three', 'two']);
    assert.equal(await page.locator('.row').count(), 6);
});

test('the two buttons that run the cells below stand apart', async () => {
    await run('x = 1');
    await ran(1);
    await run('y = 2');
    await ran(2);
    await run('raise ValueError("no")');
    await page.waitForSelector('.error-view');
    await page.locator('.cell').nth(0).focus();
    await keys('Enter', 'Control+End');
    await page.keyboard.insertText('0');
    await keys('Control+Enter');
    const box = (name) => page.getByRole('button', { name }).boundingBox();
    const [one, all] = [await box('Run 1 cell below'), await box('Run all 2, including 1 that failed')];
    assert.ok(all.x >= one.x + one.width + 4, `${all.x} after ${one.x + one.width}`);
});

test('after a reload, z and the list of steps still undo changes of cells, and Shift-z makes them again', async () => {
    await three();
    const lines = () => texts('.cell:not([data-fresh]) .cm-content');
    await becomes(async () => (await lines()).length, 3);
    const whole = await lines();
    const [one, two, third] = whole;
    await page.locator('.cell').nth(1).focus();
    await keys('Control+Shift+ArrowDown');
    await becomes(lines, [one, third, two]);
    await focused([2, 'cell']);
    await keys('Alt+Shift+ArrowDown');
    await becomes(lines, [one, third, two, two]);
    await focused([3, 'cell']);
    await keys('d', 'd');
    await becomes(lines, [one, third, two]);
    await page.reload();
    await becomes(lines, [one, third, two]);
    await keys('F1');
    await page.getByRole('combobox').waitFor();
    await page.keyboard.type('undo history');
    await keys('Enter');
    const steps = page.getByRole('dialog').getByRole('listitem');
    await steps.nth(2).waitFor();
    assert.match(await steps.nth(0).textContent(), /^Draft deleted\..*Undo to here$/s);
    assert.match(await steps.nth(1).textContent(), /^1 cell duplicated\./);
    assert.match(await steps.nth(2).textContent(), /^1 cell moved\.\s+just now/);
    await steps.nth(2).getByRole('button').click();
    await becomes(lines, whole);
    await ran(3);
    await focused([1, 'cell']);
    await keys('Shift+Z');
    await becomes(lines, [one, third, two]);
    await keys('Shift+Z');
    await becomes(lines, [one, third, two, two]);
    await keys('Shift+Z');
    await becomes(lines, [one, third, two]);
    await keys('z', 'z', 'z');
    await becomes(lines, whole);
    assert.equal(await page.locator('.row').count(), 4, 'nothing has run');
});

test(
    'the button in the gap above a cell inserts a cell there; it covers no content, and hovering moves nothing',
    nightly(),
    async () => {
        await run('x = 1');
        await ran(1);
        await drafts('one', 'two');
        await becomes(sources, ['one', 'two']);
        const tops = () =>
            page.$$eval('.cell .source', (all) => all.map((one) => one.getBoundingClientRect().top));
        const before = await tops();
        const gap = async (/** @type {number} */ cell) => {
            const button = page.locator('.cell').nth(cell).locator('.insert-button');
            await button.scrollIntoViewIfNeeded();
            const box = await button.boundingBox();
            return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
        };
        const hit = (at) =>
            page.evaluate(
                ({ x, y }) => document.elementFromPoint(x, y)?.closest('button')?.title ?? null,
                at,
            );
        const second = await gap(2);
        assert.equal(await hit({ ...second, y: second.y + 9 }), null, 'the editor gets clicks near the gap');
        await page.mouse.move(second.x, second.y);
        await becomes(() => hit(second), 'Insert a cell here');
        await becomes(
            () =>
                page
                    .locator('.insert-button')
                    .nth(2)
                    .evaluate((one) => getComputedStyle(one).visibility),
            'visible',
        );
        assert.deepEqual(await tops(), before);
        await page.mouse.click(second.x, second.y);
        await focused([2, 'editor']);
        await page.keyboard.insertText('between');
        await becomes(sources, ['one', 'between', 'two']);
        assert.deepEqual((await tops()).slice(0, 2), before.slice(0, 2), 'the cells above stay');
        const [batch, plus] = await page.$$eval('.batch button, .cell:nth-child(3) .insert-button', (all) =>
            all.map((one) => one.getBoundingClientRect()),
        );
        assert.ok(plus.top < batch.bottom + 9 && plus.right < batch.left, 'covers no other button');
        const first = await gap(0);
        await page.mouse.move(first.x, first.y);
        await page.mouse.click(first.x, first.y);
        await focused([0, 'editor']);
        await page.keyboard.insertText('before');
        await becomes(sources, ['before', 'one', 'between', 'two']);
        assert.equal(
            await page.locator('.cell[data-fresh] .insert').count(),
            0,
            'an empty cell is already there',
        );
        await page.locator('.cell').nth(0).focus();
        await keys('Tab');
        assert.equal(await page.evaluate(() => document.activeElement.matches('.insert-button')), false);
    },
);

test(
    'after an edit of an early cell, one button replays the rest; one command does both',
    nightly(),
    async () => {
        await three();
        await page.locator('.cell').nth(0).focus();
        await keys('Enter', 'Control+Home');
        await page.keyboard.insertText('y = 5\n');
        await keys('Control+Enter');
        await page.getByRole('button', { name: 'Run 2 cells below' }).click();
        await ran(3);
        assert.deepEqual(await rows(), [
            'Start',
            'y = 5',
            'x = x + 1',
            'x = x + 1',
            'x = 1',
            'x = x + 1',
            'x = x + 1',
        ]);
        await page.locator('.cell').nth(0).focus();
        await keys('Control+Shift+p');
        await page.waitForSelector('#commands li');
        await page.keyboard.insertText('cell and all below');
        await keys('Enter');
        await ran(3);
        await becomes(async () => (await rows()).length, 10);
    },
);

test('0 0 restarts, I I stops the running cell, Ctrl-S saves instead of the browser’s own action', async () => {
    await run('import time\ntime.sleep(600)');
    await page.waitForSelector('[data-status="running"]');
    await keys('Escape', 'i', 'i');
    await page.waitForSelector('[data-status="interrupted"]');
    await page.evaluate(() =>
        addEventListener(
            'keydown',
            (event) => event.key === 's' && (globalThis.wasOurs = event.defaultPrevented),
        ),
    );
    await keys('Control+s');
    await page.waitForFunction(() => document.querySelector('.notice')?.textContent.includes('saved'));
    assert.equal(await page.evaluate(() => globalThis.wasOurs), true);
    await run('x = 1');
    await ran(1);
    await keys('Escape', '0', '0');
    await ran(0);
    assert.ok((await sources()).includes('x = 1'), 'the cell that ran is a draft now');
});

test('“Restart and run all” runs all cells shown again from the start, and keeps their states', async () => {
    await three();
    const states = (await rows()).length;
    const restart = async () => {
        await page.getByRole('button', { name: 'More' }).click();
        await page.getByRole('menuitem', { name: 'Restart and run all' }).click();
    };
    await restart();
    await becomes(async () => (await rows()).length, states + 3);
    await ran(3);
    // At the start it runs the drafts.
    await page.locator('.row').first().click();
    await ran(0);
    await page.locator('.cell[data-fresh] .editor').click();
    await page.keyboard.insertText('print("at the start")');
    await restart();
    await ran(1);
    await sees('at the start');
});

test('“Clear all outputs” makes drafts without outputs at the start, as one step; the outputs stay in the graph', async () => {
    await three();
    const clear = async () => {
        await page.getByRole('button', { name: 'More' }).click();
        await page.getByRole('menuitem', { name: 'Clear all outputs' }).click();
    };
    const printed = () => texts('.stream');
    const before = [await printed(), await rows()];
    await clear();
    await ran(0);
    await becomes(printed, []);
    await focused([0, 'cell']);
    assert.equal((await sources()).length, 3);
    assert.deepEqual(await rows(), before[1]);
    await page.locator('.notice', { hasText: 'Outputs cleared.' }).waitFor();
    await clear();
    await page.locator('.notice', { hasText: 'No cell shows an output.' }).waitFor();
    // Drafts that show earlier outputs are cleared, too.
    await keys('Control+z');
    await ran(3);
    await becomes(printed, before[0]);
    await page.locator('.cell').nth(2).focus();
    await keys('0', '0');
    const stale = () => texts('.stale .stream');
    await becomes(stale, before[0]);
    await page.locator('.cell').nth(1).getByRole('button', { name: 'Clear' }).click();
    await becomes(stale, ['one', 'three']);
    await focused([1, 'cell']);
    await keys('z');
    await becomes(stale, before[0]);
    await focused([1, 'cell']);
    await clear();
    await becomes(printed, []);
    await keys('Control+z');
    await becomes(stale, before[0]);
});

test(
    'the menu of a cell inserts, cuts, pastes, duplicates, moves, splits and merges, also cells that ran',
    nightly(),
    async () => {
        await drafts('one', 'two', 'three');
        const all = () => texts('.cell:not([data-fresh]) .source > .editor');
        const is = (...wanted) => becomes(all, wanted);
        await choose(2, 'Move the cell up');
        await is('one', 'three', 'two');
        await choose(1, 'Merge with the cell below');
        await is('one', 'threetwo');
        await page.locator('.cell').nth(1).locator('.cm-line').nth(2).click();
        await keys('Home');
        await choose(1, 'Split at the cursor');
        await is('one', 'three', 'two');
        await choose(0, 'Cut');
        await is('three', 'two');
        await choose(1, 'Paste below');
        await is('three', 'two', 'one');
        await choose(0, 'Duplicate');
        await is('three', 'three', 'two', 'one');
        await choose(0, 'Insert a cell above');
        await focused([0, 'editor']);
        await page.reload();
        await run('x = 1');
        await ran(1);
        await run('y = 2');
        await ran(2);
        await choose(5, 'Move the cell down');
        await ran(0);
        const empty = 'Type Python here. Shift-Enter runs it.';
        await is(empty, 'three', 'three', 'two', 'one', 'y = 2', 'x = 1');
    },
);

test('after a split or moves of cells that ran, the user goes on in the last part or with all selected', async () => {
    await three();
    const all = () => texts('.cell:not([data-fresh]) .source > .editor');
    const [one, two, last] = ['x = 1print("one")', 'x = x + 1print("two")', 'x = x + 1print("three")'];
    await becomes(all, [one, two, last]);
    await page.locator('.cell').nth(1).focus();
    await keys('Shift+ArrowDown', 'Control+Shift+ArrowUp');
    await becomes(all, [two, last, one]);
    await page.locator('.cell').nth(0).focus();
    await keys('z');
    await becomes(all, [one, two, last]);
    await page.locator('.cell').nth(0).focus();
    await keys('Shift+ArrowDown', 'Control+Shift+ArrowDown');
    await becomes(all, [last, one, two]);
    assert.equal(await page.locator('.cell[data-selected]').count(), 2);
    await keys('Control+Shift+ArrowUp');
    await becomes(all, [one, two, last]);
    assert.equal(await page.locator('.cell[data-selected]').count(), 2);
    await page.reload();
    await page.locator('.row').nth(3).click();
    await ran(3);
    await page.locator('.cell').nth(1).locator('.cm-line').nth(1).click();
    await keys('Home', 'Control+Shift+Minus');
    await becomes(all, [one, 'x = x + 1', 'print("two")', last]);
    await focused([2, 'editor']);
    await page.keyboard.insertText('y = 1;');
    await becomes(all, [one, 'x = x + 1', 'y = 1;print("two")', last]);
});

test(
    'a NameError names the cells above that have not run on this branch, and runs them',
    nightly(),
    async () => {
        for (const [i, code] of ['a = 1', 'b = 2', 'c = 3'].entries()) {
            await run(code);
            await ran(i + 1);
        }
        await page.locator('.cell').nth(0).focus();
        await keys('b', 'Enter');
        await page.keyboard.insertText('print(a)');
        await keys('Shift+Enter');
        await ran(2);
        await run('print("c is", c)');
        const note = page.getByText('“c” is set in a cell above that has not finished on this branch.');
        await note.waitFor();
        await page.getByRole('button', { name: 'Run the 2 cells above and this one' }).click();
        await ran(5);
        await sees('c is 3');
        await note.waitFor({ state: 'detached' });
        // If that cell failed, its changes can be kept.
        await run('half = 1\nstop_here()');
        await page.getByText('stop_here').last().waitFor();
        await run('print("half is", half)');
        const other = page.locator('.undone-changes', { hasText: '“half” is set in a cell above' });
        await other.getByRole('button', { name: 'Keep its changes' }).click();
        await other.waitFor({ state: 'detached' });
        await ran(6);
        // Of a name that no cell sets, there is nothing to say.
        await run('print(nowhere)');
        await page.locator('.error-view', { hasText: 'nowhere' }).waitFor();
        assert.equal(await page.locator('.undone-changes', { hasText: 'nowhere' }).count(), 0);
    },
);

test(
    '“Run all” also runs a cell between cells that ran, and then those below it again',
    nightly(),
    async () => {
        await three();
        await page.locator('.cell').nth(0).focus();
        await keys('b', 'Enter');
        await page.keyboard.insertText('x = 100');
        await page.getByRole('button', { name: 'More' }).click();
        await page.getByRole('menuitem', { name: 'Run all Runs 3 cells' }).click();
        await ran(4);
        await run('print("x is", x)');
        await sees('x is 102');
        await page.getByRole('button', { name: 'More' }).click();
        await page.getByRole('menuitem', { name: 'Run all All cells have run.' }).waitFor();
        await keys('Escape');
        // The earlier line is there, without the inserted cell.
        await page.locator('.row', { hasText: 'x = x + 1' }).last().click();
        await ran(3);
        assert.equal(await page.locator('.cell[data-kind="draft"]:not([data-fresh])').count(), 0);
    },
);

test('a cell that fails out of sight is told, with a way to it', nightly(), async () => {
    const fill = 'print("line\\n" * 30)';
    await drafts(fill, fill, '1 / 0', 'print("never")');
    await page.locator('.cell').nth(0).focus();
    await keys('Control+Shift+Enter');
    await ran(2);
    const notice = page.locator('.notice[data-open]', {
        hasText: 'A cell failed: ZeroDivisionError: division by zero',
    });
    await notice.getByRole('button', { name: 'Go to it' }).click();
    await focused([2, 'cell']);
    await page.locator('.cell').nth(2).locator('.error-view').waitFor();
    // One that fails in sight is not.
    await run('1 / 0', 'Control+Enter');
    await page.locator('.cell:not([data-fresh])').last().locator('.error-view').waitFor();
    assert.equal(await notice.count(), 0);
});

test('an empty cell between cells that ran stays through a reload, runs and moves around it', async () => {
    await three();
    await page.locator('.cell').nth(0).focus();
    await keys('b');
    const kinds = () => page.$$eval('.cell', (all) => all.map((one) => one.dataset.kind));
    const before = ['ran', 'draft', 'ran', 'ran', 'draft'];
    await becomes(kinds, before);
    await onDisk();
    await page.reload();
    await page.waitForSelector('.notebook[aria-busy="false"]');
    await becomes(kinds, before);
    // The last cell moves up, and then all run again.
    await page.locator('.cell').nth(3).focus();
    await keys('Control+Shift+ArrowUp');
    await becomes(kinds, ['ran', 'draft', 'draft', 'draft', 'draft']);
    await keys('Control+Shift+Enter');
    await ran(3);
    await becomes(kinds, before);
});

test('Ctrl-Backspace merges with the cell above, also cells that ran', async () => {
    await three();
    await page.locator('.cell').nth(2).focus();
    await keys('Control+Backspace');
    await ran(1);
    await becomes(sources, ['x = x + 1print("two")x = x + 1print("three")']);
    await focused([1, 'cell']);
    await keys('z');
    await ran(3);
    await page.locator('.cell').nth(0).focus();
    await keys('Control+Backspace');
    await page.locator('.notice', { hasText: 'There is no cell above to merge.' }).waitFor();
});

test(
    'code can be collapsed into one line, stays collapsed after runs and reloads, and expands where it is needed',
    nightly(),
    async () => {
        const code = '# The data\nvalues = [\n    1,\n    2,\n]\nprint(sum(values))';
        await drafts(code, 'second = 2');
        const folded = () => texts('.folded-code');
        await page.locator('.cell').nth(0).focus();
        await keys('Shift+O');
        await becomes(folded, ['# The data … 6 lines']);
        assert.equal(await page.locator('.cell').nth(0).locator('.editor').isVisible(), false);
        await keys('Control+Enter');
        await ran(1);
        await sees('3');
        assert.deepEqual(await folded(), ['# The data … 6 lines']);
        await page.reload();
        await becomes(folded, ['# The data … 6 lines']);
        const other = await page.context().newPage();
        await other.goto(page.url());
        await other.waitForSelector('.folded-code');
        await other.close();
        await page.locator('.cell').nth(1).locator('.editor').click();
        await keys('Home', 'ArrowUp');
        await focused([0, 'cell']);
        assert.deepEqual(await folded(), ['# The data … 6 lines'], 'arrow keys pass');
        await keys('Enter');
        await focused([0, 'editor']);
        assert.deepEqual(await folded(), []);
        assert.deepEqual(await lines(0), code.split('\n'));
        await choose(0, 'Collapse the code');
        await page.locator('.folded-code').click();
        await focused([0, 'cell']);
        await keys('Shift+ArrowDown', 'Shift+O');
        await becomes(folded, ['# The data … 6 lines', 'second = 2 … 1 line']);
        await keys('Control+f');
        await page.waitForSelector('.find-panel input:focus');
        await page.keyboard.insertText('sum');
        await becomes(folded, ['second = 2 … 1 line']);
        await page.waitForSelector('.found-here');
        await keys('Escape');
    },
);

test(
    'outputs can be collapsed, line numbers are toggled and remembered, Space scrolls',
    nightly(),
    async () => {
        await run('print("line")\n'.repeat(40));
        await ran(1);
        await page.locator('.cell').nth(0).focus();
        const height = () =>
            page
                .locator('.outputs')
                .first()
                .evaluate((one) => one.getBoundingClientRect().height);
        const whole = await height();
        await keys('o');
        assert.ok((await height()) < whole / 2);
        await keys('o');
        assert.equal(await height(), whole);
        await keys('l');
        assert.ok((await page.locator('.cm-lineNumbers').count()) >= 2);
        await page.reload();
        await page.waitForSelector('.cm-lineNumbers');
        await page.locator('.cell').nth(0).focus();
        await keys('l');
        assert.equal(await page.locator('.cm-lineNumbers').count(), 0);
        const top = () => page.$eval('main', (one) => one.scrollTop);
        await page.$eval('main', (one) => (one.scrollTop = 0));
        await keys('Space');
        await page.waitForFunction(() => document.querySelector('main').scrollTop > 0);
        await keys('Shift+Space');
        await becomes(top, 0);
    },
);

testWithoutPage(
    'Tab inserts the only completion at once, and shows several as a list; Enter accepts',
    async () => {
        const { on, keys: k, notebook } = await asked();
        await k.type('impo');
        await k.press('Tab');
        await becomes(() => lines(1, on), ['import']);
        await k.type('\npr');
        // In the list that typing opens, Tab would accept the first entry.
        await becomes(() => list(on), ['print', 'property']);
        await k.press('Escape');
        await becomes(() => list(on), []);
        await k.press('Tab');
        await becomes(() => list(on), ['print', 'property']);
        await becomes(
            () => texts('.completions [aria-selected]', on),
            ['ƒprint(*values, sep=" ", end="\\n", file=None)'],
        );
        await k.press('ArrowDown');
        await k.press('Enter');
        await becomes(() => lines(1, on), ['import', 'property']);
        assert.equal(
            notebook.questions.at(-1).state,
            [...notebook.states.keys()].at(-1),
            'asked about the state that the draft would run against',
        );
        await k.press('Enter');
        await k.press('Tab');
        await becomes(() => lines(1, on), ['import', 'property', '    ']);
        await focused([1, 'editor'], on);
    },
);

testWithoutPage(
    'in a list that typing opened, Enter begins a new line and Tab accepts',
    nightly(),
    async () => {
        const { on, keys: k } = await asked();
        await k.type('pr');
        await becomes(() => list(on), ['print', 'property']);
        assert.equal(await on.locator('.completions [aria-selected]').count(), 0);
        await k.press('Enter');
        await becomes(() => lines(1, on), ['pr', '']);
        assert.equal(await on.locator('.completions').count(), 0);
        await k.type('text.');
        await becomes(() => list(on), ['upper', 'split', 'strip']);
        await k.type('s');
        await becomes(() => list(on), ['split', 'strip']);
        await k.press('Tab');
        await becomes(() => lines(1, on), ['pr', 'text.split']);
        await k.type('\n# pri');
        await k.press('Escape');
        await focused([1, 'cell'], on);
    },
);

testWithoutPage('an answer that comes after more was typed is followed by a request for it', async () => {
    const { on, keys: k, notebook } = await asked();
    notebook.slowMs = 500;
    await k.type('text');
    await becomes(() => Promise.resolve(notebook.questions.at(-1)?.code), 'text');
    await k.type('.');
    await becomes(() => list(on), ['upper', 'split', 'strip']);
});

testWithoutPage('a check of the code that the server is too busy for is made again', nightly(), async () => {
    const { on, keys: k, notebook } = await asked();
    const check = notebook.check.bind(notebook);
    notebook.check = () => {
        notebook.check = check;
        return notebook.refuse('check', 'it took longer than 2 s');
    };
    await k.insertText('x = = 1');
    await becomes(() => texts('.cm-lintRange-error', on), ['=']);
    assert.equal(notebook.check, check);
});

testWithoutPage(
    'completion is inserted at the right place after wide characters, in magics and in keys, and doubles no bracket',
    nightly(),
    async () => {
        const { on, keys: k, notebook } = await asked();
        await k.type('"🌱"; grö');
        await k.press('Control+Space');
        await becomes(() => lines(1, on), ['"🌱"; größe']);
        assert.equal(notebook.questions.at(-1).cursor, 8);
        await k.press('Enter');
        await k.type('%timei');
        await k.press('Tab');
        await becomes(() => lines(1, on), ['"🌱"; größe', '%timeit']);
        await k.press('Enter');
        await k.type('d["si');
        await k.press('Tab');
        await becomes(() => lines(1, on), ['"🌱"; größe', '%timeit', 'd["size"]']);
    },
);

testWithoutPage(
    'late completions for an earlier text are dropped, and completion works below a running cell',
    nightly(),
    async () => {
        const { on, keys: k, notebook } = await asked();
        notebook.slowMs = 250;
        await k.type('pr');
        await k.press('Tab');
        await k.press('Backspace');
        await k.press('Backspace');
        await k.press('Escape');
        await becomes(() => Promise.resolve(notebook.questions.length > 0), true);
        await becomes(() => Promise.resolve(notebook.answered === notebook.questions.length), true);
        await on.evaluate(
            () => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted))),
        );
        assert.equal(await on.locator('.completions').count(), 0);
        notebook.slowMs = 0;
        const [, first] = [...notebook.states.keys()];
        await k.press('Enter');
        await k.insertText('time.sleep(600)');
        await k.press('Shift+Enter');
        await on.waitForSelector('[data-status="running"]');
        await focused([2, 'editor'], on);
        await k.type('prop');
        await k.press('Tab');
        await becomes(() => lines(2, on), ['property']);
        assert.equal(notebook.questions.at(-1).state, first);
        await k.press('Control+.');
        await on.waitForSelector('[data-status="interrupted"]');
    },
);

testWithoutPage(
    'the page stays silent when the server refuses completion and documentation',
    nightly(),
    async () => {
        const { on, keys: k, notebook } = await asked();
        notebook.complete = async () => notebook.refuse('complete', 'it is not built yet');
        notebook.inspect = async () => notebook.refuse('inspect', 'it is not built yet');
        await k.type('print(');
        await k.press('Tab');
        await k.press('Shift+Tab');
        await k.type('x');
        await becomes(() => lines(1, on), ['print(x)']);
        assert.equal(await on.locator('.notice[data-open], .tip, .completions').count(), 0);
    },
);

testWithoutPage('a signature does not replace documentation that loads late', async () => {
    const mock = await start();
    mocks.push(mock);
    const on = await open('about:blank', {}, false);
    let release;
    const held = new Promise((done) => (release = done));
    await on.route('**/notebook-later.js', async (route) => (await held, route.continue()));
    let answers = 0;
    on.on('websocket', (socket) =>
        socket.on('framereceived', ({ payload }) => {
            if (payload.includes('"kind":"inspected"')) answers += 1;
        }),
    );
    await on.goto(mock.url);
    await run('print(', 'Shift+Tab', on);
    // The documentation and, after a pause, the signature of the call.
    await becomes(() => answers, 2);
    release();
    await on.waitForSelector('.tip[data-size="short"]');
    await on.keyboard.press('Shift+Tab');
    await on.waitForSelector('.tip[data-size="whole"]');
});

testWithoutPage(
    'Shift-Tab shows documentation at the cursor, then more of it; Esc closes it; at the beginning of a line Shift-Tab unindents',
    async () => {
        const { on, keys: k } = await asked();
        await k.type('    print');
        // Closes the list that typing may have opened. Without one, Escape would leave the editor.
        await k.press('Home');
        await k.press('End');
        await k.press('Shift+Tab');
        await on.waitForSelector('.tip[data-size="short"]');
        assert.match(await on.locator('.tip').textContent(), /print\(\*values.*Prints the values/s);
        assert.equal(await on.locator('.tip').getAttribute('role'), 'tooltip');
        assert.equal(
            await on.evaluate(() => document.activeElement.getAttribute('aria-describedby')),
            await on.locator('.tip').getAttribute('id'),
        );
        const short = (await on.locator('.tip').boundingBox()).height;
        await k.press('Shift+Tab');
        await on.waitForSelector('.tip[data-size="whole"]');
        // The tip gets its position only when it is painted.
        await becomes(async () => {
            const whole = await on.locator('.tip').boundingBox();
            return whole.height > short && whole.y >= 0 && whole.y + whole.height <= 800;
        }, true);
        await k.press('PageDown');
        await on.waitForFunction(() => document.querySelector('.tip').scrollTop > 50);
        await k.press('Escape');
        assert.equal(await on.locator('.tip').count(), 0);
        await focused([1, 'editor'], on);
        await k.press('Home');
        await k.press('Shift+Tab');
        await becomes(() => lines(1, on), ['print']);
        await k.press('End');
        await k.type('zz');
        await k.press('Shift+Tab');
        await on.waitForFunction(() =>
            document.querySelector('.tip')?.textContent.includes('No documentation'),
        );
        await k.type('z');
        await on.waitForFunction(() => !document.querySelector('.tip'));
    },
);

testWithoutPage(
    'the signature highlights the current argument, and closes when the cursor leaves the call',
    nightly(),
    async () => {
        const { on, keys: k } = await asked();
        const active = () => texts('.tip-active', on);
        await k.type('print(');
        await becomes(active, ['*values']);
        await k.press('Escape');
        await k.type('x, y');
        await k.press('Backspace');
        await becomes(active, ['sep=" "']);
        await becomes(
            async () =>
                /parameter sep/.test(await on.locator('.cell').nth(1).locator('.cm-announced').textContent()),
            true,
        );
        await k.press('ArrowLeft');
        await k.press('ArrowLeft');
        await becomes(active, ['*values']);
        await k.press('End');
        await becomes(() => on.locator('.tip').count(), 0);
        await k.press('ArrowLeft');
        await k.type(',');
        await becomes(active, ['end="\\n"']);
        await k.press('Escape');
        assert.equal(await on.locator('.tip').count(), 0);
        await focused([1, 'editor'], on);
    },
);

test(
    'z undoes a paste, a merge and a split of drafts in turn, but keeps a pasted draft that was edited since',
    nightly(),
    async () => {
        await drafts('one\ntwo', 'three');
        await page.locator('.cell').nth(0).focus();
        await keys('Enter', 'Control+Home', 'ArrowDown', 'Control+Shift+Minus');
        await becomes(sources, ['one', 'two', 'three']);
        await keys('Escape', 'Shift+M');
        await becomes(sources, ['one', 'twothree']);
        await keys('c', 'v');
        await becomes(sources, ['one', 'twothree', 'twothree']);
        await keys('z');
        await becomes(sources, ['one', 'twothree']);
        await focused([1, 'cell']);
        await keys('z');
        await becomes(sources, ['one', 'two', 'three']);
        assert.equal(await page.locator('.notice').textContent(), '');
        await keys('z');
        await becomes(sources, ['onetwo', 'three']);
        await becomes(() => lines(0), ['one', 'two']);
        await keys('c', 'v', 'Enter', 'x', 'Escape', 'z');
        assert.equal((await sources()).length, 3, 'the edited draft stays');
    },
);

test(
    'code typed key by key is indented as meant, and typed closing quotes replace the inserted ones',
    nightly(),
    async () => {
        await run('', 'Escape');
        await keys('Enter');
        const type = async (text) => {
            for (const one of text) await page.keyboard.press(one === '\n' ? 'Enter' : one);
        };
        await type('def f(a):\n"""Say\nit"""\nif a:\nreturn [1,\n2]\nreturn \'\'\'2\'\'\'\nf(1)');
        await becomes(
            () => lines(0),
            [
                'def f(a):',
                '    """Say',
                '    it"""',
                '    if a:',
                '        return [1,',
                '               2]',
                "        return '''2'''",
                '    f(1)',
            ],
        );
    },
);

test(
    'Ctrl-D adds cursors, brackets close, and Ctrl-/ toggles comments in code and in text',
    nightly(),
    async () => {
        await run('', 'Escape');
        await keys('Enter');
        await page.keyboard.type('(a, a, b');
        await becomes(() => lines(0), ['(a, a, b)']);
        await keys('Home', 'ArrowRight', 'Control+d', 'Control+d');
        await page.keyboard.type('cc');
        await becomes(() => lines(0), ['(cc, cc, b)']);
        await keys('Escape');
        await focused([0, 'editor']);
        await keys('Control+/');
        await becomes(() => lines(0), ['# (cc, cc, b)']);
        await keys('Control+/', 'Escape', 'm', 'Enter', 'Control+a', 'Control+/');
        await becomes(() => lines(0), ['<!-- (cc, cc, b) -->']);
        const wide = page.locator('.cell').nth(0).locator('.cm-content');
        await keys('Control+a');
        await page.keyboard.type('x');
        assert.equal(await wide.locator('[style]').count(), 0, 'the browser left no inline style');
    },
);

test('Find marks and counts matches in all cells and steps through them; Replace all is undone in one step', async () => {
    await three();
    await drafts('total = x', 'print("X")');
    await page.locator('.cell').nth(0).focus();
    await keys('Control+f');
    await page.waitForSelector('.find-panel input:focus');
    await page.keyboard.type('x');
    await becomes(() => texts('.find-count'), ['1 of 7']);
    assert.equal(await page.locator('.found').count(), 7);
    await keys('Enter', 'Enter');
    await becomes(() => texts('.find-count'), ['3 of 7']);
    await keys('Shift+Enter', 'Shift+Enter', 'Shift+Enter');
    await becomes(() => texts('.find-count'), ['7 of 7']);
    await keys('Alt+c');
    await becomes(
        () => texts('.find-count'),
        ['6 of 6'].map(() => '1 of 6'),
    );
    await keys('Control+h');
    await page.getByLabel('Replace with').fill('size');
    await page.getByRole('button', { name: 'Replace', exact: true }).click();
    await becomes(() => lines(0), ['size = 1', 'print("one")']);
    assert.equal(await page.locator('.cell[data-edited]').count(), 1);
    await page.getByRole('button', { name: 'Replace all' }).click();
    // The button is disabled; the keys of the bar still work.
    await page.waitForSelector('.find-text:focus');
    await keys('Escape');
    await page.waitForSelector('.find-panel', { state: 'detached' });
    await keys('Control+h');
    await page.waitForSelector('.find-text:focus');
    await keys('Tab');
    await page.waitForSelector('.find-by:focus');
    await becomes(() => lines(1), ['size = size + 1', 'print("two")']);
    await becomes(sources, ['total = size', 'print("X")']);
    assert.match(await page.locator('.notice').textContent(), /3 cells changed/);
    await page.getByRole('button', { name: 'Undo' }).click();
    await becomes(sources, ['total = x', 'print("X")']);
    await becomes(() => lines(1), ['x = x + 1', 'print("two")']);
    await page.getByLabel('Find', { exact: true }).fill('(');
    await keys('Alt+r');
    await becomes(() => texts('.find-count'), ['Invalid regular expression']);
    await page.getByLabel('Find', { exact: true }).fill('t\\w+l');
    await becomes(() => texts('.find-count'), ['1 of 1']);
    await keys('Escape');
    await focused([3, 'editor']);
    assert.equal(await page.locator('.found, .find-panel').count(), 0);
    assert.equal(await page.evaluate(() => getSelection().toString()), 'total');
});

test('Find goes through outputs after the code of their cell; Replace changes only cells', async () => {
    await run('for i in range(300): print("row", i, "needle" if i in (7, 280) else "")', 'Shift+Enter');
    await ran(1);
    await run('"needle" * 2');
    await ran(2);
    await run('raise ValueError("no needle")');
    await page.waitForSelector('.error-view');
    await page.locator('.cell').nth(0).focus();
    await keys('Control+f');
    await page.waitForSelector('.find-panel input:focus');
    const count = () => texts('.find-count');
    await page.keyboard.insertText('needle');
    // Three in code, two printed, two in a value, one in an error.
    await becomes(count, ['1 of 8']);
    const marked = (name) => page.evaluate((of) => [...(CSS.highlights.get(of) ?? [])].map(String), name);
    await becomes(() => marked('found'), Array(5).fill('needle'));
    await keys('Enter', 'Enter');
    await becomes(count, ['3 of 8']);
    // In the box of the long output, line 280 is scrolled into sight.
    const isSeen = () =>
        page.evaluate(() => {
            const [range] = /** @type {Iterable<Range>} */ (CSS.highlights.get('found-here') ?? []);
            const at = range?.getBoundingClientRect();
            const box = document.querySelector('[data-boxed] > .text').getBoundingClientRect();
            return at && at.height > 0 && at.top >= box.top && at.bottom <= Math.min(box.bottom, innerHeight);
        });
    await becomes(isSeen, true);
    // Replace passes over the matches in outputs.
    await keys('Control+h');
    await becomes(count, ['3 of 8']);
    await becomes(() => texts('.find-in-cells'), ['3 in cells']);
    await page.getByRole('button', { name: 'Replace', exact: true }).click();
    await becomes(count, ['4 of 8']);
    await page.getByLabel('Replace with').fill('pin');
    await page.getByRole('button', { name: 'Replace', exact: true }).click();
    await becomes(() => lines(1), ['"pin" * 2']);
    await becomes(count, ['6 of 7']);
    await page.getByRole('button', { name: 'Replace all' }).click();
    await becomes(() => texts('.find-in-cells'), ['0 in cells']);
    await becomes(() => lines(2), ['raise ValueError("no pin")']);
    assert.equal(await page.locator('.outputs').getByText('needleneedle').count(), 1, 'the output stays');
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.locator('.find-panel').getByRole('button', { name: 'Close' }).click();
    assert.deepEqual(await marked('found'), []);
    // A collapsed output is expanded.
    await page.locator('.cell').nth(1).focus();
    await keys('o');
    await page.waitForSelector('.output-note');
    await keys('Control+f');
    await page.waitForSelector('.find-panel input:focus');
    await page.getByLabel('Find', { exact: true }).fill('eneedle');
    await becomes(count, ['1 of 1']);
    await becomes(() => marked('found-here'), ['eneedle']);
    assert.equal(await page.locator('.output-note').count(), 0);
    await keys('Escape');
});

test('Find and replace also works in text above a cell', nightly(), async () => {
    await page.locator('.cell[data-fresh]').getByRole('button', { name: 'Text' }).click();
    await page.keyboard.insertText('# Load the data');
    await keys('Shift+Enter');
    await page.keyboard.insertText('x = 1');
    await keys('Shift+Enter');
    await ran(1);
    await keys('Control+h');
    await page.getByLabel('Find', { exact: true }).fill('data');
    await page.waitForSelector('.cell[data-found]');
    await page.getByLabel('Replace with').fill('cities');
    await keys('Control+Enter');
    await sees('Load the cities');
    await page.getByRole('button', { name: 'Undo' }).click();
    await sees('Load the data');
});

test('the find bar opens its replace field by button and by key', nightly(), async () => {
    await drafts('one', 'two one');
    await keys('Control+f');
    await page.waitForSelector('.find-panel .find-text:focus');
    await page.keyboard.insertText('one');
    const more = page.getByRole('button', { name: 'Toggle replace' });
    assert.equal(await more.getAttribute('aria-expanded'), 'false');
    await more.click();
    await page.waitForSelector('.find-panel .find-by:focus');
    assert.equal(await more.getAttribute('aria-expanded'), 'true');
    await page.keyboard.insertText('three');
    await keys('Control+Enter');
    await sees('two three');
    await more.click();
    await page.waitForSelector('.find-panel .find-text:focus');
    assert.equal(await page.locator('.find-by').count(), 0);
    await keys('Control+h');
    await page.waitForSelector('.find-by');
    assert.equal(await more.getAttribute('aria-expanded'), 'true');
});

test(
    'the palette finds a command by a few letters, runs it where the focus was, and remembers it',
    nightly(),
    async () => {
        await drafts('one', 'two');
        await page.locator('.cell').nth(0).focus();
        await keys('F1');
        const input = page.getByRole('combobox');
        await input.waitFor();
        const chosen = () => texts('#commands [aria-selected="true"] .title');
        await page.keyboard.insertText('icb');
        await becomes(chosen, ['Insert a cell below']);
        assert.equal(
            await page.evaluate(() =>
                document
                    .getElementById(document.activeElement.getAttribute('aria-activedescendant'))
                    ?.getAttribute('aria-selected'),
            ),
            'true',
        );
        await keys('Enter');
        await focused([1, 'cell']);
        await keys('Control+Shift+p');
        await becomes(chosen, ['Insert a cell below']);
        await keys('ArrowDown', 'ArrowUp', 'ArrowUp');
        await page.keyboard.insertText('no such thing');
        await becomes(() => page.locator('#commands li').count(), 0);
        await keys('Escape');
        await focused([1, 'cell']);
        await page.getByRole('button', { name: 'Command palette…' }).click();
        await input.waitFor();
        await keys('Escape');
    },
);

/** Opens the palette and types into it. */
async function palette(typed) {
    await keys('F1');
    await page.waitForSelector('#commands li');
    await page.keyboard.insertText(typed);
}

test(
    'the palette also has the commands of menus and the header, only when they apply, and finds them by usual names',
    nightly(),
    async () => {
        const offered = () => texts('#commands .title');
        await palette('');
        const all = await offered();
        for (const title of [
            'Share…',
            'Toggle the variables pane',
            'Download as .ipynb',
            'Download as .py',
            'Download as HTML',
            'All notebooks, or a new notebook',
            'Restart',
            'Restart and run all',
            'Clear all outputs',
            'Duplicate notebook',
            'Reset notebook…',
            'Your name…',
        ])
            assert.ok(all.includes(title), `${title} of ${all}`);
        for (const title of ['Label…', 'Delete this state', 'Stop the running cell; press again to kill it'])
            assert.ok(!all.includes(title), `${title} does not apply now`);
        await keys('Escape');
        await three();
        await palette('delete');
        const found = (await offered()).slice(0, 2);
        assert.ok(found.includes('Delete this state'), `of the current state: ${found}`);
        await keys('Escape');
        await page.locator('.cell').nth(1).focus();
        await palette('name');
        await becomes(async () => (await offered()).includes('Label…'), true);
        await page.locator('#commands li', { hasText: 'Label…' }).click();
        await page.locator('dialog input').fill('second');
        await keys('Enter');
        await page.locator('.cell').nth(1).locator('.label', { hasText: 'second' }).waitFor();
        await run('import time\ntime.sleep(60)');
        await page.waitForSelector('[data-status="running"]');
        await palette('interrupt');
        await becomes(offered, ['Stop the running cell; press again to kill it']);
        await keys('Enter');
        await page.waitForSelector('[data-status="interrupted"]');
        await palette('html');
        await becomes(offered, ['Download as HTML', 'Download all branches as HTML']);
        await keys('Escape');
        await palette('variables');
        await keys('Enter');
        await page.waitForSelector('.variables-pane tbody');
    },
);

test(
    'a key pressed right after a dialog closes goes to the element that the dialog’s command focused',
    nightly(),
    async () => {
        await drafts('one', 'two');
        await page.locator('.cell').nth(0).focus();
        await palette('last cell');
        await becomes(() => texts('#commands [aria-selected="true"] .title'), ['Go to the last cell']);
        // Both keys in one task: a busy page handles fast typing that way.
        await page.evaluate(async () => {
            const press = (key) =>
                document.activeElement.dispatchEvent(
                    new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }),
                );
            press('Enter');
            for (let i = 0; i < 20; i++) await null;
            press('k');
        });
        await focused([1, 'cell']);
        assert.equal(await page.locator('dialog').count(), 0);
    },
);

test('text typed right before a key of command mode is not lost', async () => {
    await drafts('# one', '# two');
    for (const [nth, key, wanted] of [
        [0, 'm', 'one'],
        [1, '2', '## two'],
    ]) {
        await page.locator('.cell').nth(nth).focus();
        await keys('Enter');
        await focused([nth, 'editor']);
        // All events in one task: a busy page handles fast input that way.
        await page.evaluate((last) => {
            const press = (key, ctrlKey = false) =>
                document.activeElement.dispatchEvent(
                    new KeyboardEvent('keydown', { key, ctrlKey, bubbles: true, cancelable: true }),
                );
            press('/', true);
            press('Escape');
            press(last);
        }, key);
        await page.locator('.cell[data-text]').nth(nth).focus();
        await keys('Enter');
        await becomes(() => lines(nth), [wanted]);
        await keys('Escape');
    }
});

test(
    'a click on a cell whose editor does not exist yet puts the cursor where the click was',
    nightly(),
    async () => {
        await drafts(...Array.from({ length: 8 }, (_, i) => `cell = ${i}${'\n1'.repeat(20)}`));
        await page.locator('.cell').nth(0).focus();
        await page.reload();
        await page.waitForSelector('.notebook[aria-busy="false"]');
        await page.locator('.cm-content').first().waitFor();
        // All events in one task: a busy page handles fast input that way.
        const nth = await page.evaluate(() => {
            const all = [...document.querySelectorAll('.cell .editor')];
            const far = all.findIndex((one) => !one.firstElementChild);
            all[far]?.scrollIntoView();
            const { right, top } = all[far]?.getBoundingClientRect() ?? {};
            all[far]?.dispatchEvent(
                new MouseEvent('mousedown', {
                    bubbles: true,
                    cancelable: true,
                    clientX: right - 5,
                    clientY: top + 5,
                }),
            );
            return far;
        });
        assert.ok(nth > 0, 'one editor does not exist yet');
        await focused([nth, 'editor']);
        await page.keyboard.type('0');
        await becomes(async () => (await lines(nth))[0], `cell = ${nth}0`);
    },
);

test('the list of keyboard shortcuts can be searched, and Esc closes it', nightly(), async () => {
    await drafts('one');
    await page.locator('.cell').nth(0).focus();
    await keys('?');
    await page.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor();
    assert.ok((await page.locator('.key-groups dt').count()) > 40);
    const inside = await page.$eval('.key-groups', (one) => one.scrollWidth <= one.clientWidth);
    assert.ok(inside, 'nothing extends beyond the side');
    await page.keyboard.insertText('paste');
    await becomes(() => texts('.key-groups dd'), ['Paste below', 'Paste above']);
    await keys('Escape');
    await focused([0, 'cell']);
});

/** The middle of the handle by which a cell is dragged. @param {number} n */
async function grip(n) {
    await page.locator('.cell').nth(n).hover();
    const { x, y, width, height } = await page.locator('.cell').nth(n).locator('.drag-handle').boundingBox();
    return { x: x + width / 2, y: y + height / 2 };
}

/**
 * Drags a cell above all others.
 * @param {number} n
 * @returns {Promise<{x: number, y: number}>} where its handle was
 */
async function dragToTop(n) {
    const from = await grip(n);
    const top = await page.locator('.cell').nth(0).boundingBox();
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(from.x, top.y + 3, { steps: 4 });
    await page.waitForSelector('.drop');
    await page.mouse.up();
    return from;
}

test('drafts can be moved by keys and by dragging, alone and together, and the focus follows', async () => {
    await drafts('one', 'two', 'three');
    await page.locator('.cell').nth(0).focus();
    await keys('Control+Shift+ArrowDown');
    await becomes(sources, ['two', 'one', 'three']);
    await focused([1, 'cell']);
    await keys('Enter', 'Control+Shift+ArrowDown');
    await becomes(sources, ['two', 'three', 'one']);
    await focused([2, 'editor']);
    await keys('Escape', 'k', 'Shift+ArrowUp', 'Control+Shift+ArrowDown');
    await becomes(sources, ['one', 'two', 'three']);
    await allParts();
    await page.locator('.cell').nth(3).focus();
    const from = await dragToTop(2);
    await becomes(sources, ['three', 'one', 'two']);
    await page.mouse.move(from.x, (await grip(0)).y);
    await page.mouse.down();
    await page.mouse.move(from.x, from.y + 20, { steps: 4 });
    await keys('Escape');
    await page.mouse.up();
    assert.equal(await page.locator('.drop, [data-dragged]').count(), 0);
    assert.deepEqual(await sources(), ['three', 'one', 'two'], 'Esc cancels the drag');
    await page.reload();
    await becomes(sources, ['three', 'one', 'two']);
});

test('a text cell among cells that ran is dragged, and no cell needs to run again', nightly(), async () => {
    await run('x = 1');
    await ran(1);
    await page.locator('.cell[data-fresh]').getByRole('button', { name: 'Text' }).click();
    await page.keyboard.insertText('# Load the data');
    await keys('Shift+Enter');
    await page.keyboard.insertText('y = 2');
    await keys('Shift+Enter');
    await ran(2);
    const kinds = () =>
        page.$$eval('.cell:not([data-fresh])', (all) => all.map(({ dataset }) => dataset.kind));
    await becomes(kinds, ['ran', 'text', 'ran']);
    await allParts();
    await dragToTop(1);
    await becomes(kinds, ['text', 'ran', 'ran']);
    await focused([0, 'cell']);
    assert.equal(await page.locator('.notice[data-open]').count(), 0);
    await page.reload();
    await becomes(kinds, ['text', 'ran', 'ran']);
    await page.locator('.cell').nth(1).focus();
    await keys('z');
    await becomes(kinds, ['ran', 'text', 'ran']);
    await focused([1, 'cell']);
});

test('from the address to a branch with the keyboard alone', nightly(), async () => {
    await focused([0, 'editor']);
    await page.keyboard.type('x = 1');
    await keys('Shift+Enter');
    await ran(1);
    await page.keyboard.type('print("two")');
    await keys('Shift+Enter');
    await ran(2);
    await keys('Escape', 'k', 'k', 'g');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'graph');
    await keys('ArrowUp', 'Enter');
    await ran(1);
    await keys('F1');
    await page.waitForSelector('#commands li');
    await page.keyboard.type('last cell');
    await keys('Enter', 'Enter');
    await page.keyboard.type('print("branch")');
    await keys('Shift+Enter');
    await ran(2);
    assert.deepEqual(await rows(), ['Start', 'x = 1', 'print("branch")', 'print("two")']);
});

testWithoutPage('the palette offers viewers no command that changes the notebook', nightly(), async () => {
    const mock = await start();
    mocks.push(mock);
    const viewer = await open(mock.url.replace('secret', 'view'));
    await viewer.keyboard.press('F1');
    await viewer.getByRole('combobox').waitFor();
    const offered = await texts('#commands .title', viewer);
    for (const never of [
        'Insert a cell below',
        'Restart',
        'Clear all outputs',
        'Duplicate notebook',
        'Reset notebook…',
        'Find and replace in all cells',
        'Run all drafts',
    ])
        assert.ok(!offered.includes(never), never);
    assert.ok(offered.includes('Find in all cells'));
});

test(
    'Markdown is highlighted while it is edited, lists go on with Enter, and Python code blocks are highlighted in both',
    nightly(),
    async () => {
        await page.locator('.cell[data-fresh]').getByRole('button', { name: 'Text' }).click();
        await page.keyboard.insertText('# Title\n\n```python\nfor x in "abc": print(x)\n```\n\n- one');
        const weight = () =>
            page.evaluate(() => {
                const line = document.querySelector('.cell[data-text] .cm-line span:last-child');
                return line && getComputedStyle(line).fontWeight;
            });
        await becomes(weight, '700');
        const colours = () =>
            page.evaluate(
                () =>
                    [...document.querySelectorAll('.cell[data-text] .cm-line')]
                        .find((line) => line.textContent.startsWith('for'))
                        ?.querySelectorAll('span').length,
            );
        assert.ok((await colours()) >= 3, 'the code block has the colours of Python');
        await keys('Enter');
        assert.deepEqual((await lines(0)).at(-1), '- ');
        await page.keyboard.insertText('two');
        await keys('Escape');
        await page.waitForSelector('.prose pre [data-code="keyword"]');
        assert.deepEqual(await texts('.prose pre [data-code="string"]'), ['"abc"']);
        assert.deepEqual(await texts('.prose li'), ['one', 'two']);
        if (process.env.RATOON_SHOTS) await page.screenshot({ path: `${process.env.RATOON_SHOTS}/text.png` });
    },
);

// Runs of several cells, also of those that ran and were changed; changes of cells that run or wait
// to run. The page on a real server.

import assert from 'node:assert/strict';
import { becomes, nightly } from './browser.mjs';
import {
    focused,
    page,
    prints,
    ran,
    release,
    run,
    test as testOnServer,
    texts,
    untilReleased,
} from './harness.mjs';

const test = (name, body, breadth = {}) =>
    testOnServer(name, { skip: !process.env.RATOON_BIN && 'needs RATOON_BIN', ...breadth }, body);
const cell = (at) => page.locator('.cell').nth(at);
const keys = async (...all) => {
    for (const key of all) await page.keyboard.press(key);
};
const statuses = () => page.$$eval('.cell', (all) => all.map((one) => one.dataset.status));
const sources = () => texts('.cell:not([data-fresh]) .source > .editor');
const printed = () => texts('.cell .stream');
const focus = (at) => cell(at).focus();

/** Replaces the code of a cell, and leaves its editor. */
async function edit(at, code) {
    await focus(at);
    await keys('Enter', 'Control+a');
    await page.keyboard.insertText(code);
    await keys('Escape');
}

/** Runs cells that each print what they compute. */
async function runAll(...codes) {
    for (const [at, code] of codes.entries()) {
        await run(code);
        await ran(at + 1);
    }
}

/** A cell runs until it is released, and the others wait. The last has the status `new`. */
async function queue(name, ...codes) {
    await run(untilReleased(name));
    for (const code of codes) await run(code);
    await becomes(statuses, ['running', ...codes.map(() => 'queued'), 'new']);
}

test('selected cells that ran and were changed run all, in order, and the others below do not', async () => {
    await runAll('a = 1\nprint(a)', 'b = a + 1\nprint(b)', 'c = b + 1\nprint(c)');
    await edit(0, 'a = 100\nprint(a)');
    await edit(1, 'b = a + 50\nprint(b)');
    await keys('Shift+ArrowUp', 'Shift+Enter');
    await prints('150');
    await ran(2);
    assert.deepEqual(await printed(), ['100', '150', '3']);
    await focused([2, 'cell']);
    // Everything is below the last one that ran; the earlier line shows no change any more.
    await page.locator('.row', { hasText: 'c = b + 1' }).click();
    await ran(3);
    assert.deepEqual(await sources(), ['a = 1print(a)', 'b = a + 1print(b)', 'c = b + 1print(c)']);
});

test(
    'all cells are selected and run again, also those that did not change',
    async () => {
        await runAll('a = 1\nprint(a)', 'print(a + 1)');
        await run('# Title');
        await ran(3);
        await focus(2);
        await keys('Escape', 'm', 'Escape', 'Control+a', 'Control+Enter');
        await becomes(() => page.locator('.row').count(), 6);
        await ran(2);
        assert.deepEqual(await printed(), ['1', '2']);
        await becomes(() => page.locator('.cell[data-selected]').count(), 3);
    },
    nightly(),
);

test('“Run all” runs from the first changed cell on, and says how many it runs', async () => {
    await runAll('a = 1\nprint(a)', 'b = a + 1\nprint(b)', 'c = b + 1\nprint(c)');
    await edit(1, 'b = a + 10\nprint(b)');
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Run all Runs 2 cells' }).click();
    await prints('12');
    await ran(3);
    assert.deepEqual(await printed(), ['1', '11', '12']);
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Run all All cells have run.' }).waitFor();
});

test(
    'the cells above a cell run by the palette if they were changed',
    async () => {
        await runAll('a = 1\nprint(a)', 'b = a + 1\nprint(b)', 'c = b + 1\nprint(c)');
        await edit(0, 'a = 10\nprint(a)');
        await focus(2);
        const above = async () => {
            await keys('Control+Shift+p');
            await page.waitForSelector('#commands li');
            await page.keyboard.insertText('run all above');
            await keys('Enter');
        };
        await above();
        await prints('11');
        await ran(2);
        await focused([2, 'cell']);
        assert.deepEqual(await printed(), ['10', '11', '3']);
        await above();
        await page.locator('.notice[data-open]', { hasText: 'All cells above have run.' }).waitFor();
    },
    nightly(),
);

test(
    '“Run all” waits for a new version that runs, and then runs the cells below',
    async () => {
        await runAll('a = 1\nprint(a)', 'print(a + 1)');
        await edit(0, `${untilReleased('version')}\na = 5\nprint(a)`);
        await keys('Control+Enter');
        await becomes(async () => (await statuses())[0], 'running');
        await page.getByRole('button', { name: 'More' }).click();
        await page.getByRole('menuitem', { name: /^Run all/ }).click();
        await page.locator('.notice[data-open]', { hasText: 'The cells below run when' }).waitFor();
        await release('version');
        await prints('6');
        await ran(2);
    },
    nightly(),
);

test('a waiting cell that is deleted leaves the queue; the ones below still run', async () => {
    await run('x = 1');
    await ran(1);
    await run(untilReleased('first'));
    await run('x += 1');
    await run('x *= 10\nprint(x)');
    await becomes(statuses, ['ok', 'running', 'queued', 'queued', 'new']);
    await focus(2);
    await keys('d', 'd');
    await becomes(statuses, ['ok', 'running', 'queued', 'new']);
    await release('first');
    await prints('10');
    await ran(3);
    assert.deepEqual(await printed(), ['10']);
});

test('a running cell is not deleted, cut, moved, merged or converted; a notice offers to stop it', async () => {
    await queue('running', 'x = 1');
    await page.locator('.cell[data-fresh] .editor').click();
    await page.keyboard.insertText('typed');
    await keys('Escape');
    for (const key of ['x', 'Shift+M', 'Control+Shift+ArrowDown', 'm', '3']) {
        await focus(0);
        await keys(key);
        await page.locator('.notice[data-open]', { hasText: 'The cell is running.' }).waitFor();
        await page.locator('.notice').getByRole('button', { name: 'Close' }).click();
    }
    assert.deepEqual((await sources()).slice(1), ['x = 1', 'typed']);
    await focus(0);
    await keys('d', 'd');
    await page.locator('.notice[data-open]').getByRole('button', { name: 'Stop' }).click();
    await becomes(async () => (await statuses())[0], 'interrupted');
    assert.deepEqual((await sources()).slice(1), ['x = 1', 'typed']);
});

test(
    'waiting cells that are moved, split or merged run in their new order; text does not run',
    async () => {
        await queue('order', 'print("b")', 'print("c")\nprint("d")', 'print("e")', 'print("f")');
        await focus(2);
        await keys('Control+Shift+ArrowUp');
        await becomes(async () => (await sources())[1], 'print("c")print("d")');
        await becomes(statuses, ['running', 'queued', 'queued', 'queued', 'queued', 'new']);
        await focus(1);
        await keys('Enter', 'Control+Home', 'ArrowDown', 'Control+Shift+Minus');
        await becomes(statuses, ['running', 'queued', 'queued', 'queued', 'queued', 'queued', 'new']);
        await focus(3);
        await keys('Shift+M');
        await becomes(async () => (await sources())[3], 'print("b")print("e")');
        await becomes(statuses, ['running', 'queued', 'queued', 'queued', 'queued', 'new']);
        await focus(4);
        await keys('m', 'Escape');
        await becomes(async () => (await statuses()).filter((one) => one === 'queued').length, 3);
        await release('order');
        await ran(4);
        assert.deepEqual(await printed(), ['c', 'd', 'b\ne']);
    },
    nightly(),
);

test(
    'an undo does not remove a cell that runs',
    async () => {
        await run('x = 1');
        await ran(1);
        await run(untilReleased('undone'));
        await becomes(statuses, ['ok', 'running', 'new']);
        await focus(1);
        await keys('c', 'v', 'Control+Enter');
        await becomes(
            async () => (await statuses()).filter((one) => one === 'running' || one === 'queued').length,
            2,
        );
        await keys('z');
        await release('undone');
        await ran(3);
    },
    nightly(),
);

test('a notice about cells that wait to run goes when one of them runs', async () => {
    await runAll('a = 1', 'b = 2');
    await focus(1);
    await keys('Control+Shift+ArrowUp');
    const notice = page.locator('.notice[data-open]', { hasText: 'to run in a new branch' });
    await notice.waitFor();
    await keys('Control+Enter');
    await ran(1);
    await notice.waitFor({ state: 'detached' });
});

// The focus after every user action, and everything that works with the keyboard alone.

import assert from 'node:assert/strict';
import { becomes, nightly } from './browser.mjs';
import { UNDO_MS } from '../../web/notebook/state-deletion.js';
import {
    choose,
    drafts,
    focus,
    focused,
    frameFocused,
    onBranch,
    open,
    page,
    pointerReaches,
    prints,
    ran,
    release,
    rows,
    run,
    sees,
    server,
    test,
    texts,
    three,
    untilReleased,
} from './harness.mjs';

const sources = () => texts('.cell[data-kind="draft"]:not([data-fresh]) .source > .editor');

test('a new notebook has the focus in its empty cell; a notebook opened by a link to a state has not', async () => {
    await focused([0, 'editor']);
    await page.keyboard.insertText('x = 1');
    await page.keyboard.press('Shift+Enter');
    await ran(1);
    const linked = await open(page.url(), { storageState: await page.context().storageState() });
    assert.equal(await focus(linked), 'BODY');
});

test('Escape in the menu of a cell leaves the cell selected; an empty cell says what its type takes', async () => {
    await run('x = 1');
    await ran(1);
    const cell = page.locator('.cell').first();
    await cell.hover();
    await cell.getByLabel('Cell actions').click();
    await page.locator('.cell [role="menuitem"]').first().waitFor();
    await page.keyboard.press('Escape');
    await focused([0, 'cell']);
    await page.keyboard.press('b');
    await focused([1, 'cell']);
    const says = () => page.locator('.cell').nth(1).locator('.cm-placeholder').textContent();
    const said = [await says()];
    for (const [key, kind] of [
        ['m', 'markdown'],
        ['r', 'raw'],
    ]) {
        await page.keyboard.press(key);
        await page.locator(`.cell[data-text="${kind}"]`).waitFor();
        said.push(await says());
    }
    assert.equal(new Set(said).size, 3, said.join(' '));
    await page.keyboard.press('y');
    await becomes(says, said[0]);
});

test('after a reload the focus is where it was, and keys work there', async () => {
    await three();
    const reload = async (wanted) => {
        await page.reload();
        await ran(3);
        await focused(wanted);
    };
    await page.locator('.cell').nth(1).locator('.cm-content').click();
    await page.keyboard.press('Control+Home');
    for (let i = 0; i < 4; i += 1) await page.keyboard.press('ArrowRight');
    await reload([1, 'editor']);
    await page.keyboard.insertText('10 + ');
    await page.waitForFunction(() =>
        document.querySelectorAll('.cell')[1].textContent.includes('x = 10 + x + 1'),
    );
    await page.keyboard.press('Escape');
    await reload([1, 'cell']);
    await page.keyboard.press('j');
    await focused([2, 'cell']);
    await page.locator('#graph').focus();
    await page.reload();
    await ran(3);
    await page.waitForFunction(() => document.activeElement.id === 'graph');
    await page.locator('.cell[data-fresh] .editor').click();
    await reload([3, 'editor']);
    await page.keyboard.type('print("four")');
    await page.keyboard.press('Shift+Enter');
    await ran(4);
});

test('keys pressed right after Shift-Enter go to the next cell', async () => {
    await focused([0, 'editor']);
    await page.evaluate(() => {
        const key = (init) =>
            document.activeElement.dispatchEvent(
                new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...init }),
            );
        for (const text of ['x = 1', 'x += 1', 'print(x)']) {
            document.execCommand('insertText', false, text);
            key({ key: 'Enter', shiftKey: true });
        }
    });
    await ran(3);
    assert.deepEqual(await rows(), ['Start', 'x = 1', 'x += 1', 'print(x)']);
    await focused([3, 'editor']);
});

test('when a cell asks for input, the focus moves to the answer, and back afterwards', async () => {
    await run('name = input("Who? ")\nprint("Hello " + name)');
    await focused([0, 'answer']);
    await page.keyboard.insertText('Ada');
    await page.keyboard.press('Enter');
    await ran(1);
    await focused([1, 'editor']);
    await prints('Ada');
});

test('a request for input is announced to a user who types elsewhere, and does not move the focus', async () => {
    await run(`${untilReleased('ask')}\nname = input("Who? ")`);
    await focused([1, 'editor']);
    await page.keyboard.insertText('y = 2');
    await release('ask');
    await page.waitForSelector('.input-prompt');
    await page.waitForFunction(() =>
        document.querySelector('.notice')?.textContent.includes('A cell asks for input: Who?'),
    );
    assert.deepEqual(await focus(), [1, 'editor']);
    await page.locator('.notice').getByRole('button', { name: 'Go to input' }).click();
    await focused([0, 'answer']);
    await page.keyboard.insertText('Ada');
    await page.keyboard.press('Enter');
    await ran(1);
    await focused([1, 'editor']);
    assert.equal(await page.locator('.notice[data-open]').count(), 0);
});

test('a cell that asks for input can be stopped by a key in its answer field', async () => {
    await run('input("Who? ")\nprint("never")');
    await focused([0, 'answer']);
    await page.keyboard.press('Control+.');
    await page.waitForSelector('.cell[data-status="interrupted"]');
    await focused([1, 'editor']);
});

test(
    'text above a cell that ran is a cell: it is reached, edited, moved, cut, pasted and deleted with keys',
    nightly(),
    async () => {
        const press = async (...keys) => {
            for (const key of keys) await page.keyboard.press(key);
        };
        await page.locator('.cell[data-fresh]').getByRole('button', { name: 'Text' }).click();
        await page.keyboard.insertText('# A title');
        await press('Shift+Enter');
        await page.keyboard.insertText('x = 1');
        await press('Shift+Enter');
        await ran(1);
        await focused([2, 'editor']);
        const order = () =>
            page.evaluate(() =>
                [...document.querySelectorAll('.cell:not([data-fresh])')].map((cell) =>
                    cell.hasAttribute('data-text')
                        ? cell.querySelector('.source').textContent.trim()
                        : 'code',
                ),
            );
        const shows = (...wanted) => becomes(order, wanted);
        await shows('A title', 'code');
        assert.equal(await page.locator('.cell[data-kind="text"] .count').textContent(), 'T1');
        assert.equal(await page.locator('.cell[data-kind="text"]').getAttribute('aria-label'), 'Text cell 1');
        await press('Escape', 'k', 'k');
        await focused([0, 'cell']);
        await press('Tab');
        assert.notDeepEqual(await focus(), [0, 'editor'], 'Tab leaves the cell');
        await page.locator('.prose').dblclick();
        await focused([0, 'editor']);
        await press('Control+End');
        await page.keyboard.insertText(' of two');
        await press('Shift+Enter');
        await sees('A title of two');
        await focused([1, 'cell']);
        await press('k', 'Control+Shift+ArrowDown');
        await shows('code', 'A title of two');
        await focused([1, 'cell']);
        await press('z');
        await shows('A title of two', 'code');
        await focused([0, 'cell']);
        await press('x');
        await shows('code');
        await focused([0, 'cell']);
        await press('z');
        await shows('A title of two', 'code');
        await press('d', 'd');
        await shows('code');
        await press('Shift+V');
        await shows('A title of two', 'code');
        await focused([0, 'cell']);
        await page.reload();
        await page.waitForSelector('.cell[data-kind="ran"]');
        await shows('A title of two', 'code');
        await page.locator('.cell').nth(0).focus();
        await press('Enter', 'Control+End');
        await page.keyboard.insertText(' and three');
        await page.reload();
        // The focus is where it was: in the editor.
        await shows('# A title of two and three', 'code');
        await focused([0, 'editor']);
        await press('Escape');
        await focused([0, 'cell']);
        await shows('A title of two and three', 'code');
        const other = await open(page.url(), { storageState: await page.context().storageState() });
        await other.getByText('A title of two and three').waitFor();
    },
);

test('a label is saved with Enter, and the menu stays closed', nightly(), async () => {
    await three();
    await choose(1, 'Label…');
    await page.waitForSelector('dialog[open] input:focus');
    await page.keyboard.insertText('loaded');
    await page.keyboard.press('Enter');
    await sees('loaded');
    assert.equal(await page.locator('[role="menu"]').count(), 0);
});

test('Tab moves through the page without entering an editor, and indents in an editor', async () => {
    await three();
    await drafts('draft');
    await page.locator('.brand').focus();
    const seen = new Set();
    for (let i = 0; i < 40; i += 1) {
        await page.keyboard.press('Tab');
        seen.add(JSON.stringify(await focus()));
    }
    for (const cell of [0, 1, 2, 3]) assert.ok(seen.has(`[${cell},"cell"]`), `${cell} of ${[...seen]}`);
    assert.ok(![...seen].some((one) => one.includes('editor')));
    assert.equal(await page.locator('.cell[data-edited]').count(), 0);
    await page.locator('.cell').nth(3).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Control+Home');
    await page.keyboard.press('Tab');
    assert.equal(await page.locator('.cell').nth(3).locator('.cm-line').textContent(), '    draft');
});

test('drafts can be inserted, cut, pasted, and restored with z', nightly(), async () => {
    await drafts('one', 'two');
    await page.locator('.cell').nth(1).focus();
    await page.keyboard.press('a');
    await focused([1, 'cell']);
    await page.keyboard.press('Enter');
    await focused([1, 'editor']);
    await page.keyboard.insertText('between');
    await page.keyboard.press('Escape');
    assert.deepEqual(await sources(), ['one', 'between', 'two']);
    await page.keyboard.press('x');
    await focused([1, 'cell']);
    assert.deepEqual(await sources(), ['one', 'two']);
    await page.keyboard.press('v');
    await focused([2, 'cell']);
    assert.deepEqual(await sources(), ['one', 'two', 'between']);
    await page.keyboard.press('z');
    await page.waitForFunction(() => document.querySelectorAll('.cell:not([data-fresh])').length === 2);
    assert.deepEqual(await sources(), ['one', 'two'], 'the last action is undone first');
    await page.keyboard.press('z');
    await focused([1, 'cell']);
    assert.deepEqual(await sources(), ['one', 'between', 'two']);
    await choose(0, 'Insert a cell above');
    await focused([0, 'editor']);
});

test('a chain of drafts runs with one click; waiting and running cells are counted separately', async () => {
    await drafts(`${untilReleased('chain')}\nx = 1`, 'x += 1', 'print("x is")');
    await page.getByRole('button', { name: 'Run these 3 cells' }).click();
    await page.waitForFunction(
        () => document.querySelector('.status').textContent === '1 running, 2 waiting',
    );
    await release('chain');
    await ran(3);
    assert.deepEqual((await rows()).slice(-2), ['x += 1', 'print("x is")']);
    assert.equal(await page.getByRole('button', { name: /Run these/ }).count(), 0);
});

test('deleting a failed attempt also deletes its draft, and Undo restores both', nightly(), async () => {
    await run('1/0');
    await page.waitForSelector('.cell[data-status="error"]');
    await run('print("right")');
    await ran(1);
    // The failed attempt is shown above the cell that ran after it.
    await page.waitForSelector('.cell[data-status="error"]');
    await choose(0, 'Delete failed attempt');
    await page.waitForFunction(
        () =>
            !document.querySelector('.cell[data-status="error"]') &&
            document.querySelectorAll('.row').length === 2,
    );
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.waitForFunction(
        () =>
            document.querySelector('.cell[data-kind="draft"]')?.textContent.includes('1/0') &&
            document.querySelectorAll('.row').length === 3,
    );
    // Without Undo, the attempt is deleted when the time for Undo is over.
    await page.clock.install();
    await page.locator('.row').nth(1).click();
    await page.waitForSelector('.cell[data-status="error"]');
    await choose(0, 'Delete failed attempt');
    await page.waitForSelector('.notice[data-open]');
    await page.clock.fastForward(UNDO_MS);
    await page.waitForSelector('.notice[data-open]', { state: 'detached' });
    await page.waitForFunction(() => document.querySelectorAll('.row').length === 2);
});

test('the next cell stays in sight while the output above it grows', nightly(), async () => {
    await run(`print("""${'line\n'.repeat(20)}${'""")'.replaceAll('\n', '\\n')}`);
    await ran(1);
    await run('for i in range(14): print(i)');
    await ran(2);
    const { cell, box } = await page.evaluate(() => ({
        cell: document.activeElement.closest('.cell').getBoundingClientRect().bottom,
        box: document.querySelector('main').getBoundingClientRect().bottom,
    }));
    assert.ok(cell <= box, `${cell} of ${box}`);
    assert.ok(server);
});

test(
    'a cell with a long line scrolls back to the beginning of the line when it loses the focus',
    nightly(),
    async () => {
        await run(`x = 1  # ${'long '.repeat(80)}`);
        await ran(1);
        await page.waitForFunction(() => {
            const one = document.querySelector('.cell[data-kind="ran"] .cm-scroller');
            return one.scrollLeft + one.closest('.editor').scrollLeft === 0;
        });
    },
);

const LONG = 'import time\nfor _ in range(600): time.sleep(0.1)';
const commands = (on = page) => on.evaluate(() => window.sentCommands);
/** Runs a long cell, in a page that records its requests to the server. */
async function runLong() {
    await page.addInitScript(() => {
        window.sentCommands = [];
        const { send } = WebSocket.prototype;
        WebSocket.prototype.send = function (text) {
            window.sentCommands.push(...(String(text).match(/"do":\s*"\w+"/g) ?? []));
            return send.call(this, text);
        };
    });
    await page.reload();
    await page.waitForSelector('.notebook[aria-busy="false"]');
    await run(LONG, 'Control+Enter');
    await page.waitForSelector('.cell[data-status="running"]');
}

test('Stop by mouse selects the cell, and a double click on Stop interrupts once', async () => {
    await runLong();
    await page.locator('.cell').first().hover();
    await page.locator('[data-stop]').dblclick();
    await page.waitForSelector('.cell[data-status="interrupted"]');
    await focused([0, 'cell']);
    assert.equal((await commands()).filter((one) => one.includes('interrupt')).length, 1);
    await page.keyboard.press('Enter');
    await focused([0, 'editor']);
    assert.equal((await commands()).filter((one) => one.includes('"run"')).length, 1, 'nothing runs again');
});

test(
    'the second click of a double click on Stop does not press the Run button that replaces it',
    nightly(),
    async () => {
        await runLong();
        await page.locator('.cell').first().hover();
        const { x, y, width, height } = await page.locator('[data-stop]').boundingBox();
        await page.mouse.click(x + width / 2, y + height / 2);
        await page.waitForSelector('.cell[data-status="interrupted"] [data-run]');
        const run = await page.locator('[data-run]').first().boundingBox();
        await page.mouse.move(run.x + run.width / 2, run.y + run.height / 2);
        await page.mouse.down({ clickCount: 2 });
        await page.mouse.up({ clickCount: 2 });
        await focused([0, 'cell']);
        assert.equal(
            (await commands()).filter((one) => one.includes('"run"')).length,
            1,
            'nothing runs again',
        );
    },
);

test('holding down the key for Stop interrupts once', nightly(), async () => {
    await runLong();
    await page.keyboard.down('Control');
    for (let i = 0; i < 5; i += 1) await page.keyboard.down('.');
    await page.keyboard.up('.');
    await page.keyboard.up('Control');
    await page.waitForSelector('.cell[data-status="interrupted"]');
    assert.equal((await commands()).filter((one) => one.includes('interrupt')).length, 1);
});

test('when a pressed button disappears, the focus stays with its cell', nightly(), async () => {
    await three();
    // “Replay” runs the cells below a changed cell again and disappears.
    await page.locator('.cell').nth(0).locator('.editor').click();
    await page.keyboard.press('Control+Home');
    await page.keyboard.insertText('y = 0\n');
    await page.keyboard.press('Shift+Enter');
    await page.getByRole('button', { name: 'Run 2 cells below' }).click();
    await ran(3);
    await focused([1, 'cell']);
    // The tab of another branch is another element, at the same place.
    const place = () => page.locator('.branch-tabs').evaluate((tabs) => tabs.getBoundingClientRect().top);
    const before = await place();
    await page.getByRole('tab').first().click();
    await onBranch(1, 2);
    const tab = () =>
        page.evaluate(() => document.activeElement.matches('[role="tab"][aria-selected="true"]'));
    assert.ok(await tab());
    await page.keyboard.press('ArrowRight');
    await onBranch(2, 2);
    assert.ok(await tab());
    await page.keyboard.press('ArrowLeft');
    await onBranch(1, 2);
    assert.equal(await place(), before);
    // “Revert” undoes an edit and disappears.
    await page.locator('.cell').nth(1).locator('.editor').click();
    await page.keyboard.press('Control+Home');
    await page.keyboard.insertText('z = 0\n');
    await page.getByRole('button', { name: 'Revert' }).click();
    await page.waitForSelector('.cell[data-edited]', { state: 'detached' });
    await focused([1, 'cell']);
    // A continuation goes from an earlier state to a later one.
    await page.locator('.row').nth(0).click();
    await ran(0);
    await page.locator('.continuations button').first().click();
    await ran(3);
    await focused([2, 'cell']);
    // “Delete” removes a failed draft, and “Close” its notice.
    await run('1/0', 'Control+Enter');
    await page.waitForSelector('.cell[data-status="error"]');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.waitForSelector('.cell[data-status="error"]', { state: 'detached' });
    await focused([3, 'cell']);
    await page.locator('.notice').getByRole('button', { name: 'Close' }).click();
    await page.waitForSelector('.notice[data-open]', { state: 'detached' });
    await focused([3, 'cell']);
    // A click outside of all controls removes the focus.
    await page.locator('.top h1').click();
    await focused('BODY');
});

test('a notice does not cover the focused cell', nightly(), async () => {
    await run('x = 1\n'.repeat(40));
    await ran(1);
    await drafts('y = 1\n'.repeat(5), 'z = 1');
    // Put the cell at the lower edge of the window.
    await page.locator('.cell').nth(2).focus();
    await page.evaluate(() => {
        const main = document.querySelector('main');
        main.scrollTop -=
            main.getBoundingClientRect().bottom - document.activeElement.getBoundingClientRect().bottom - 4;
    });
    await page.keyboard.press('Control+s');
    await page.waitForSelector('.notice[data-open]');
    const [cell, notice] = await page.evaluate(() => [
        document.activeElement.closest('.cell').getBoundingClientRect().bottom,
        document.querySelector('.notice').getBoundingClientRect().top,
    ]);
    assert.ok(cell <= notice, `${cell} above ${notice}`);
});

test('cells that are run below a running new version wait for it, also through a reload; Stop takes one off', {
    skip: !process.env.RATOON_BIN && 'needs RATOON_BIN',
}, async () => {
    for (const [i, code] of ['a = 1', 'print("b", a)', 'a += 10', 'print("d", a)'].entries()) {
        await run(code);
        await ran(i + 1);
    }
    const statuses = () => page.$$eval('.cell', (all) => all.map((one) => one.dataset.status));
    const rerun = async (code, ...keys) => {
        await page.locator('.cell').first().focus();
        await page.keyboard.press('Enter');
        await page.keyboard.press('Control+a');
        await page.keyboard.insertText(code);
        for (const key of keys) await page.keyboard.press(key);
    };
    await rerun(`a = 2\n${untilReleased('on')}`, 'Shift+Enter', 'Shift+Enter', 'Shift+Enter', 'Shift+Enter');
    await becomes(statuses, ['running', 'queued', 'queued', 'queued', 'new']);
    await page.locator('.cell').nth(2).hover();
    await page.locator('.cell').nth(2).getByRole('button', { name: 'Stop' }).click();
    await becomes(statuses, ['running', 'queued', 'ok', 'queued', 'new']);
    await page.reload();
    await becomes(statuses, ['running', 'queued', 'ok', 'queued', 'new']);
    await release('on');
    await becomes(() => texts('.cell .stream'), ['b 2', 'd 2']);
    await becomes(statuses, ['ok', 'ok', 'new', 'ok', 'new']);

    // If the run above fails, they do not run.
    await rerun(`a = 3\n${untilReleased('off')}\n1 / 0`, 'Shift+Enter', 'Shift+Enter');
    await becomes(async () => (await statuses()).slice(0, 2), ['running', 'queued']);
    await release('off');
    await becomes(async () => (await statuses()).slice(0, 2), ['error', 'ok']);
    assert.deepEqual(await texts('.cell .stream'), ['b 2', 'd 2']);
});

/** Resolves when the next run that this page starts after a reload has ended. */
async function nextEnd() {
    /** @type {Promise<void>} */
    const news = new Promise((done) =>
        page.once('websocket', (socket) =>
            socket.on('framereceived', ({ payload }) => /"kind":"ended"/.test(payload) && done()),
        ),
    );
    await page.reload();
    return { news };
}

/** Holds back all paints, as in a hidden page. The returned function ends that. */
async function holdPaints() {
    const paint = await page.evaluateHandle(() => {
        const { requestAnimationFrame } = window;
        const held = [];
        window.requestAnimationFrame = (act) => held.push(act);
        Object.defineProperty(document, 'hidden', { value: true, configurable: true });
        return () => {
            window.requestAnimationFrame = requestAnimationFrame;
            Reflect.deleteProperty(document, 'hidden');
            for (const act of held) requestAnimationFrame(act);
        };
    });
    return () => paint.evaluate((act) => act());
}

test('a key pressed before the end of a run is painted acts on the cell that is there then', {
    skip: !process.env.RATOON_BIN && 'needs RATOON_BIN',
}, async () => {
    await run('a = 1');
    await run('print(a)');
    await ran(2);
    const { news } = await nextEnd();
    await page.locator('.cell').first().focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(`a = 2\n${untilReleased('end')}`);
    await page.keyboard.press('Shift+Enter');
    await page.waitForSelector('[data-status="running"]');
    await focused([1, 'cell']);
    const paint = await holdPaints();
    await release('end');
    await news;
    // The second cell becomes a draft, because its state belongs to the earlier version.
    await page.keyboard.press('Shift+Enter');
    await paint();
    await ran(2);
    assert.deepEqual(await texts('.cell .stream'), ['2']);
});

test('text typed before the end of a run is painted stays in the cell below', {
    skip: !process.env.RATOON_BIN && 'needs RATOON_BIN',
}, async () => {
    const { news } = await nextEnd();
    await run(`x = 1\n${untilReleased('typed')}`);
    await page.waitForSelector('[data-status="running"]');
    await focused([1, 'editor']);
    const paint = await holdPaints();
    await release('typed');
    await news;
    await page.keyboard.type('y = 2');
    await paint();
    await becomes(sources, ['y = 2']);
    await page.keyboard.press('Shift+Enter');
    await ran(2);
    assert.deepEqual((await rows()).slice(-2), ['x = 1', 'y = 2']);
});

test('the key for Stop stops the run that the selected cell waits for', {
    skip: !process.env.RATOON_BIN && 'needs RATOON_BIN',
}, async () => {
    await run(untilReleased('never'));
    await run('x = 1');
    await run('y = 1');
    const statuses = () => page.$$eval('.cell', (all) => all.map((one) => one.dataset.status));
    await becomes(statuses, ['running', 'queued', 'queued', 'new']);
    await page.locator('.cell').nth(2).focus();
    await page.keyboard.press('Control+.');
    await becomes(async () => (await statuses())[0], 'interrupted');
    await becomes(async () => (await statuses()).includes('queued'), false);
});

test('keys reach the editor while the page loads what it needs to tell about a failure', {
    skip: !process.env.RATOON_BIN && 'needs RATOON_BIN',
}, async () => {
    let done;
    const held = new Promise((release) => (done = release));
    await page.route('**/notebook-later.js', async (route) => (await held, route.continue()));
    await page.reload();
    const asked = page.waitForRequest('**/notebook-later.js');
    await run('x = 1');
    await run('1 / 0');
    await page.waitForSelector('.cell[data-status="error"]');
    await asked;
    await page.keyboard.type('seen');
    done();
    await becomes(sources, ['1 / 0', 'seen']);
});

test('keys typed while the palette loads and opens are in its input, in their order', {
    skip: !process.env.RATOON_BIN && 'needs RATOON_BIN',
}, async () => {
    /** @type {(value?: any) => void} */
    let done = () => {};
    const held = new Promise((release) => (done = release));
    await page.route('**/notebook-later.js', async (route) => (await held, route.continue()));
    await page.reload();
    await page.waitForSelector('.notebook[aria-busy="false"]');
    await page.evaluate(() => {
        const press = (key, more = {}) =>
            document.activeElement.dispatchEvent(
                new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }),
            );
        // Keys are held for a second. On a busy machine, loading can take longer.
        const { setTimeout } = window;
        Object.assign(window, { setTimeout: () => 0 });
        press('P', { code: 'KeyP', ctrlKey: true, shiftKey: true });
        Object.assign(window, { setTimeout });
        press('a');
        // As soon as the palette is open, before the next frame.
        new MutationObserver(() => document.querySelector('dialog[open]') && press('b')).observe(
            document.body,
            { childList: true },
        );
    });
    done();
    await becomes(() => page.getByRole('combobox').inputValue(), 'ab');
});

/** A tall HTML output. Escape clears the field “own” and, if that is empty, leaves the frame. */
const HTML_OUTPUT = `from IPython.display import HTML
HTML("""<p>plain words</p><input aria-label="field">
<input aria-label="own" onkeydown="if (event.key === 'Escape' && this.value) this.value = '', event.preventDefault()">
<b onmousedown="event.preventDefault()">chart</b>
<div style="height: 1500px; user-select: none">plot</div>""")`;

test('a press on an HTML output selects its cell, and a field or selected text in it keeps the focus', {
    skip: !process.env.RATOON_BIN && 'needs RATOON_BIN',
}, async () => {
    const frame = page.frameLocator('iframe.frame');
    const field = frame.getByLabel('field');
    const own = frame.getByLabel('own');
    const cells = () => page.locator('.cell').count();
    const painted = () =>
        page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const selected = () => frame.locator('body').evaluate(() => getSelection().toString());
    const goesTo = async (wanted) => {
        await focused([0, wanted]);
        await frameFocused(frame, wanted === 'IFRAME');
    };
    await run(HTML_OUTPUT);
    await page.waitForFunction(() => document.querySelector('iframe.frame')?.clientHeight > 1500);
    await pointerReaches(page.locator('.cell[data-fresh] .editor'));
    await run('x = 1');
    await ran(2);
    // Nothing scrolls, although the cell ends below the window and another cell ran last.
    await page.locator('.cell').nth(1).focus();
    await page.$eval('main', (main) => (main.scrollTop = 300));
    await pointerReaches(frame.getByText('plot', { exact: true }), () => page.mouse.move(640, 400));
    await page.mouse.down();
    await page.mouse.up();
    await goesTo('cell');
    await painted();
    assert.equal(await page.$eval('main', (main) => main.scrollTop), 300);
    await page.keyboard.press('b');
    await becomes(cells, 4);

    await pointerReaches(field);
    await field.click();
    await goesTo('IFRAME');
    await page.keyboard.type('bb');
    await becomes(() => field.inputValue(), 'bb');
    await page.keyboard.press('Escape');
    await goesTo('cell');
    await page.keyboard.press('b');
    await becomes(cells, 5);

    await pointerReaches(own);
    await own.click();
    await goesTo('IFRAME');
    await page.keyboard.type('a');
    await page.keyboard.press('Escape');
    await page.keyboard.type('c');
    await becomes(() => own.inputValue(), 'c');
    await frame.getByText('plot').click({ position: { x: 30, y: 60 } });
    await focused([0, 'cell']);

    await page.locator('.cell[data-fresh] .editor').click();
    await pointerReaches(frame.getByText('chart'));
    await frame.getByText('chart').click();
    await focused([0, 'cell']);

    const { x, y, height } = await frame.getByText('plain words').boundingBox();
    await pointerReaches(frame.getByText('plain words'), () => page.mouse.move(x + 1, y + height / 2));
    await page.mouse.down();
    await page.mouse.move(x + 30, y + height / 2, { steps: 3 });
    await page.mouse.up();
    await becomes(async () => /^pla/.test(await selected()), true);
    await focused([0, 'IFRAME']);
    await page.keyboard.press('Escape');
    await focused([0, 'cell']);
    assert.match(await selected(), /^pla/);
});

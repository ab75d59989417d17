// The settings: each takes effect at once, in other tabs, and after a reload; the server keeps
// those of its owner; the keys of vim.

import assert from 'node:assert/strict';
import { becomes, nightly } from './browser.mjs';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
    drafts,
    focused,
    forgive,
    open,
    page,
    guestBy,
    ran,
    run,
    sees,
    server,
    test,
    texts,
} from './harness.mjs';

const python = process.env.RATOON_TEST_PYTHON ?? '';
const skip = existsSync(join(dirname(python), 'ruff')) ? false : 'needs ruff beside RATOON_TEST_PYTHON';

const keys = async (...all) => {
    for (const key of all) await page.keyboard.press(key);
};
const lines = (cell, on = page) => on.locator('.cell').nth(cell).locator('.cm-line').allTextContents();
const styleOf = (name, on = page) =>
    on.$eval('.cell .cm-content', (one, of) => getComputedStyle(one)[of], name);

/** Opens the settings by their key. */
async function settings() {
    await keys('Control+,');
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
}

test('a change of a setting reaches all editors at once, other tabs, and the page after a reload', async () => {
    await drafts('one = "a\tb"', `two = "${'long '.repeat(80)}"`);
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.waitForSelector('.cell .cm-content');
    await settings();
    assert.match(await page.locator('dialog').textContent(), /The server keeps these settings/);
    await page.getByLabel('Font size of code and printed text').selectOption('18');
    await page.getByLabel('Tab width').selectOption('8');
    await page.getByLabel('Wrap long lines of code').check();
    await page.getByLabel('Line numbers').check();
    await page.getByLabel('Theme').selectOption('dark');
    const all = async (on) => [
        await styleOf('fontSize', on),
        await styleOf('tabSize', on),
        await styleOf('whiteSpaceCollapse', on),
        (await on.locator('.cm-lineNumbers').count()) >= 2,
        await on.evaluate(() => document.documentElement.dataset.theme),
    ];
    const wanted = ['18px', '8', 'break-spaces', true, 'dark'];
    assert.deepEqual(await all(page), wanted);
    await becomes(() => all(other), wanted);
    await page.reload();
    await page.waitForSelector('.cell .cm-content');
    await becomes(() => all(page), wanted);
    const isInside = () =>
        page.$$eval('.cell .cm-scroller', (some) => some.every((one) => one.scrollWidth <= one.clientWidth));
    assert.equal(await isInside(), true, 'the long line wraps');
    await page.locator('.cell').first().focus();
    await keys('l');
    assert.equal(await page.locator('.cm-lineNumbers').count(), 0);
    await settings();
    assert.equal(await page.getByLabel('Line numbers').isChecked(), false, 'the key changes the setting');
});

test('wrapped lines hang behind their indentation, and no indentation is alone in a row', async () => {
    await page.evaluate(() => localStorage.setItem('ratoon.wraps', 'yes'));
    await page.reload();
    const word = 'a_name_that_is_longer_than_the_rows_of_a_cell_on_a_phone';
    await drafts(`if True:\n    f(${'word, '.repeat(60)})`, `if True:\n    ${word}\n\t${word}`);
    /** The columns at which the rows of a line begin, without its spaces. */
    const begins = (/** @type {number} */ cell, /** @type {number} */ nth) =>
        page
            .locator('.cell')
            .nth(cell)
            .locator('.cm-line')
            .nth(nth)
            .evaluate((line) => {
                const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
                const left = line.getBoundingClientRect().left;
                /** @type {Map<number, number>} */
                const rows = new Map();
                const widths = new Set();
                for (let node = walker.nextNode(); node; node = walker.nextNode())
                    for (const [i, char] of [...node.textContent].entries()) {
                        const range = document.createRange();
                        range.setStart(node, i);
                        range.setEnd(node, i + 1);
                        const { x, y, width } = range.getBoundingClientRect();
                        if (/\s/.test(char)) continue;
                        widths.add(width);
                        rows.set(Math.round(y), Math.min(x - left, rows.get(Math.round(y)) ?? 9999));
                    }
                const top = Math.round(line.getBoundingClientRect().top);
                return {
                    isFirst: [...rows.keys()].every((y, i) => i > 0 || y - top < 10),
                    columns: [...rows.values()].map((x) => Math.round(x / Math.min(...widths))),
                };
            });
    const hangs = async (/** @type {number} */ cell, /** @type {number} */ nth) => {
        const { isFirst, columns } = await begins(cell, nth);
        return [isFirst, ...new Set(columns)];
    };
    await becomes(() => hangs(0, 1), [true, 4, 6]);
    await page.setViewportSize({ width: 390, height: 800 });
    await becomes(() => hangs(1, 1), [true, 4, 6]);
    await becomes(() => hangs(1, 2), [true, 4, 8]);
});

test('the server keeps its owner’s settings for every browser, and those of a guest stay with the guest', async () => {
    const kept = () => page.evaluate(async () => (await (await fetch('/api/settings')).json()).settings);
    assert.deepEqual(await kept(), {});
    await settings();
    await page.getByLabel('Font size of code and printed text').selectOption('18');
    await page.getByLabel('Theme').selectOption('dark');
    await becomes(kept, { codeSize: '18', theme: 'dark' });
    const look = (on) =>
        on.evaluate(() => [
            document.documentElement.style.getPropertyValue('--text-code'),
            document.documentElement.dataset.theme,
        ]);
    const other = await open(server.url);
    await becomes(() => look(other), ['18px', 'dark']);

    forgive(page, /api\/settings/);
    await page.route('**/api/settings', (route) => route.abort());
    await page.getByLabel('Font size of code and printed text').selectOption('16');
    await page.getByText('The server did not answer.').waitFor();
    await page.unroute('**/api/settings');
    await page.reload();
    await becomes(kept, { codeSize: '16', theme: 'dark' });
    assert.deepEqual(await look(page), ['16px', 'dark']);

    const guest = await guestBy('view');
    const asked = [];
    guest.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await guest.keyboard.press('Control+,');
    await guest.getByText('These settings are kept in this browser.').waitFor();
    await guest.getByLabel('Font size of code and printed text').selectOption('20');
    await becomes(() => look(guest), ['20px', undefined]);
    assert.ok(!asked.includes('/api/settings'));
});

test('a setting is found by its words; brackets are not closed, and Shift-Enter stays, if one wishes', async () => {
    const code = page.locator('.cell').first().locator('.cm-content');
    await focused([0, 'editor']);
    await keys('(');
    await becomes(() => lines(0), ['()']);
    await keys('Backspace');
    await page.locator('.cell').first().locator('.cm-placeholder').waitFor();
    const turnOff = async (words, name) => {
        await settings();
        await page.getByRole('searchbox', { name: 'Find a setting' }).fill(words);
        assert.equal(await page.locator('.settings label').count(), 1);
        await page.getByLabel(name).uncheck();
        await keys('Escape');
        await page.locator('dialog').waitFor({ state: 'detached' });
    };
    await turnOff('BRACK quotes', 'Close brackets and quotes');
    await turnOff('shift-enter', 'Shift-Enter goes to the next cell');
    await code.click();
    await keys('(', '1', ')', 'Shift+Enter');
    await ran(1);
    await becomes(() => lines(0), ['(1)']);
    await focused([0, 'cell']);
});

test(
    'vim’s keys are loaded when they are wanted; Esc leaves insert mode, then the editor; cells still run',
    nightly(),
    async () => {
        await drafts('one', 'two');
        const vim = () =>
            page.evaluate(
                () =>
                    performance.getEntriesByType('resource').filter(({ name }) => /vim\.js/.test(name))
                        .length,
            );
        await settings();
        assert.equal(await vim(), 0, 'not loaded before');
        await page.getByLabel('Vim keys').check();
        await page.waitForSelector('.cm-vimMode');
        assert.equal(await vim(), 1);
        await keys('Escape');
        await page.locator('.cell').first().focus();
        await keys('Enter', '0', 'x', 'Tab');
        assert.deepEqual(await lines(0), ['ne']);
        await keys('u', 'i');
        await page.keyboard.insertText('x = 1 # ');
        await keys('Escape');
        await focused([0, 'editor']);
        assert.deepEqual(await lines(0), ['x = 1 # one']);
        await keys('d', 'Escape');
        await focused([0, 'editor']);
        await keys('Escape');
        await focused([0, 'cell']);
        await keys('j', 'Enter', 'c', 'c');
        await page.keyboard.insertText('print(x + 41)');
        await keys('Escape', 'y', 'y');
        const message = page.locator('.cm-vim-message', { hasText: '1 lines yanked' });
        assert.notEqual(await message.evaluate((one) => getComputedStyle(one).color), 'rgb(255, 0, 0)');
        await keys('ArrowUp');
        await focused([0, 'editor']);
        await keys('p');
        assert.deepEqual(await lines(0), ['x = 1 # one', 'print(x + 41)']);
        await keys('u', 'Shift+Enter');
        await ran(1);
        await focused([1, 'cell']);
        await keys('Enter', 'i', 'Control+Enter');
        await ran(2);
        await sees('42');
        await focused([1, 'cell']);
        await settings();
        await page.getByLabel('Vim keys').uncheck();
        await page.waitForSelector('.cm-vimMode', { state: 'detached' });
    },
);

test(
    'an idle page does not load vim’s keys, and a page loads them at once if they are wanted',
    nightly(),
    async () => {
        await run('x = 1');
        await ran(1);
        const other = await page.context().newPage();
        const asked = [];
        other.on('request', (request) => asked.push(request.url()));
        await other.goto(page.url());
        await other.waitForFunction(() => document.querySelector('.cm-content'));
        await other.waitForEvent('request', { predicate: (one) => /notebook-later/.test(one.url()) });
        await other.waitForLoadState('networkidle');
        assert.deepEqual(
            asked.filter((url) => /vim/.test(url)),
            [],
        );
        await page.evaluate(() => (localStorage['ratoon.vim'] = 'yes'));
        await other.waitForSelector('.cm-vimMode');
        const guest = await open(page.url(), { storageState: await page.context().storageState() });
        await guest.waitForSelector('.cm-vimMode');
    },
);

test('a syntax error is marked while one types, with its message on hover and in a list, unless the settings forbid it', async () => {
    const marked = (on = page) => texts('.cm-lintRange-error', on);
    const linted = page.waitForResponse(/\/lint/);
    await page.keyboard.insertText('%time 1 +\n!ls (\nx = (1,\ny = 2');
    await becomes(() => marked(), ['(']);
    await page.locator('.cm-lintRange-error').hover();
    await page.waitForFunction(() =>
        document.querySelector('.cm-tooltip-lint')?.textContent.includes('never closed'),
    );
    await linted;
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
    assert.equal(await page.locator('.cm-tooltip-lint').count(), 1, 'ruff’s answer leaves the message open');
    await keys('Control+Shift+m');
    await page.waitForFunction(() =>
        document.querySelector('.cm-panel-lint')?.textContent.includes('never closed'),
    );
    await keys('Escape');
    await page.waitForSelector('.cm-panel-lint', { state: 'detached' });
    await focused([0, 'editor']);
    await keys('F8', 'Delete');
    await becomes(() => lines(0), ['%time 1 +', '!ls (', 'x = 1,', 'y = 2']);
    await becomes(() => marked(), []);
    await keys('Control+z');
    await becomes(() => marked(), ['(']);
    await settings();
    await page.getByLabel('Mark problems in code').uncheck();
    await becomes(() => marked(), []);
    await page.getByLabel('Mark problems in code').check();
    await keys('Escape');
    await page.locator('.cell .cm-content').first().click();
    await page.keyboard.insertText(' ');
    await becomes(() => marked(), ['(']);
});

test(
    'ruff marks the code of all cells, and formats a cell as one step of undo, or all drafts',
    nightly({
        skip,
    }),
    async () => {
        await drafts('import json', 'f( 1,json )', 'd = {  "a":1}', 'if x');
        await becomes(() => texts('.cm-lintRange-warning'), ['f']);
        await page.locator('.cell').nth(1).locator('.cm-content').click();
        await keys('Control+Home', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'Control+Alt+l');
        await becomes(() => lines(1), ['f(1, json)']);
        await page.keyboard.insertText('2');
        await becomes(() => lines(1), ['f(12, json)']);
        await keys('Control+z', 'Control+z');
        await becomes(() => lines(1), ['f( 1,json )']);
        await page.getByLabel('More', { exact: true }).click();
        await page.getByRole('menuitem', { name: 'Format all drafts' }).click();
        await becomes(() => lines(1), ['f(1, json)']);
        await becomes(() => lines(2), ['d = {"a": 1}']);
        await page.waitForFunction(() =>
            document
                .querySelector('.notice')
                ?.textContent.includes('1 cell could not be formatted: line 1: '),
        );
        await page.locator('.notice').getByRole('button', { name: 'Close' }).click();
        await page.waitForSelector('.notice[data-bad]', { state: 'detached' });
    },
);

test('without ruff, formatting offers to install it, and then formats', async () => {
    await drafts('x=1');
    let isThere = false;
    const asked = [];
    // Ruff is there only once it was installed.
    const answer = (route) => {
        asked.push(new URL(route.request().url()).pathname.split('/').at(-1));
        if (asked.at(-1) === 'ruff') isThere = true;
        const json = isThere
            ? { ruff: '/ruff', cells: [{ code: 'x = 1', failure: null }], problems: [], failure: null }
            : {
                  error: {
                      code: 'not_found',
                      what: 'format code',
                      why: 'there is no ruff',
                      how: 'install it',
                  },
              };
        return route.fulfill({ status: isThere ? 200 : 404, json });
    };
    await page.route(/\/(format|ruff)$/, answer);
    await page.locator('.cell').nth(0).locator('.cm-content').click();
    await keys('Control+Alt+l');
    const notice = page.locator('.notice', { hasText: 'Ruff is not installed.' });
    await notice.waitFor();
    assert.deepEqual(asked, ['format'], 'nothing is installed without being asked');
    await notice.getByRole('button', { name: 'Install ruff' }).click();
    await becomes(() => lines(0), ['x = 1']);
    assert.deepEqual(asked, ['format', 'ruff', 'format']);
    forgive(page, /status of 404/);
});

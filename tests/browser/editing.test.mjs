// Editing with the keyboard: modes and their keys, completion, documentation at the cursor, find,
// the palette, moving cells. The stand-in answers requests for completion and documentation.

import assert from 'node:assert/strict';
import { afterEach } from 'node:test';
import { becomes } from './browser.mjs';
import { start } from './mock.mjs';
import {
    drafts,
    focused,
    open,
    page,
    ran,
    rows,
    run,
    sees,
    test,
    testWithoutPage,
    texts,
    three,
} from './harness.mjs';

const sources = (on = page) => texts('.cell[data-kind="draft"]:not([data-fresh]) .source > .editor', on);
const lines = (cell, on = page) => on.locator('.cell').nth(cell).locator('.cm-line').allTextContents();
const keys = async (...all) => {
    for (const key of all) await page.keyboard.press(key);
};
/** @type {any[]} */
const mocks = [];
afterEach(async () => {
    for (const mock of mocks.splice(0)) await mock.stop();
});
/**
 * Opens a page on a stand-in, which records the requests it receives, and runs one cell: `x = 1`.
 */
async function asked() {
    const mock = await start();
    mocks.push(mock);
    const on = await open(mock.url);
    await run('x = 1', 'Shift+Enter', on);
    await ran(1, on);
    await focused([1, 'editor'], on);
    return { on, notebook: mock.notebook, keys: on.keyboard };
}
const list = (on) => texts('.completions li .cm-completionLabel', on);

test('Esc and Enter change the mode, which can be seen; letters are commands in one and text in the other', async () => {
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

test('Ctrl-Enter leaves for command mode, Shift-Enter goes on to the next cell, Alt-Enter makes one', async () => {
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

test('several drafts are selected, cut, pasted above, copied, removed and put back, in one step each', async () => {
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
    assert.match(await page.locator('.notice').textContent(), /2 drafts deleted/);
    await keys('z');
    await becomes(sources, ['two', 'three', 'one', 'four']);
    await keys('Home', 'Shift+ArrowDown', 'c', 'End', 'k', 'v');
    await becomes(sources, ['two', 'three', 'one', 'four', 'two', 'three']);
    await keys('Control+a', 'd', 'd');
    await becomes(sources, []);
    await keys('z');
    await becomes(sources, ['two', 'three', 'one', 'four', 'two', 'three']);
});

test('selected drafts run together', async () => {
    await drafts('a = 1', 'b = 2', 'c = 3');
    await page.locator('.cell').nth(0).focus();
    await keys('Shift+ArrowDown', 'Shift+Enter');
    await ran(2);
    assert.deepEqual(await rows(), ['Start', 'a = 1', 'b = 2']);
    assert.deepEqual(await sources(), ['c = 3']);
});

test('drafts become text, headings and code; are split at the cursor and merged, and that can be undone', async () => {
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

test('a key above a cell that ran begins a branch there; cutting one says what stays, and the line goes on without it', async () => {
    await three();
    await page.locator('.cell').nth(1).focus();
    await keys('a');
    await focused([1, 'cell']);
    await keys('Enter');
    await page.keyboard.insertText('between = 1');
    await sees('then become drafts');
    await keys('Escape', 'j');
    await focused([2, 'cell']);
    await keys('d', 'd');
    await page.waitForFunction(() =>
        document.querySelector('.notice')?.textContent.includes('its state stays'),
    );
    assert.equal(await page.locator('.row').count(), 4);
    await page.getByRole('button', { name: 'Continue without it' }).click();
    await ran(1);
    await becomes(sources, ['between = 1', 'x = x + 1print("three")']);
    assert.equal(await page.locator('.row').count(), 4, 'nothing is deleted');
    await page.getByRole('button', { name: 'Undo' }).click();
    await ran(3);
});

test('an early cell is edited, and one button replays the rest; or both in one step', async () => {
    await three();
    await page.locator('.cell').nth(0).focus();
    await keys('Enter', 'Control+Home');
    await page.keyboard.insertText('y = 5\n');
    await keys('Control+Enter');
    await page.getByRole('button', { name: 'Replay 2 cells below' }).click();
    await ran(3);
    assert.deepEqual(await rows(), [
        'Start',
        'x = 1',
        'x = x + 1',
        'x = x + 1',
        'y = 5',
        'x = x + 1',
        'x = x + 1',
    ]);
    await page.locator('.cell').nth(0).focus();
    await keys('Control+Shift+p');
    await page.waitForSelector('#commands li');
    await page.keyboard.insertText('again then');
    await keys('Enter');
    await ran(3);
    await becomes(async () => (await rows()).length, 10);
});

test('0 0 restarts when it is confirmed, I I stops what runs, Ctrl-S saves and is not the browser’s', async () => {
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
    await page.getByRole('heading', { name: 'Restart?' }).waitFor();
    await keys('Escape');
    await ran(1);
    await keys('0', '0', 'Enter');
    await ran(0);
    assert.ok((await sources()).includes('x = 1'), 'what ran waits as a draft');
});

test('outputs fold, line numbers come and go and are remembered, Space scrolls', async () => {
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
    const before = await top();
    await keys('Space');
    await page.waitForFunction((from) => document.querySelector('main').scrollTop > from, before);
    await keys('Shift+Space');
    await becomes(top, 0);
});

testWithoutPage('Tab completes: one at once, several from a list in which Enter takes', async () => {
    const { on, keys: k, notebook } = await asked();
    await k.type('impo');
    await k.press('Tab');
    await becomes(() => lines(1, on), ['import']);
    await k.type('\npr');
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
        'the state that it would run against',
    );
    await k.press('Enter');
    await k.press('Tab');
    await becomes(() => lines(1, on), ['import', 'property', '    ']);
    await focused([1, 'editor'], on);
});

testWithoutPage('a list that typing opened leaves Enter alone, and takes Tab', async () => {
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
});

testWithoutPage(
    'places are right behind wide letters, with magics and keys; brackets that are there do not come twice',
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
    'late answers for another text are dropped, and a cell that runs above is no obstacle',
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

testWithoutPage('a refusal to complete is silent', async () => {
    const { on, keys: k, notebook } = await asked();
    notebook.complete = async () => notebook.refuse('complete', 'it is not built yet');
    notebook.inspect = async () => notebook.refuse('inspect', 'it is not built yet');
    await k.type('print(');
    await k.press('Tab');
    await k.press('Shift+Tab');
    await k.type('x');
    await becomes(() => lines(1, on), ['print(x)']);
    assert.equal(await on.locator('.notice[data-open], .tip, .completions').count(), 0);
});

testWithoutPage(
    'Shift-Tab shows what stands at the cursor, again shows more of it, Esc closes it; at the beginning of a line it indents less',
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

testWithoutPage('the signature of a call follows the arguments, and goes when they are left', async () => {
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
});

test('z undoes what was done to drafts in its turn: pasted, split, merged; not what was written in since', async () => {
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
    assert.equal((await sources()).length, 3, 'what was written in stays');
});

test('code that is typed key by key reads as meant: blocks end, closing quotes are typed over', async () => {
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
});

test('cursors multiply, brackets close, comments come and go in code and in text', async () => {
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
    assert.equal(await wide.locator('[style]').count(), 0, 'no look is left behind by the browser');
});

test('what is looked for is marked in every cell, counted and walked through; all of it is replaced, and that is undone in one step', async () => {
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

test('text above a cell is found and replaced, too', async () => {
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

test('the bar that finds unfolds to replace, by its button or by its key', async () => {
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

test('the palette finds every command by a few letters, does it where the focus was, and remembers', async () => {
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
});

/** Opens the palette and types into it. */
async function palette(typed) {
    await keys('F1');
    await page.waitForSelector('#commands li');
    await page.keyboard.insertText(typed);
}

test('what menus and the header do is in the palette, where it can be done, under its usual names, too', async () => {
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
        'Restart…',
        'Reset notebook…',
        'Your name…',
    ])
        assert.ok(all.includes(title), `${title} of ${all}`);
    for (const title of ['Label…', 'Delete this state', 'Stop the running cell; press again to kill it'])
        assert.ok(!all.includes(title), `${title} cannot be done now`);
    await keys('Escape');
    await three();
    await palette('delete');
    const found = (await offered()).slice(0, 2);
    assert.ok(found.includes('Delete this state'), `the one where we stand: ${found}`);
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
    await becomes(offered, ['Download as HTML']);
    await keys('Escape');
    await palette('variables');
    await keys('Enter');
    await page.waitForSelector('.variables-pane tbody');
});

test('a key pressed right after a dialog was answered goes where the answer led, not where the focus was before', async () => {
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
});

test('what was typed right before a key of command mode is not lost to it', async () => {
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

test('a cell that is clicked before its editor was made, as after a fast scroll, has the cursor where it was clicked', async () => {
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
    assert.ok(nth > 0, 'there is an editor that is not made yet');
    await focused([nth, 'editor']);
    await page.keyboard.type('0');
    await becomes(async () => (await lines(nth))[0], `cell = ${nth}0`);
});

test('the sheet lists every key that is bound, can be searched, and closes by Esc', async () => {
    await drafts('one');
    await page.locator('.cell').nth(0).focus();
    await keys('?');
    await page.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor();
    assert.ok((await page.locator('.key-groups dt').count()) > 40);
    const inside = await page.$eval('.key-groups', (one) => one.scrollWidth <= one.clientWidth);
    assert.ok(inside, 'nothing hangs out at the side');
    await page.keyboard.insertText('paste');
    await becomes(() => texts('.key-groups dd'), ['Paste below', 'Paste above']);
    await keys('Escape');
    await focused([0, 'cell']);
});

test('drafts are moved by keys and by dragging, alone and together, and the focus goes with them', async () => {
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
    const grip = async (n) => {
        await page.locator('.cell').nth(n).hover();
        const { x, y, width, height } = await page
            .locator('.cell')
            .nth(n)
            .locator('.drag-handle')
            .boundingBox();
        return { x: x + width / 2, y: y + height / 2 };
    };
    await page.locator('.cell').nth(3).focus();
    const from = await grip(2);
    const to = await page.locator('.cell').nth(0).boundingBox();
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(from.x, to.y + 3, { steps: 4 });
    await page.waitForSelector('.drop');
    await page.mouse.up();
    await becomes(sources, ['three', 'one', 'two']);
    await page.mouse.move(from.x, (await grip(0)).y);
    await page.mouse.down();
    await page.mouse.move(from.x, from.y + 20, { steps: 4 });
    await keys('Escape');
    await page.mouse.up();
    assert.equal(await page.locator('.drop, [data-dragged]').count(), 0);
    assert.deepEqual(await sources(), ['three', 'one', 'two'], 'Esc lets it be');
    await page.reload();
    await becomes(sources, ['three', 'one', 'two']);
});

test('from the address to a branch with the keyboard alone', async () => {
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
    assert.deepEqual(await rows(), ['Start', 'x = 1', 'print("two")', 'print("branch")']);
});

testWithoutPage('who may only look is offered nothing that changes anything', async () => {
    const mock = await start();
    mocks.push(mock);
    const viewer = await open(mock.url.replace('secret', 'view'));
    await viewer.keyboard.press('F1');
    await viewer.getByRole('combobox').waitFor();
    const offered = await texts('#commands .title', viewer);
    for (const never of [
        'Insert a cell below',
        'Restart…',
        'Reset notebook…',
        'Find and replace in all cells',
        'Run all drafts',
    ])
        assert.ok(!offered.includes(never), never);
    assert.ok(offered.includes('Find in all cells'));
});

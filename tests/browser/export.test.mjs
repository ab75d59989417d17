// The page with all branches of a notebook, opened from a file, without a server.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { choose, onBranch, page, ran, run, sees, test, texts } from './harness.mjs';

/** Downloads all branches with the menu of the page. Returns the file. */
async function downloaded(t) {
    const dir = await mkdtemp(join(tmpdir(), 'ratoon-export-'));
    t.after(() => rm(dir, { recursive: true }));
    await page.getByRole('button', { name: 'More', exact: true }).click();
    const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('menuitem', { name: 'Download all branches as HTML' }).click(),
    ]);
    assert.equal(download.suggestedFilename(), 'main-all-branches.html');
    const file = join(dir, 'main.html');
    await download.saveAs(file);
    return file;
}

/**
 * Opens a file in a browser that is signed in nowhere. At the end of the test, it must have
 * requested nothing but the file.
 */
async function openFile(t, path, options = {}) {
    const context = await page.context().browser().newContext(options);
    t.after(() => context.close());
    const file = await context.newPage();
    /** @type {string[]} */
    const requested = [];
    file.on('request', (request) => requested.push(request.url()));
    file.on('pageerror', (error) => requested.push(String(error)));
    await file.goto(`file://${path}`);
    t.after(() => assert.deepEqual(new Set(requested), new Set([`file://${path}`])));
    return file;
}

const shown = (file) => texts('.node:not([hidden]) .stream', file);
/** Waits until the file shows these prints. */
const shows = (file, prints) =>
    file.waitForFunction(
        (wanted) =>
            JSON.stringify(
                [...document.querySelectorAll('.node:not([hidden]) .stream')].map((one) =>
                    one.textContent.trim(),
                ),
            ) === wanted,
        JSON.stringify(prints),
    );
const rowsOf = (file) => texts('.row .told', file);

test('a file with all branches shows each line of the graph, and compares two', async (t) => {
    await run('data = 3\nprint("data")');
    await ran(1);
    await run('model = data + 1\nprint("first")');
    await ran(2);
    await run('print("end", model)');
    await ran(3);
    await choose(0, 'New branch from here');
    await run('model = data + 2\nprint("second")');
    await ran(2);
    await run('print("end", model)');
    await ran(3);
    await choose(0, 'New branch from here');
    await run(
        'from IPython.display import HTML\nHTML("<p></p><script>document.body.append(6 * 7)</script>")',
    );
    await ran(2);
    await run('1 / 0');
    await sees('ZeroDivisionError');

    const path = await downloaded(t);
    // The failed cell is a draft and an attempt; one of them has the output.
    assert.equal((await readFile(path, 'utf8')).split('division by zero').length - 1, 1);
    const file = await openFile(t, path);
    await shows(file, ['data']);
    assert.deepEqual(await rowsOf(file), [
        'Start',
        'data = 3',
        'model = data + 2',
        'print("end", model)',
        'HTML("<p></p><script>document.body.append(6 * 7)</script>")',
        '1 / 0',
        'model = data + 1',
        'print("end", model)',
    ]);
    const frame = () => file.frames()[1]?.evaluate(() => document.body.innerText);
    await file.waitForFunction(() => parseFloat(document.querySelector('iframe').style.height) > 10);
    assert.equal(await frame(), '42', 'scripts of outputs run in their frame');

    // By the graph, a tab, and the history of the browser.
    await file.locator('.row').nth(3).click();
    await shows(file, ['data', 'second', 'end 5']);
    const [tab] = [file.locator('.tabs a', { hasText: 'data + 1' })];
    const before = (await tab.boundingBox()).y;
    await tab.click();
    await shows(file, ['data', 'first', 'end 4']);
    assert.equal((await tab.boundingBox()).y, before, 'the tabs stay where they are');
    await file.goBack();
    await shows(file, ['data', 'second', 'end 5']);
    await file.locator('.row', { hasText: '1 / 0' }).click();
    await file.locator('.failure:visible', { hasText: 'ZeroDivisionError' }).waitFor();

    await file.locator('.row').nth(7).click();
    await shows(file, ['data', 'first', 'end 4']);
    await file
        .locator('.row')
        .nth(3)
        .click({ modifiers: ['Shift'] });
    await file.locator('.comparison').waitFor();
    assert.deepEqual(await texts('[data-changed]', file), [
        'model = data + 1',
        'print("first")',
        'model = data + 2',
        'print("second")',
    ]);
    assert.deepEqual(await texts('.comparison .stream', file), ['first', 'second', 'end 4', 'end 5']);
    assert.deepEqual(await texts('.row[aria-current] .told', file), [
        'print("end", model)',
        'print("end", model)',
    ]);
    // The address names the comparison.
    await file.reload();
    await file.locator('.comparison').waitFor();
    await file.getByRole('link', { name: 'Close' }).click();
    await file.locator('.comparison').waitFor({ state: 'detached' });
    assert.equal((await shown(file)).length, 1);
});

test('without scripts, a file with all branches shows the line that it was downloaded at', async (t) => {
    await run('print("one")');
    await ran(1);
    await page.locator('.row').first().click();
    await run('print("two")');
    await onBranch(2, 2);
    const file = await openFile(t, await downloaded(t), { javaScriptEnabled: false });
    assert.deepEqual(await texts('.stream', file), ['two']);
});

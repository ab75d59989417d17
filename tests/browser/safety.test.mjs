// Habits from other notebooks destroy nothing: restarting, inserting cells, dropping files, and
// undoing deletions. Only on the real server. With RATOON_SHOTS=DIR, saves screenshots in DIR.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { becomes } from './browser.mjs';
import {
    choose,
    focused,
    forgive,
    open,
    page,
    ran,
    rows,
    run,
    sees,
    test,
    testOnOwnServer,
    texts,
    three,
} from './harness.mjs';

const real = { skip: !process.env.RATOON_BIN };
const origin = () => new URL(page.url()).origin;
const sources = () =>
    page.$$eval('.cell:not([data-fresh])', (all) =>
        all.map((cell) => [...cell.querySelectorAll('.cm-line')].map((line) => line.textContent).join('\n')),
    );
const keys = async (...all) => {
    for (const key of all) await page.keyboard.press(key);
};
const focusIs = (text, on = page) =>
    on.waitForFunction((wanted) => document.activeElement?.textContent.trim() === wanted, text);
const notice = (pattern, on = page) =>
    on.waitForFunction(
        (source) => new RegExp(source).test(document.querySelector('.notice[data-open]')?.textContent ?? ''),
        pattern.source,
    );
const trash = () =>
    page.evaluate(() =>
        fetch('/api/trash')
            .then((answer) => answer.json())
            .then(({ trash: all }) => all),
    );

async function shot(name, on = page) {
    if (!process.env.RATOON_SHOTS) return;
    await mkdir(process.env.RATOON_SHOTS, { recursive: true });
    for (const scheme of ['light', 'dark']) {
        for (const width of [360, 1280]) {
            await on.emulateMedia({ colorScheme: scheme });
            await on.setViewportSize({ width, height: 800 });
            await on.screenshot({ path: join(process.env.RATOON_SHOTS, `${name}-${scheme}-${width}.png`) });
        }
    }
}

testOnOwnServer(
    '0 0 and Enter is a restart: the cells wait as drafts on the start, all that ran is still there, and it can be undone',
    real,
    async () => {
        await three();
        await page.locator('.cell').nth(2).focus();
        await keys('0', '0');
        await page.getByRole('heading', { name: 'Restart?' }).waitFor();
        await focusIs('Restart');
        await shot('restart');
        await keys('Enter');
        await ran(0);
        await focused([0, 'cell']);
        // The editors are made after the cells.
        await becomes(sources, [
            'x = 1\nprint("one")',
            'x = x + 1\nprint("two")',
            'x = x + 1\nprint("three")',
        ]);
        assert.equal((await rows()).length, 4, 'nothing is deleted');
        assert.deepEqual(await trash(), []);
        await shot('restarted');
        await page.getByRole('button', { name: 'Undo' }).click();
        await ran(3);
        await page.locator('.row').nth(0).click();
        await becomes(sources, []);
        // The cells can run again from the start.
        await page.locator('.row').nth(3).click();
        await ran(3);
        await page.locator('.cell').nth(1).focus();
        await keys('0', '0', 'Enter');
        await page.getByRole('button', { name: 'Run these 3 cells' }).click();
        await ran(3);
        await becomes(async () => (await rows()).length, 7);
    },
);

test(
    'what a restart left on the start stands in no other line, and the next restart replaces it',
    real,
    async () => {
        await three();
        await page.locator('.cell').nth(2).focus();
        await keys('0', '0', 'Enter');
        await ran(0);
        await page.locator('.row').nth(3).click();
        await ran(3);
        assert.equal(await page.locator('.cell[data-kind="draft"]:not([data-fresh])').count(), 0);
        await becomes(() => page.locator('.row').nth(0).textContent(), 'Start3 drafts');
        await shot('waiting');
        await page.setViewportSize({ width: 1280, height: 800 });
        await page.locator('.cell').nth(1).focus();
        await keys('0', '0', 'Enter');
        await ran(0);
        await notice(/3 cells are now drafts\./);
        await page.getByRole('button', { name: 'Run these 3 cells' }).click();
        await ran(3);
    },
);

test(
    'text between cells that ran is in the file, in another version of the line too, and does not say that it runs',
    real,
    async () => {
        await three();
        await page.locator('.cell').nth(0).focus();
        await keys('a', 'm', 'Enter');
        await page.keyboard.insertText('# Title');
        await keys('Shift+Enter');
        await page.locator('.cell').nth(2).focus();
        await keys('b', 'm', 'Enter');
        await page.keyboard.insertText('## Then');
        await keys('Shift+Enter');
        await page.waitForFunction(() => document.querySelectorAll('.cell h1, .cell h2').length === 2);
        assert.equal(await page.getByText('then become drafts').count(), 0);
        const file = () =>
            page.evaluate(async () => {
                const answer = await fetch(`/api/notebooks/main/states/${location.hash.slice(1)}/document`);
                return (await answer.json()).cells.map(({ source }) => [source].flat().join(''));
            });
        const all = (first, heading) =>
            [heading, first, 'x = x + 1\nprint("two")', '## Then', 'x = x + 1\nprint("three")'].filter(
                Boolean,
            );
        await becomes(file, all('x = 1\nprint("one")', '# Title'));
        await page.locator('.cell').nth(1).locator('.cm-content').click();
        await keys('Control+A');
        await page.keyboard.insertText('x = 5\nprint("one")');
        await keys('Control+Enter');
        await page.getByRole('button', { name: 'Replay 2 cells below' }).click();
        await ran(3);
        await sees('version 2 of 2');
        await becomes(file, all('x = 5\nprint("one")', '# Title'));
    },
);

test(
    'the line goes on without a cell, with what was not run yet; the old line stays as it was',
    real,
    async () => {
        await three();
        await page.locator('.cell[data-fresh] .editor').click();
        await page.keyboard.insertText('print("later")');
        await keys('Escape');
        const old = await sources();
        for (const _time of ['once', 'again']) {
            await page.locator('.cell').nth(1).focus();
            await keys('d', 'd');
            await page.getByRole('button', { name: 'Continue without it' }).click();
            await ran(1);
            await becomes(sources, ['x = 1\nprint("one")', 'x = x + 1\nprint("three")', 'print("later")']);
            await page.locator('.row').nth(3).click();
            await ran(3);
            await becomes(sources, old);
        }
    },
);

test('a restart that would stop a cell does not have the focus; it stops the cell', real, async () => {
    await run('import time\ntime.sleep(600)', 'Control+Enter');
    await page.waitForSelector('[data-status="running"]');
    await keys('0', '0');
    await page.getByText('One running cell will be stopped').waitFor();
    await focusIs('Cancel');
    await keys('Enter');
    await page.getByRole('heading', { name: 'Restart?' }).waitFor({ state: 'detached' });
    assert.equal(await page.locator('.cell[data-status="running"]').count(), 1);
    await keys('0', '0');
    await page.getByRole('button', { name: 'Restart', exact: true }).click();
    await page.waitForSelector('[data-status="interrupted"]');
});

testOnOwnServer(
    'everything is forgotten only when the name was typed, and comes back whole from the notice',
    real,
    async () => {
        await three();
        await run('1/0', 'Control+Enter');
        await page.waitForSelector('[data-status="error"]');
        await page.getByRole('button', { name: 'More' }).click();
        await page.getByRole('menuitem', { name: 'Reset notebook…' }).click();
        const button = page.getByRole('button', { name: 'Reset notebook' });
        await page.waitForFunction(() => document.activeElement?.matches('dialog input'));
        assert.equal(await button.isDisabled(), true);
        await keys('Enter');
        await page.keyboard.insertText('mai');
        await keys('Enter');
        assert.equal(await button.isDisabled(), true, 'half a name is no name');
        assert.equal(await page.getByRole('heading', { name: 'Reset this notebook?' }).count(), 1);
        await shot('forget');
        await page.keyboard.insertText('n');
        await page.waitForFunction(() => document.querySelector('dialog [data-main]')?.matches(':enabled'));
        await keys('Enter');
        await ran(0);
        await becomes(async () => (await rows()).length, 1);
        await notice(/A copy is in the trash/);
        await shot('forgotten');
        await page.setViewportSize({ width: 1280, height: 800 });
        await page.getByRole('button', { name: 'Restore' }).click();
        await page.waitForURL(`${origin()}/n/main%20restored**`);
        await page.waitForSelector('.notebook[aria-busy="false"]');
        await ran(3);
        await sees('ZeroDivisionError');
        assert.deepEqual(await texts('.stream'), ['one', 'two', 'three']);
    },
);

testOnOwnServer('in the palette, too, what forgets everything asks for the name', real, async () => {
    await run('x = 1');
    await ran(1);
    await page.locator('.cell').nth(0).focus();
    await keys('Control+Shift+p');
    await page.waitForSelector('#commands li');
    await page.keyboard.insertText('Reset notebook');
    await keys('Enter');
    await page.getByText('Type “main” to confirm').waitFor();
    await keys('Enter', 'Escape');
    await ran(1);
});

testOnOwnServer(
    'no question has the focus on a button that destroys; what was deleted comes back from the trash, or goes for good by its name',
    real,
    async () => {
        await page.evaluate(() =>
            fetch('/api/notebooks', {
                method: 'POST',
                headers: { 'content-type': 'application/json' },
                body: '{"name": "other"}',
            }),
        );
        const other = await open(`${origin()}/n/other`, {
            storageState: await page.context().storageState(),
        });
        await run('print("kept")', 'Shift+Enter', other);
        await ran(1, other);
        await page.goto(`${origin()}/`);
        await page.waitForSelector('#home:not([aria-busy])');
        const menu = async (item) => {
            await page.getByLabel('Actions for other', { exact: true }).click();
            await page.getByRole('menuitem', { name: item }).click();
        };
        await menu('Delete…');
        await page.getByRole('heading', { name: 'Delete “other”?' }).waitFor();
        await focusIs('Cancel');
        await shot('delete-notebook');
        await keys('Enter');
        assert.deepEqual((await texts('.notebooks a')).sort(), ['main', 'other']);
        await menu('Delete…');
        await page.getByRole('button', { name: 'Delete notebook' }).click();
        await page.getByText('Trash (1)').click();
        await shot('trash');
        await page.getByRole('button', { name: 'Restore “other”' }).click();
        await becomes(async () => (await texts('.notebooks a')).sort(), ['main', 'other']);
        await focusIs('other');
        assert.equal(await page.locator('.trash').count(), 0);
        await page.getByRole('link', { name: 'other' }).click();
        await page.waitForSelector('.notebook[aria-busy="false"]');
        await sees('kept');
        await page.goto(`${origin()}/`);
        await page.waitForSelector('#home:not([aria-busy])');
        await menu('Delete…');
        await page.getByRole('button', { name: 'Delete notebook' }).click();
        await page.getByText('Trash (1)').click();
        await menu('Delete permanently…');
        assert.equal(await page.getByRole('button', { name: 'Delete permanently' }).isDisabled(), true);
        await page.keyboard.insertText('other');
        await keys('Enter');
        await page.waitForSelector('.trash', { state: 'detached' });
        assert.deepEqual(await trash(), []);
    },
);

test('a line in which a cell runs is not deleted by Enter', real, async () => {
    await run('x = 1');
    await ran(1);
    await run('y = 1');
    await ran(2);
    await run('import time; time.sleep(600)', 'Control+Enter');
    await page.waitForSelector('.cell[data-status="running"]');
    await choose(0, /^Delete this and the state below/);
    await page.getByText('One running cell will be stopped').waitFor();
    await focusIs('Cancel');
    await keys('Enter');
    await page.waitForSelector('dialog', { state: 'detached' });
    assert.equal(await page.locator('.row').count(), 4);
});

test('a failed attempt that was forgotten is back when that is undone', real, async () => {
    await run('1/0', 'Control+Enter');
    await page.waitForSelector('[data-status="error"]');
    await page.locator('.cell').nth(0).locator('.cm-content').click();
    await keys('Control+A');
    await page.keyboard.insertText('1/1');
    await choose(0, 'Delete this attempt');
    await page.waitForSelector('.cell[data-status="error"]', { state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.waitForSelector('.cell[data-status="error"]');
    await sees('ZeroDivisionError');
});

test(
    'a cell that is inserted and runs in the midst of the line leaves what stands below it in sight, to be run',
    real,
    async () => {
        await three();
        await page.locator('.cell').nth(0).focus();
        await keys('b', 'Enter');
        await page.keyboard.insertText('x = 100');
        await sees('then become drafts');
        await shot('inside');
        await page.setViewportSize({ width: 1280, height: 800 });
        await page.locator('.cell').nth(1).locator('.cm-content').click();
        await keys('Shift+Enter');
        await ran(2);
        await becomes(sources, [
            'x = 1\nprint("one")',
            'x = 100',
            'x = x + 1\nprint("two")',
            'x = x + 1\nprint("three")',
        ]);
        assert.equal((await rows()).length, 5, 'nothing is deleted');
        await shot('inserted');
        await page.setViewportSize({ width: 1280, height: 800 });
        await page.getByRole('button', { name: 'Replay 2 cells below' }).click();
        await ran(4);
        await run('print("x is", x)');
        await sees('x is 102');
    },
);

/**
 * Drops files with the browser's own drag events. With `comes`, the pointer enters over the page's
 * edge; otherwise it appears at the target. With `covers`, waits for the overlay.
 */
async function dropFiles(files, selector, { on = page, comes = true, covers = true } = {}) {
    const { x, y, width, height } = await on.locator(selector).first().boundingBox();
    const client = await on.context().newCDPSession(on);
    const data = { items: [], files, dragOperationsMask: 1 };
    const at = { x: x + width / 2, y: y + height / 2, data };
    if (comes) await client.send('Input.dispatchDragEvent', { type: 'dragEnter', x: 2, y: 2, data });
    if (comes && covers) await on.waitForSelector('.drop-overlay');
    // Users take longer than a frame. Before the overlay is painted, the browser sends events to
    // the element below it.
    await on.evaluate(
        () => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted))),
    );
    for (const type of comes ? ['dragOver', 'dragOver', 'drop'] : ['dragEnter', 'dragOver', 'drop'])
        await client.send('Input.dispatchDragEvent', { type, ...at });
    await client.detach();
}

test(
    'a file that is dropped never gets into code, nor does the browser go to it: a notebook is offered for import',
    real,
    async (t) => {
        const dir = await mkdtemp(join(tmpdir(), 'ratoon-drop-'));
        t.after(() => rm(dir, { recursive: true }));
        const file = async (name, text) => (await writeFile(join(dir, name), text), join(dir, name));
        const cell = {
            cell_type: 'code',
            id: 'b',
            metadata: {},
            execution_count: null,
            source: 'print("theirs")',
            outputs: [],
        };
        const notebook = await file(
            'theirs.ipynb',
            JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [cell] }),
        );
        const table = await file('table.csv', 'a,b\n1,2\n');
        await run('from IPython.display import HTML\nHTML("<h1 style=\'height:200px\'>frame</h1>")');
        await ran(1);
        await page.waitForSelector('.frame-place[data-ready]');
        await page.locator('.cell[data-fresh] .editor').click();
        await page.keyboard.insertText('mine = 1');
        const at = page.url();
        for (const place of [
            '.cell[data-kind="draft"] .cm-content',
            '.frame-place',
            '.top',
            '.graph-pane',
            '.after',
        ]) {
            await dropFiles([table], place);
            await notice(/“table.csv” was not added to the notebook/);
            assert.equal(await page.locator('.drop-overlay').count(), 0, place);
            await page.locator('.notice').getByRole('button', { name: 'Close' }).click();
            await dropFiles([notebook], place);
            await notice(/Import “theirs.ipynb” as a new notebook/);
            await shot('dropped');
            await page.setViewportSize({ width: 1280, height: 800 });
            await page.locator('.notice').getByRole('button', { name: 'Close' }).click();
        }
        await dropFiles([table], '.frame-place', { comes: false });
        assert.equal(page.url(), at);
        assert.equal(
            await page.frameLocator('.frame-place iframe').locator('h1').textContent(),
            'frame',
            'nor did the frame go there',
        );
        assert.equal((await sources()).at(-1), 'mine = 1');
        const guestLink = await page.evaluate(() =>
            fetch('/api/links', {
                method: 'POST',
                headers: { 'content-type': 'application/json' },
                body: '{"scope": "run"}',
            }).then((answer) => answer.json()),
        );
        const guest = await open(`${origin()}${guestLink.path}`);
        await dropFiles([notebook], '.cell[data-fresh] .cm-content', { on: guest });
        await notice(/only the owner can/, guest);
        await guest.goto(`${origin()}/`);
        await guest.waitForSelector('#home:not([aria-busy])');
        await dropFiles([table], 'h1', { on: guest, covers: false });
        assert.equal(guest.url(), `${origin()}/`);
        await dropFiles([notebook], '.cell[data-kind="draft"] .cm-content');
        await page.getByRole('button', { name: 'Import' }).click();
        await page.waitForURL(`${origin()}/n/theirs**`);
        await page.waitForSelector('.notebook[aria-busy="false"]');
        await sees('print("theirs")');
        forgive(guest, /status of 403/);
    },
);

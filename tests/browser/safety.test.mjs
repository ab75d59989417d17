// Habits from other notebooks destroy no work: restarting, inserting cells, dropping files, and
// undoing deletions. Only on the real server. With RATOON_SHOTS=DIR, saves screenshots in DIR.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { becomes, nightly } from './browser.mjs';
import { png } from './png.mjs';
import {
    choose,
    focused,
    forgive,
    onBranch,
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
    '0 0 restarts: the cells become drafts at the start, all states stay, and it can be undone',
    nightly(real),
    async () => {
        await three();
        await page.locator('.cell').nth(2).focus();
        await keys('0', '0');
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
    'the drafts of a restart are shown at the start only, and the next restart replaces them',
    nightly(real),
    async () => {
        await three();
        await page.locator('.cell').nth(2).focus();
        await keys('0', '0', 'Enter');
        await ran(0);
        await page.locator('.row').nth(3).click();
        await ran(3);
        assert.equal(await page.locator('.cell[data-kind="draft"]:not([data-fresh])').count(), 0);
        await becomes(() => page.locator('.row').nth(0).textContent(), 'Start3 unrun cells');
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
    'text between cells that ran is exported, also in another version of the lineage, and does not claim that it runs',
    nightly(real),
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
        assert.equal(await page.getByText('must then run again').count(), 0);
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
        await page.getByRole('button', { name: 'Run 2 cells below' }).click();
        await ran(3);
        await onBranch(2, 2);
        await becomes(file, all('x = 5\nprint("one")', '# Title'));
    },
);

test(
    'a lineage can continue without one of its cells; the drafts come along, and the old lineage stays',
    nightly(real),
    async () => {
        await three();
        await page.locator('.cell[data-fresh] .editor').click();
        await page.keyboard.insertText('print("later")');
        await keys('Escape');
        const old = [
            'x = 1\nprint("one")',
            'x = x + 1\nprint("two")',
            'x = x + 1\nprint("three")',
            'print("later")',
        ];
        await becomes(sources, old);
        for (const _time of ['once', 'again']) {
            await page.locator('.cell').nth(1).focus();
            await keys('d', 'd');
            await ran(1);
            await becomes(sources, ['x = 1\nprint("one")', 'x = x + 1\nprint("three")', 'print("later")']);
            await page.locator('.row').nth(3).click();
            await ran(3);
            await becomes(sources, old);
        }
    },
);

test(
    'when a restart would stop a cell, the dialog focuses Cancel; the restart then stops the cell',
    nightly(real),
    async () => {
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
    },
);

testOnOwnServer(
    'a reset needs the typed name of the notebook, and its notice restores everything',
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
        assert.equal(await button.isDisabled(), true, 'half the name does not suffice');
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

testOnOwnServer('a reset from the palette needs the typed name, too', nightly(real), async () => {
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
    'a question before a deletion focuses Cancel; the trash restores a notebook, or deletes it permanently after its name is typed',
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
        // An open page would ask for the problems in its cells after the notebook is deleted.
        await other.close();
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

test('Enter does not confirm a deletion that would stop a running cell', real, async () => {
    await run('x = 1');
    await ran(1);
    await run('y = 1');
    await ran(2);
    await run('import time; time.sleep(600)', 'Control+Enter');
    await page.waitForSelector('.cell[data-status="running"]');
    await choose(0, /^Delete this state and the one below/);
    await page.getByText('One running cell will be stopped').waitFor();
    await focusIs('Cancel');
    await keys('Enter');
    await page.waitForSelector('dialog', { state: 'detached' });
    assert.equal(await page.locator('.row').count(), 4);
});

test('Undo restores a deleted attempt whose draft was edited', nightly(real), async () => {
    await run('1/0', 'Control+Enter');
    await page.waitForSelector('[data-status="error"]');
    await page.locator('.cell').nth(0).locator('.cm-content').click();
    await keys('Control+A');
    await page.keyboard.insertText('1/1');
    await choose(0, 'Delete failed attempt');
    await page.waitForSelector('.cell[data-status="error"]', { state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.waitForSelector('.cell[data-status="error"]');
    await sees('ZeroDivisionError');
});

test('running a cell inserted in the middle keeps the cells below it in sight as drafts', real, async () => {
    await three();
    await page.locator('.cell').nth(0).focus();
    await keys('b', 'Enter');
    await page.keyboard.insertText('x = 100');
    await sees('must then run again');
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
    await page.getByRole('button', { name: 'Run 2 cells below' }).click();
    await ran(4);
    await run('print("x is", x)');
    await sees('x is 102');
});

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
    'a dropped file is neither inserted into code nor opened by the browser: notebooks are offered for import',
    nightly(real),
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
            await notice(/Upload “table.csv”\? Cells then open it by name/);
            assert.equal(await page.locator('.drop-overlay').count(), 0, place);
            await page.locator('.notice').getByRole('button', { name: 'Close' }).click();
            await dropFiles([notebook], place);
            await notice(/Import “theirs.ipynb” as a new notebook/);
            await shot('dropped');
            await page.setViewportSize({ width: 1280, height: 800 });
            await page.locator('.notice').getByRole('button', { name: 'Close' }).click();
        }
        // Offered: the upload opens the files pane. On the pane it needs no question.
        await dropFiles([table, notebook], '.after');
        await page.locator('.notice').getByRole('button', { name: 'Upload all' }).click();
        await page.locator('.files-pane [data-name="theirs.ipynb"]').waitFor();
        const content = () => page.evaluate(() => fetch('/api/files/table.csv').then((one) => one.text()));
        assert.equal(await content(), 'a,b\n1,2\n');
        await writeFile(table, 'new');
        await dropFiles([table], '.files-pane');
        await page.getByRole('button', { name: 'Replace', exact: true }).click();
        await notice(/Uploaded “table.csv”/);
        assert.equal(await content(), 'new');
        await dropFiles([table], '.frame-place', { comes: false });
        assert.equal(page.url(), at);
        assert.equal(
            await page.frameLocator('.frame-place iframe').locator('h1').textContent(),
            'frame',
            'the frame did not open the file',
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
        await notice(/Upload “theirs.ipynb”\?/, guest);
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

testOnOwnServer(
    'a guest who runs cells has Files, without other notebooks and the trash; a guest who only views has none',
    real,
    async (t) => {
        const dir = await mkdtemp(join(tmpdir(), 'ratoon-guest-'));
        t.after(() => rm(dir, { recursive: true }));
        await writeFile(join(dir, 'table.csv'), 'a,b\n1,2\n');
        const ask = (path, body) =>
            page.evaluate(
                async ([path, body]) =>
                    (
                        await fetch(path, {
                            method: 'POST',
                            headers: { 'content-type': 'application/json' },
                            body: JSON.stringify(body),
                        })
                    ).json(),
                [path, body],
            );
        await ask('/api/notebooks', { name: 'private' });
        const guestOf = async (scope) =>
            open(`${origin()}${(await ask('/api/links', { scope, notebook: 'main' })).path}`);
        const guest = await guestOf('run');
        await guest.locator('.top [data-pane="files"]').click();
        const names = () =>
            guest.$$eval('.files-pane tr[data-name]', (all) => all.map((one) => one.dataset.name));
        await becomes(names, ['main.ratoon']);
        const chooser = guest.waitForEvent('filechooser');
        await guest.locator('.files-pane').getByRole('button', { name: 'Upload' }).click();
        await (await chooser).setFiles(join(dir, 'table.csv'));
        await becomes(names, ['main.ratoon', 'table.csv']);
        await run('print(open("table.csv").read())', 'Shift+Enter', guest);
        await guest.getByText('a,b').first().waitFor();
        const [download] = await Promise.all([
            guest.waitForEvent('download'),
            guest
                .locator('[data-name="table.csv"] .acts button')
                .click()
                .then(() => guest.getByRole('menuitem', { name: 'Download' }).click()),
        ]);
        assert.equal(download.suggestedFilename(), 'table.csv');
        await guest.locator('[data-name="table.csv"] .file-name').focus();
        await guest.keyboard.press('Delete');
        await becomes(names, ['main.ratoon']);
        await guest.locator('.notice').getByRole('button', { name: 'Undo' }).click();
        await becomes(names, ['main.ratoon', 'table.csv']);
        assert.equal(await guest.locator('.files-foot button').count(), 0, 'no list of deleted files');
        // Where cells may not write, the guest is offered no change.
        await guest.route('**/api/folders', async (route) => {
            const answer = await route.fetch();
            await route.fulfill({ response: answer, json: { ...(await answer.json()), may_write: false } });
        });
        await guest.getByRole('button', { name: 'Refresh' }).click();
        const upload = guest.locator('.files-pane').getByRole('button', { name: 'Upload' });
        await upload.waitFor({ state: 'detached' });
        await guest.getByLabel('Actions for table.csv').click();
        await becomes(() => texts('[role="menuitem"]', guest), ['Preview', 'Download', 'Copy path']);
        await guest.keyboard.press('Escape');
        const viewer = await guestOf('view');
        assert.equal(await viewer.locator('[data-pane="files"]').count(), 0);
        await dropFiles([join(dir, 'table.csv')], '.top', { on: viewer });
        await notice(/not imported or uploaded: this link only shows the notebook/, viewer);
    },
);

testOnOwnServer(
    'pictures are pasted and dropped into texts, shown also above cells that ran, and removed by undo',
    nightly(real),
    async (t) => {
        const dir = await mkdtemp(join(tmpdir(), 'ratoon-pictures-'));
        t.after(() => rm(dir, { recursive: true }));
        const picture = join(dir, 'plot.png');
        await writeFile(picture, Buffer.from(png(40, 30, [0, 90, 0]), 'base64'));
        const editor = page.locator('.cell[data-text] .cm-content');
        /** The widths of all shown pictures; null: not loaded. */
        const shown = (on = page) =>
            on.$$eval('.prose img', (all) => all.map((one) => (one.complete ? one.naturalWidth : null)));
        const names = async () =>
            (await editor.innerText()).match(/\(attachment:[\w-]+\.png\)/g)?.length ?? 0;

        await run(
            `import base64\nopen("fig.svg", "w").write('<svg xmlns="http://www.w3.org/2000/svg" width="70"/>')`,
        );
        await ran(1);
        await page.locator('.cell[data-fresh] .editor').click();
        await page.locator('.cell[data-fresh]').getByRole('button', { name: 'Text' }).click();
        await editor.click();
        await page.keyboard.insertText('![local](fig.svg) ![elsewhere](http://127.0.0.1:9/x.png)\n\n');
        // From a spreadsheet, the text is pasted; from a file manager, the picture.
        for (const types of [['text/plain', 'text/html'], ['text/plain']])
            await editor.evaluate(async (element, all) => {
                const canvas = Object.assign(document.createElement('canvas'), { width: 50, height: 20 });
                const blob = await new Promise((done) => canvas.toBlob(done));
                const data = new DataTransfer();
                data.items.add(new File([blob], 'image.png', { type: 'image/png' }));
                for (const type of all) data.setData(type, 'cells');
                element.dispatchEvent(
                    new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }),
                );
            }, types);
        await becomes(names, 1);
        assert.match(await editor.innerText(), /cells/);
        await page.keyboard.press('Control+z');
        await becomes(names, 0);
        await page.keyboard.press('Control+y');
        await becomes(names, 1);
        await dropFiles([picture], '.cell[data-text] .cm-content');
        await becomes(names, 2);
        await shot('pictures-editing');
        await page.setViewportSize({ width: 1280, height: 800 });

        // The text becomes part of the state that the next cell makes.
        await run('x = 1');
        await ran(2);
        await becomes(shown, [70, 0, 50, 40]);
        await shot('pictures');
        await page.setViewportSize({ width: 1280, height: 800 });
        await page.reload();
        await page.waitForSelector('.notebook[aria-busy="false"]');
        await becomes(shown, [70, 0, 50, 40]);
        const link = await page.evaluate(() =>
            fetch('/api/links', {
                method: 'POST',
                headers: { 'content-type': 'application/json' },
                body: '{"scope": "view"}',
            }).then((answer) => answer.json()),
        );
        const guest = await open(`${origin()}${link.path}`);
        await becomes(() => shown(guest), [70, 0, 50, 40]);

        // Above a cell that ran; a picture that is too large is refused, and the text stays.
        await page.locator('.cell[data-text] .prose').dblclick();
        await dropFiles([picture], '.cell[data-text] .cm-content');
        await becomes(names, 3);
        await writeFile(join(dir, 'large.png'), Buffer.alloc(11_000_000));
        await dropFiles([join(dir, 'large.png')], '.cell[data-text] .cm-content');
        await notice(/“large.png” was not attached: it is larger than 10 MB/);
        await page.locator('.cell[data-fresh] .editor').click();
        await becomes(shown, [70, 0, 50, 40, 40]);
        await becomes(() => shown(guest), [70, 0, 50, 40, 40]);
        // A picture that is dropped elsewhere is offered for upload.
        await dropFiles([picture], '.cell[data-fresh] .cm-content');
        await notice(/Upload “plot.png”/);
        assert.equal(await page.locator('.cell[data-fresh] .cm-content').getByText('PNG').count(), 0);
    },
);

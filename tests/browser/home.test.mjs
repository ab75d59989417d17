// The list of notebooks, import and export of files, and pages whose notebook is renamed or
// deleted. Only on the real server.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { becomes, nightly } from './browser.mjs';
import { listen } from './listen.mjs';
import { CsvTable } from '../../web/table/csv-table.js';
import { png } from './png.mjs';
import { forgive, lacks, open, page, ran, run, sees, testOnOwnServer, texts } from './harness.mjs';

const real = { skip: !process.env.RATOON_BIN };

const FILE = JSON.stringify({
    nbformat: 4,
    nbformat_minor: 5,
    metadata: {},
    cells: [
        { cell_type: 'markdown', id: 'a', metadata: {}, source: '# From elsewhere' },
        {
            cell_type: 'code',
            id: 'b',
            metadata: {},
            execution_count: 4,
            source: 'print("here")',
            outputs: [{ output_type: 'stream', name: 'stdout', text: 'there\n' }],
        },
        {
            cell_type: 'code',
            id: 'c',
            metadata: {},
            execution_count: 5,
            source: '1 + 1',
            outputs: [
                {
                    output_type: 'display_data',
                    metadata: {},
                    data: {
                        'text/plain': 'plain words',
                        'text/html': '<b>rich</b><script>document.body.append(" ran")</script>',
                    },
                },
            ],
        },
    ],
});

const origin = () => new URL(page.url()).origin;
const post = (path, body) =>
    page.evaluate(
        ([to, text]) =>
            fetch(to, { method: 'POST', headers: { 'content-type': 'application/json' }, body: text }).then(
                (answer) => answer.json(),
            ),
        [path, JSON.stringify(body)],
    );
/** The files pane of the page. */
function filesPane() {
    const pane = page.locator('.files-pane');
    const shown = () =>
        pane.locator('tr[data-name]').evaluateAll((all) => all.map((one) => one.dataset.name));
    return {
        pane,
        entry: (name) => pane.locator(`[data-name="${name}"] .file-name`),
        listed: (names) => becomes(shown, names),
        async upload(...files) {
            const choosing = page.waitForEvent('filechooser');
            await pane.getByRole('button', { name: 'Upload…' }).click();
            await (await choosing).setFiles(files);
        },
    };
}
const names = (on = page) => texts('.notebooks a', on);
const named = async (wanted) =>
    page.waitForFunction(
        (all) =>
            JSON.stringify(
                [...document.querySelectorAll('.notebooks a')].map((one) => one.textContent).sort(),
            ) === all,
        JSON.stringify([...wanted].sort()),
    );

async function goHome() {
    await page.goto(`${origin()}/`);
    await page.waitForSelector('#home:not([aria-busy])');
}

/** Chooses from the menu of a notebook. */
async function choose(name, item) {
    await page.getByLabel(`Actions for ${name}`, { exact: true }).click();
    await page.getByRole('menuitem', { name: item }).click();
}

async function answer(name, text) {
    if (text !== undefined) await page.locator('dialog input').fill(text);
    await page.getByRole('button', { name, exact: true }).click();
}

const said = (pattern) =>
    page.waitForFunction(
        (source) => new RegExp(source).test(document.querySelector('.said')?.textContent ?? ''),
        pattern.source,
    );
const focusIs = (text) =>
    page.waitForFunction((wanted) => document.activeElement?.textContent.trim() === wanted, text);

/** Drops a file onto the page. */
const drop = (name, text) =>
    page.evaluate(
        ([title, content]) => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([content], title));
            for (const kind of ['dragenter', 'dragover', 'drop'])
                document.body.dispatchEvent(
                    new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }),
                );
        },
        [name, text],
    );

testOnOwnServer(
    'a notebook’s own menu duplicates it, opens the copy, and renames it',
    nightly(real),
    async () => {
        await run('x = 1');
        await ran(1);
        // A copy has what is on disk.
        await page.keyboard.press('Control+s');
        await page.locator('.notice[data-open]', { hasText: /saved/i }).waitFor();
        await page.getByRole('button', { name: 'More' }).click();
        await page.getByRole('menuitem', { name: 'Rename notebook', disabled: true }).waitFor();
        await page.getByRole('menuitem', { name: 'Duplicate notebook' }).click();
        const notice = page.locator('.notice', { hasText: 'Duplicated as “main copy”' });
        await notice.getByRole('button', { name: 'Open' }).click();
        await page.waitForURL(/\/n\/main%20copy/);
        await ran(1);
        await run('later = (i for i in [])');
        await ran(2);
        const rename = async () => {
            await page.getByRole('button', { name: 'More' }).click();
            await page.getByRole('menuitem', { name: 'Rename notebook', disabled: false }).click();
        };
        await rename();
        await page.locator('dialog', { hasText: 'Variables that cannot be saved, such as' }).waitFor();
        await page.keyboard.press('Escape');
        await page.keyboard.press('Control+s');
        await page.locator('.row[aria-label*="one variable could not be saved"]').waitFor();
        await rename();
        await page.locator('dialog', { hasText: 'later cannot be saved and is lost.' }).waitFor();
        await answer('Rename', 'other');
        await page.waitForURL(/\/n\/other/);
        await ran(2);
        await goHome();
        await named(['other', 'main']);
    },
);

testOnOwnServer(
    'notebooks can be duplicated, renamed and deleted, and the focus is never lost',
    nightly(real),
    async () => {
        await run('x = 1');
        await ran(1);
        await goHome();
        assert.deepEqual(await names(), ['main']);
        assert.match(await page.locator('.facts').textContent(), /1 state.*kB/);
        await choose('main', 'Duplicate');
        await named(['main', 'main copy']);
        await focusIs('main copy');
        await choose('main copy', 'Rename');
        await answer('Rename', 'main');
        await page.locator('dialog [role=alert]', { hasText: 'there is a notebook of this name' }).waitFor();
        await page.keyboard.press('Escape');
        await choose('main copy', 'Rename');
        await page.keyboard.type('other');
        await page.keyboard.press('Enter');
        await named(['main', 'other']);
        await focusIs('other');
        await choose('other', 'Delete');
        assert.match(
            await page.locator('dialog').textContent(),
            /Delete “other”\?.*1 state with their code, outputs, drafts and checkpoints.*go to the trash .*restored for 30 days\. Its share links stop/s,
        );
        await page.keyboard.press('Escape');
        await named(['main', 'other']);
        await choose('other', 'Delete');
        await answer('Delete notebook');
        await named(['main']);
        await focusIs('main');
        // The menu says why they cannot be done; so does the page that is asked nevertheless.
        await page.getByRole('button', { name: 'Actions for main' }).click();
        for (const name of [/^Rename/, /^Delete/]) {
            const item = page.getByRole('menuitem', { name, disabled: true });
            assert.match(await item.textContent(), /Ratoon was started with this notebook/);
        }
        await page.keyboard.press('End');
        await page.keyboard.press('Enter');
        await said(/Ratoon was started with “main”/);
        forgive(page, /status of 409/);
    },
);

testOnOwnServer('the keyboard alone suffices to create a notebook', nightly(real), async () => {
    await goHome();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await focusIs('New notebook');
    await page.keyboard.press('Enter');
    await page.keyboard.type('by keys');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${origin()}/n/by%20keys**`);
    await page.waitForSelector('.notebook[aria-busy="false"]');
    await page.getByRole('link', { name: 'All notebooks' }).click();
    await page.waitForSelector('#home:not([aria-busy])');
    await named(['main', 'by keys']);
});

testOnOwnServer(
    'a dropped file becomes a notebook; its outputs are grey until its cells run, and nothing in it runs by itself',
    real,
    async () => {
        await goHome();
        await drop('holiday.txt', 'hello');
        await said(/not an .ipynb or .py file/);
        await drop('broken.ipynb', '{"nbformat": 4}');
        await said(/`cells` is missing in the file/);
        assert.deepEqual(await names(), ['main']);
        await drop('Their (1) work.ipynb', FILE);
        await page.waitForURL(`${origin()}/n/Their%201%20work**`);
        await page.waitForSelector('.notebook[aria-busy="false"]');
        await sees('there');
        await sees('plain words');
        const grey = page.locator('.cell[data-status="imported"]');
        assert.equal(await grey.count(), 2);
        assert.notEqual(
            await grey
                .first()
                .locator('.outputs')
                .evaluate((one) => getComputedStyle(one).filter),
            'none',
        );
        assert.equal(await page.locator('iframe').count(), 0, 'no script of the file runs');
        assert.equal(await page.locator('.row').count(), 1, 'the graph draws the root only');
        await page.getByRole('button', { name: 'Show original output' }).click();
        await page.waitForSelector('.frame-place[data-ready]');
        await page.getByRole('button', { name: /Run these 2 cells/ }).click();
        await ran(2);
        assert.equal(await grey.count(), 0);
        const printed = await texts('.stream');
        assert.ok(
            printed.some((text) => text.includes('here')) && !printed.some((text) => text.includes('there')),
            printed.join(),
        );
        forgive(page, /status of 400/);
    },
);

testOnOwnServer(
    'a notebook can be downloaded in three formats, with the text just typed',
    nightly(real),
    async () => {
        await run('print("done")');
        await ran(1);
        await page.keyboard.insertText('still a draft');
        const download = async (format) => {
            await page.getByRole('button', { name: 'More', exact: true }).click();
            const [file] = await Promise.all([
                page.waitForEvent('download'),
                page.getByRole('menuitem', { name: `Download as ${format}` }).click(),
            ]);
            return [file.suggestedFilename(), await readFile(await file.path(), 'utf8')];
        };
        const [name, text] = await download('.ipynb');
        const sources = JSON.parse(text).cells.map((cell) => [cell.source.join(''), cell.execution_count]);
        assert.deepEqual(
            [name, sources],
            [
                'main.ipynb',
                [
                    ['print("done")', 1],
                    ['still a draft', null],
                ],
            ],
        );
        assert.deepEqual(await download('.py'), ['main.py', '# %%\nprint("done")\n\n# %%\nstill a draft\n']);
        const [html, content] = await download('HTML');
        assert.equal(html, 'main.html');
        assert.match(content, /<pre class="stream" tabindex="0">done\n<\/pre>/);
    },
);

testOnOwnServer(
    'an exported page needs no other file, and the frames of its outputs request nothing',
    real,
    async (t) => {
        const heard = [];
        const evil = createServer((request, response) => (heard.push(request.url), response.end()));
        const elsewhere = `http://127.0.0.1:${await listen(evil)}`;
        t.after(() => evil.close());
        const probe = `<h3>rich</h3><script>const t = (f) => { try { return String(f()) } catch (e) { return e.name } }; document.title = "x"; document.body.append([t(() => document.cookie), t(() => parent.document.title), t(() => localStorage.length), document.baseURI, document.referrer].join("|")); fetch("${elsewhere}/a").catch(() => {}); new Image().src = "${elsewhere}/b"</script>`;
        const leave = `<script>location.href = "${elsewhere}/c"</script>`;
        await run(
            `from IPython.display import HTML, display\nprint("\\x1b[31mred\\x1b[0m")\ndisplay(HTML(${JSON.stringify(probe)}))\nHTML(${JSON.stringify(leave)})`,
        );
        await ran(1);
        const state = decodeURIComponent(new URL(page.url()).hash.slice(1));
        const text = await page.evaluate(
            (path) => fetch(path).then((file) => file.text()),
            `/api/notebooks/main/states/${state}/document?as=html`,
        );
        const { mkdtemp, rm } = await import('node:fs/promises');
        const dir = await mkdtemp(
            (await import('node:path')).join((await import('node:os')).tmpdir(), 'ratoon-export-'),
        );
        await writeFile(`${dir}/main.html`, text);
        const context = await page.context().browser().newContext();
        const file = await context.newPage();
        await file.goto(`file://${dir}/main.html`);
        await file.waitForFunction(() => parseFloat(document.querySelector('iframe').style.height) > 20);
        assert.equal(await file.locator('.stream span').evaluate((one) => one.textContent), 'red');
        const [, frame] = file.frames();
        const words = await frame.evaluate(() => document.body.innerText);
        assert.match(words, /^rich\nSecurityError\|SecurityError\|SecurityError\|/);
        assert.ok(!words.includes('token'), words);
        assert.deepEqual(heard, [], 'nothing was fetched');
        await context.close();
        await rm(dir, { recursive: true });
        forgive(page, /violates|Content Security Policy|Failed to load/i);
    },
);

testOnOwnServer(
    'a page whose notebook is renamed or deleted says so and links to where to go',
    nightly(real),
    async () => {
        await post('/api/notebooks', { name: 'old' });
        const other = await open(`${origin()}/n/old`, { storageState: await page.context().storageState() });
        await run('x = 1', 'Shift+Enter', other);
        // A check of the code may be on its way when the notebook is renamed or deleted.
        forgive(other, /status of 404.*notebooks\/(?:old|new%20name)\/lint/);
        await ran(1, other);
        await goHome();
        await choose('old', 'Rename');
        assert.match(
            await page.locator('dialog').textContent(),
            /share links of this notebook keep working.*open pages show the new name/,
        );
        await answer('Rename', 'new name');
        await other.waitForSelector('.banner');
        assert.match(await other.locator('.banner').textContent(), /This notebook was renamed to “new name”/);
        await other.getByRole('link', { name: 'Open “new name”' }).click();
        await other.waitForSelector('.notebook[aria-busy="false"]');
        await ran(1, other);
        await run('import time; time.sleep(60)', 'Shift+Enter', other);
        await other.waitForSelector('[data-status="running"]');
        await goHome();
        assert.equal(await page.locator('.mark[data-running]').textContent(), '1 running');
        await choose('new name', 'Delete');
        assert.match(await page.locator('dialog').textContent(), /One running cell will be stopped/);
        await answer('Delete notebook');
        await named(['main']);
        await other.waitForFunction(() =>
            /renamed or deleted/.test(document.querySelector('.banner')?.textContent ?? ''),
        );
        await other.getByRole('link', { name: 'All notebooks' }).last().click();
        await other.waitForSelector('#home:not([aria-busy])');
    },
);

testOnOwnServer(
    'guests see only the notebooks that they may open, and no buttons; the list fits into a phone',
    real,
    async () => {
        await goHome();
        const { token } = await post('/api/links', { scope: 'view' });
        const context = await page
            .context()
            .browser()
            .newContext({ viewport: { width: 360, height: 740 } });
        const guest = await context.newPage();
        await guest.goto(`${origin()}/n/main?token=${token}`);
        await guest.waitForSelector('.notebook[aria-busy="false"]');
        await guest.goto(`${origin()}/`);
        await guest.waitForSelector('#home:not([aria-busy])');
        assert.deepEqual(await names(guest), ['main']);
        assert.equal(await guest.locator('button').count(), 0);
        await context.close();
        await page.setViewportSize({ width: 360, height: 740 });
        assert.ok(
            await page.evaluate(() => document.documentElement.scrollWidth <= 360),
            'nothing is wider than the phone',
        );
    },
);

testOnOwnServer(
    'the files pane shows, uploads, renames, deletes and restores the files of the cells',
    real,
    async () => {
        const { pane, entry, listed, upload } = filesPane();
        await run('import os; os.mkdir("data"); open("made.txt", "w").write("by a cell")');
        await ran(1);
        await page.getByRole('button', { name: 'Files' }).click();
        await listed(['data', 'main.ratoon', 'made.txt']);
        await run('open("later.txt", "w").write("x")');
        await listed(['data', 'main.ratoon', 'later.txt', 'made.txt']);
        const cut = () =>
            pane
                .locator('th, .bytes, .modified')
                .evaluateAll((all) =>
                    all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent),
                );
        assert.deepEqual(await cut(), []);

        // By keyboard: into the folder and back, a preview, a rename, a deletion with undo.
        await entry('data').focus();
        await page.keyboard.press('Enter');
        await pane.getByText('This folder is empty').waitFor();
        const csv = { name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b\n1,2\n') };
        await upload({ ...csv, name: 'b.ipynb', buffer: Buffer.from(FILE) }, csv);
        await listed(['a.csv', 'b.ipynb']);
        // The last uploaded file has the focus.
        await focusIs('a.csv');
        await page.keyboard.press('Enter');
        await page.locator('dialog .grid-cell').first().waitFor();
        await page.keyboard.press('Escape');
        // The name is selected without its ending, and all of a folder's name.
        await page.keyboard.press('F2');
        await page.keyboard.type('c');
        await page.keyboard.press('Enter');
        await listed(['b.ipynb', 'c.csv']);
        await focusIs('c.csv');
        await page.keyboard.press('Delete');
        await listed(['b.ipynb']);
        await page.locator('.notice').getByRole('button', { name: 'Undo' }).click();
        await listed(['b.ipynb', 'c.csv']);
        await run('print(open("data/c.csv").read())');
        await sees('1,2');

        // A replaced file can be restored beside the new one.
        await upload({ ...csv, name: 'c.csv', buffer: Buffer.from('new') });
        await page.getByRole('button', { name: 'Replace', exact: true }).click();
        await page.getByText('Uploaded “c.csv” to “data”.').waitFor();
        await pane.getByRole('button', { name: 'Deleted files…' }).click();
        await page.getByRole('button', { name: 'Restore data/c.csv' }).click();
        await page.getByText('Nothing was deleted.').waitFor();
        await page.keyboard.press('Escape');
        await listed(['b.ipynb', 'c (2).csv', 'c.csv']);
        await entry('c.csv').focus();
        await page.keyboard.press('Backspace');
        await focusIs('data');
        for (const name of ['v1.2', 'data']) {
            await page.keyboard.press('F2');
            await page.keyboard.type(name);
            await page.keyboard.press('Enter');
            await focusIs(name);
        }

        // A notebook is imported, and links see no files.
        await page.keyboard.press('Enter');
        await listed(['b.ipynb', 'c (2).csv', 'c.csv']);
        await entry('b.ipynb').click();
        await page.getByRole('button', { name: 'Import as notebook' }).click();
        await page.locator('.notice').getByRole('button', { name: 'Open' }).click();
        await page.waitForURL(`${origin()}/n/b**`);
        await sees('plain words');
    },
);

testOnOwnServer(
    'an uploaded file gets the focus and comes into view, but not from a user who types',
    real,
    async () => {
        const { pane, entry, upload } = filesPane();
        const file = (name) => ({ name, mimeType: 'text/csv', buffer: Buffer.from('a,b\n1,2\n') });
        await run('for i in range(100): open(f"f{i:02}.txt", "w").close()');
        await ran(1);
        await page.getByRole('button', { name: 'Files' }).click();
        await entry('f99.txt').waitFor();
        for (const name of ['z.csv', 'a.csv', 'f50.csv']) {
            await upload(file(name));
            await focusIs(name);
            const box = await entry(name).boundingBox();
            const list = await pane.locator('.files-list').boundingBox();
            assert.ok(box.y >= list.y + 20 && box.y + box.height <= list.y + list.height, name);
        }
        await page.keyboard.press('F2');
        await page.locator('dialog input').fill('g.csv');
        await page.keyboard.press('Enter');
        await focusIs('g.csv');

        let release;
        const held = new Promise((done) => (release = done));
        await page.route('**/api/files/late.csv', async (route) => {
            await held;
            await route.continue();
        });
        await upload(file('late.csv'));
        await pane.locator('.uploads li').waitFor();
        await page.locator('.cell[data-fresh] .cm-content').click();
        await page.keyboard.type('mine');
        release();
        await entry('late.csv').waitFor();
        await page.getByText('Uploaded “late.csv”.').waitFor();
        await page.keyboard.type(' too');
        assert.equal(await page.evaluate(() => document.activeElement.textContent), 'mine too');
    },
);

testOnOwnServer('a CSV file opens as a table without Python', real, async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const { entry, upload } = filesPane();
    const dialog = page.locator('dialog');
    const column = (at) => texts(`dialog .grid-row .grid-cell:nth-child(${at})`);
    const status = dialog.locator('.grid-top [role="status"]');
    const made = {
        'data.csv': '\uFEFFname;n;\r\n"b ""x""";10;<b>bold</b>\r\n\r\na;9\r\n"c\nd";;"e;f"\r\n',
        'tabs.tsv': 'a, b\tc\n1, 2\t3\n',
        'old.csv': Buffer.from('n\nM\xfcll \x80\n', 'latin1'),
        'picture.csv': Buffer.from(png(2, 2, [0, 90, 0]), 'base64'),
        'old.txt': Buffer.from('\x80 5', 'latin1'),
        'empty.csv': '',
        'large.csv': `n,text\n${'12345678,"a text of a row"\n'.repeat(400_000)}`,
    };
    await page.getByRole('button', { name: 'Files' }).click();
    const files = Object.entries(made).map(([name, text]) => ({
        name,
        mimeType: 'text/csv',
        buffer: Buffer.from(text),
    }));
    await upload(...files);
    await focusIs('large.csv');

    // The keys, filters and copies are those of the grid of a data frame.
    await entry('data.csv').click();
    await becomes(() => column(1), ['b "x"', 'a', 'c\nd']);
    assert.deepEqual(await column(3), ['<b>bold</b>', 'missing', 'e;f']);
    assert.equal(await status.textContent(), '3 rows, 3 columns');
    assert.deepEqual(await texts('dialog .grid-name b'), ['name', 'n', 'Column 3']);
    assert.equal(
        await page.getByRole('grid').evaluate((one) => one === document.activeElement),
        true,
        'the grid has the focus',
    );
    for (const key of ['ArrowRight', 'ArrowUp', 'Enter']) await page.keyboard.press(key);
    await becomes(() => column(2), ['9', '10', 'missing']);
    for (const key of ['ArrowDown', 'Shift+ArrowRight', 'Control+c']) await page.keyboard.press(key);
    await page.getByText('Copied 1 row × 2 columns.').waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), '9\t\n');
    // The rows would cover a focus ring inside the grid.
    const box = dialog.locator('.grid-box');
    assert.match(await box.evaluate((one) => getComputedStyle(one).outline), /solid 2px/);
    await page.keyboard.press('f');
    await page.getByLabel('Column', { exact: true }).selectOption('n');
    await page.getByLabel('Condition', { exact: true }).selectOption('is at least');
    await page.getByLabel('Value', { exact: true }).fill('ten');
    await page.keyboard.press('Enter');
    await page.getByText('which is not a number').waitFor();
    await page.getByLabel('Value', { exact: true }).fill('9.5');
    await page.keyboard.press('Enter');
    await becomes(() => status.textContent(), '1 of 3 rows, 3 columns');
    const coming = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download CSV' }).click();
    const saved = await coming;
    assert.equal(saved.suggestedFilename(), 'data.csv');
    assert.equal(await readFile(await saved.path(), 'utf8'), 'name,n,\n"b ""x""",10,<b>bold</b>\n');
    await page.getByRole('button', { name: 'Show as text' }).click();
    await dialog.locator('.file-text', { hasText: 'name;n;' }).waitFor();
    await page.getByRole('button', { name: 'Show as table' }).click();
    await becomes(() => status.textContent(), '1 of 3 rows, 3 columns');
    await page.keyboard.press('Escape');
    await focusIs('data.csv');

    const opens = async (name, wanted, ...said) => {
        await entry(name).click();
        await becomes(() => status.textContent(), wanted);
        for (const text of said) await dialog.getByText(text).first().waitFor();
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
    };
    await opens('tabs.tsv', '1 row, 2 columns', '1, 2');
    await opens('old.csv', '1 row, 1 column', 'Müll €', 'Read as Windows-1252, because it is not UTF-8.');
    await opens('empty.csv', '0 rows, 0 columns', 'No rows.');
    await opens('large.csv', '370,370 rows, 2 columns', 'Only the first 10 MB are shown.');
    await entry('old.txt').click();
    await dialog.locator('.file-text', { hasText: '€ 5' }).waitFor();
    await dialog.getByText('Read as Windows-1252').waitFor();
    await page.keyboard.press('Escape');
    await entry('picture.csv').click();
    await dialog.getByText('There is no preview for files of this type.').waitFor();
    assert.equal(await dialog.getByRole('button', { name: 'Show as text' }).count(), 0);
});

testOnOwnServer(
    'a CSV file is sorted, filtered and summarised as its data frame is',
    { skip: lacks('pandas') },
    async () => {
        const words = ['b', '', 'B', 'ä', 'a b', '10', '9'];
        const values = ['10', '-1.5', '', '9', '2e2', '10'];
        const lines = Array.from({ length: 60 }, (_, i) => [i, words[i % 7], values[i % 6]].join());
        const text = `i,word,x\n${lines.join('\n')}\n`;
        const code = `import io, pandas as pd\ndf = pd.read_csv(io.StringIO("""${text}"""))`;
        const command = (body) => post('/api/notebooks/main/commands', body);
        const exec_id = '0'.repeat(32);
        const { state } = await command({ do: 'run', exec_id, code, on: { state: 'initial' } });
        const file = new CsvTable(text);
        const conditions = ['contains', 'equal', 'unequal', 'less', 'at_most', 'greater', 'at_least'];
        const filters = [
            ...conditions.flatMap((is) => [
                { column: 1, is, value: 'B' },
                { column: 2, is, value: '10' },
            ]),
            ...[1, 2].flatMap((column) => ['missing', 'present'].map((is) => ({ column, is }))),
        ];
        const orders = [0, 1, 2].flatMap((column) =>
            [false, true].map((descending) => ({ sort: { column, descending }, filters: [] })),
        );
        const views = [...orders, ...filters.map((one) => ({ sort: null, filters: [one] }))];
        // The rows' numbers, and what the summaries count. The frame begins with an index column.
        const told = (/** @type {any} */ { table }, first) => [
            table.rows.map((row) => row[first]),
            table.summaries.columns.slice(first).map((one) => [one.bars ?? one.distinct, one.missing]),
        ];
        for (const { sort, filters } of views) {
            const of = (first) => ({
                expression: 'df',
                limit: 100,
                summaries: true,
                sort: sort && { ...sort, column: sort.column + first },
                filters: filters.map((one) => ({ ...one, column: one.column + first })),
            });
            const frame = await command({ do: 'table', state, view: of(1) });
            assert.deepEqual(told(file.answer(of(0)), 0), told(frame, 1), JSON.stringify({ sort, filters }));
        }
    },
);

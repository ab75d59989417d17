// The residency of states: how the page shows and changes it. On the stand-in, which can simulate
// any residency.

import assert from 'node:assert/strict';
import { kept, MISSING, TROUBLE } from './fixture.mjs';
import { nightly } from './browser.mjs';
import { choose, forgive, open, ran, run, sees, testWithoutPage, texts, three } from './harness.mjs';
import { start } from './mock.mjs';

/** Opens a page on the empty notebook of a stand-in. */
async function standIn(t) {
    const server = await start();
    t.after(() => server.stop());
    return { server, page: await open(server.url) };
}

/** Opens a page on the notebook with states of every residency, at one of these states. */
async function at(state, t, scope) {
    const other = await start(0, kept());
    t.after(() => other.stop());
    const one = await open(scope ? other.url.replace('secret', scope) : other.url);
    one.server = other;
    await go(state, one);
    return one;
}

async function go(state, on) {
    await on.locator(`.row[data-node="${state}"]`).click();
    await on.waitForSelector(`.row[data-node="${state}"][data-here]`);
}

const named = (state, on) => on.locator(`.row[data-node="${state}"]`).getAttribute('aria-label');
const mark = (state, on) =>
    on
        .$$eval('.row', (rows, id) => rows.findIndex((row) => row.dataset.node === id), state)
        .then((i) => on.locator('.mark').nth(i));
const filled = async (state, on) =>
    (await mark(state, on))
        .locator('.dot')
        .evaluate(
            (dot) => getComputedStyle(dot).fill !== getComputedStyle(document.querySelector('.ground')).fill,
        );

testWithoutPage('a node shows the residency of its state by shape and in words', nightly(), async (t) => {
    const one = await at('clean', t);
    assert.equal(
        await named('clean', one),
        'Cell 2, df = df.dropna(), output: output of clean, current state',
        'the usual residency is not mentioned',
    );
    assert.equal(
        await named('disk', one),
        'Cell 3, big = df[df.population > 100_000], output: output of disk, On disk, 1.2 MB',
    );
    assert.equal(
        await named('partial', one),
        'Cell 4, rows = (row for row in df.itertuples()), output: output of partial, On disk, 1.2 MB; ' +
            '2 variables could not be saved',
    );
    assert.match(await named('writing', one), /saving 40%/);
    assert.match(await named('failed', one), /could not be saved: no space left on device/);
    assert.match(await named('replay', one), /Needs replay/);
    assert.match(await named('load', one), /unloads last/);
    await one.locator('.row[data-node="failed"]').hover();
    await one.locator('.row[data-node="clean"]').hover();
    await one.locator('.node-card', { hasText: 'df.dropna()' }).waitFor();
    assert.match(await one.locator('.node-card').textContent(), /In memory · 3.1 MB/);
    await one.keyboard.press('Escape');
    assert.deepEqual(await Promise.all(['clean', 'disk', 'replay'].map((id) => filled(id, one))), [
        true,
        false,
        false,
    ]);
    assert.match(
        await (await mark('replay', one))
            .locator('.dot')
            .evaluate((dot) => getComputedStyle(dot).strokeDasharray),
        /2\.5/,
    );
    for (const [id, sign] of [
        ['writing', '.arc'],
        ['failed', '.alarm'],
        ['partial', '.speck'],
    ])
        assert.equal(await (await mark(id, one)).locator(sign).count(), 1);
    assert.equal(await (await mark('clean', one)).locator('.arc, .alarm, .speck').count(), 0);
});

testWithoutPage('variables that could not be restored are listed, and a replay restores them', async (t) => {
    const one = await at('restored', t);
    one.server.notebook.replayMs = 500;
    await one.locator('summary', { hasText: 'Restored from disk without 2 variables' }).waitFor();
    const list = await texts('.residency li', one);
    for (const [i, { name, type, reason }] of MISSING.entries())
        assert.ok([name, type, reason].every((word) => list[i].includes(word)));
    await one.locator('summary', { hasText: 'One variable changed when' }).waitFor();
    assert.match(list[MISSING.length], /molecule\s+Mol\s+a Mol lost \.source/);
    await one.getByRole('button', { name: 'Replay cells' }).click();
    await one.locator('dialog', { hasText: 'Replay 2 cells?' }).waitFor();
    assert.match(await one.locator('dialog').textContent(), /“rows = \(row for row/);
    await one.getByRole('button', { name: 'Cancel' }).click();
    assert.equal(await one.locator('progress').count(), 0);
    await one.getByRole('button', { name: 'Replay cells' }).click();
    await one.getByRole('button', { name: 'Replay 2 cells' }).click();
    await one.locator('.replaying', { hasText: /Replaying \d of 5/ }).waitFor();
    await one.locator('.residency-line', { hasText: 'restored by replaying its cells' }).waitFor();
    assert.match(
        await one.locator('.residency').textContent(),
        /cannot be saved\. They exist only while this state is in memory/,
        'a restart would lose them again',
    );
    assert.equal(await one.getByRole('button', { name: 'Replay cells' }).count(), 0);
});

testWithoutPage(
    'the grid of a state on disk is loaded on request, and that of a lost one after a replay',
    nightly(),
    async (t) => {
        const one = await at('disk', t);
        const openGrid = async () => {
            await one.keyboard.press('F1');
            await one.locator('#commands li', { hasText: 'Open a DataFrame as a grid…' }).click();
            await one.getByRole('textbox', { name: 'Open as grid' }).fill('big');
            await one.keyboard.press('Enter');
        };
        await openGrid();
        await one.getByText('This state is on disk. Load it to see the table.').waitFor();
        assert.equal(await one.getByRole('grid').count(), 0);
        await one.getByRole('button', { name: 'Load the state' }).click();
        await one.getByRole('grid', { name: 'big' }).waitFor();
        await one.getByText('1,000,000 rows, 2 columns').waitFor();
        await one.keyboard.press('Escape');
        await one.locator('.row[data-node="replay"]').click();
        await openGrid();
        await one.getByText('This state is not in memory and cannot be loaded from disk.').waitFor();
        await one.getByRole('button', { name: 'Replay its cells…' }).click();
        await one.locator('dialog button[data-main]', { hasText: 'Replay' }).click();
        await one.getByRole('grid', { name: 'big' }).waitFor();
        await one.keyboard.press('Escape');
    },
);

testWithoutPage(
    'a run at a state that is not loaded asks first, and then replays the state',
    nightly(),
    async (t) => {
        const one = await at('replay', t);
        await sees('The variables of this state are not in memory and cannot be loaded from disk', one);
        await run('print("on")', 'Shift+Enter', one);
        await one
            .locator('dialog', { hasText: 'This state is not loaded. Replay its cell first?' })
            .waitFor();
        await one.getByRole('button', { name: 'Cancel' }).click();
        assert.equal(await one.locator('.cell[data-status="running"]').count(), 0);
        await one.locator('.cell[data-kind="draft"]:not([data-fresh]) .editor').click();
        await one.keyboard.press('Control+Enter');
        await one.getByRole('button', { name: 'Replay, then run' }).click();
        await ran(3, one);
        assert.deepEqual((await texts('.stream', one)).at(-1), 'on');
    },
);

testWithoutPage('the menu of the last cell covers the tools of the draft below it', nightly(), async (t) => {
    const one = await at('clean', t);
    await one.locator('.cell[data-fresh] .editor').click();
    await one.locator('.cell').nth(1).hover();
    await one.getByLabel('Cell actions').nth(1).click();
    const covered = await one.$$eval('[role="menuitem"]', (items) =>
        items
            .filter((item) => {
                const { left, right, top, height } = item.getBoundingClientRect();
                return [left + 4, (left + right) / 2, right - 4].some(
                    (x) =>
                        document.elementFromPoint(x, top + height / 2)?.closest('[role="menuitem"]') !== item,
                );
            })
            .map((item) => item.textContent),
    );
    assert.deepEqual(covered, []);
});

testWithoutPage('a state can be kept in memory, saved and trusted', async (t) => {
    const one = await at('disk', t);
    // What happens before a cell runs there is said before.
    const before = () => one.locator('.cell[data-fresh] [data-run]').getAttribute('title');
    assert.equal(await before(), 'Run (Ctrl-Enter). Restores from disk.');
    await go('clean', one);
    assert.equal(await before(), 'Run (Ctrl-Enter)');
    await choose(1, 'Unload last', one);
    await one.locator('.residency-line', { hasText: 'unloads last' }).waitFor();
    await one.locator('.row[data-node="clean"] .pinned').waitFor();
    await choose(1, 'Unload as usual', one);
    await one.locator('.row[data-node="clean"] .pinned').waitFor({ state: 'detached' });
    await choose(1, 'Write checkpoint now', one);
    await one.locator('.notice', { hasText: 'Saved, 1.2 MB on disk.' }).waitFor();
    await go('foreign', one);
    await one.getByRole('button', { name: 'Trust…' }).click();
    assert.match(await one.locator('dialog').textContent(), /runs the code in its checkpoint/);
    await one.getByRole('button', { name: 'Trust and run their code' }).click();
    await one.locator('.notice', { hasText: 'Trusted one checkpoint.' }).waitFor();
    assert.equal(await one.locator('.residency').count(), 0);
});

testWithoutPage('without permission, Trust and Replay are not offered', nightly(), async (t) => {
    const runner = await at('foreign', t, 'run');
    await sees('only plain values are loaded', runner);
    assert.equal(await runner.getByRole('button', { name: 'Trust…' }).count(), 0);
    const viewer = await at('restored', t, 'view');
    await sees('Restored from disk without 2 variables', viewer);
    assert.equal(await viewer.getByRole('button', { name: 'Replay cells' }).count(), 0);
});

testWithoutPage(
    'a banner reports a failing disk, typing continues, and the banner disappears when the disk works',
    async (t) => {
        const { page, server } = await standIn(t);
        await page.locator('.cell[data-fresh] .editor').click();
        await page.keyboard.insertText('half ');
        server.notebook.troubled(TROUBLE);
        await page.locator('[role="status"] .banner', { hasText: 'no space left on device' }).waitFor();
        assert.match(
            await page.locator('.banner').textContent(),
            /You can keep working: changes stay in memory and are saved once this is resolved/,
        );
        await page.keyboard.insertText('a thought');
        await sees('half a thought', page);
        server.notebook.troubled(null);
        await page.waitForSelector('.banner', { state: 'detached' });
    },
);

testWithoutPage("a cell that the server's stop interrupted shows its output and the reason", async (t) => {
    const one = await at('restored', t);
    const cell = one.locator('.cell[data-status="interrupted"]');
    assert.match(
        await cell.textContent(),
        /epoch 0\nepoch 1.*interrupted by server stop.*Stopped, changes rolled back/s,
    );
});

testWithoutPage(
    'a restart of the server keeps the tab’s state, typing, focus, scroll position and frames',
    async (t) => {
        const { page, server } = await standIn(t);
        await three(page);
        await run(
            `${'print("line")\n'.repeat(6)}HTML("<p style='height: 500px'>tall</p>")`,
            'Shift+Enter',
            page,
        );
        await ran(4, page);
        await page.waitForFunction(() => document.querySelector('iframe.frame')?.clientHeight > 450);
        // Use only keys from here on: while the notebook scrolls, a click may hit a frame.
        await page.keyboard.insertText('print("last")');
        await page.keyboard.press('Shift+Enter');
        await ran(5, page);
        await page.locator('.cell').nth(1).locator('.cm-content').focus();
        await page.keyboard.press('Control+End');
        await page.keyboard.insertText(' # changed');
        await page.locator('.cell[data-fresh] .cm-content').focus();
        await page.keyboard.insertText('typed and not run');
        await sees('typed and not run', page);
        // The cursor stays in sight, so that typing scrolls nothing.
        await page.evaluate(() => {
            const cursor = document.activeElement.getBoundingClientRect();
            document.querySelector('main').scrollTop += cursor.top - 300;
            window.frame = document.querySelector('iframe.frame');
        });
        const look = () =>
            page.evaluate(() => [
                location.hash,
                document.querySelector('main').scrollTop,
                document.activeElement.closest('.cell')?.querySelector('.cm-content').textContent,
                window.frame.isConnected,
                document.querySelectorAll('[data-edited]').length,
            ]);
        const before = await look();
        server.restart();
        await page.keyboard.insertText(', and more');
        await page.waitForSelector('.row[data-node]:nth-of-type(3)[aria-label*="On disk"]');
        await page.waitForSelector('.banner', { state: 'detached' });
        const after = await look();
        before[2] = before[2].replace('typed and not run', 'typed and not run, and more');
        assert.deepEqual(after, before);
        const draft = () =>
            server.notebook.drafts.some((one) => one.source === 'typed and not run, and more');
        while (!draft()) await page.waitForTimeout(20);
        forgive(page, /WebSocket/);
    },
);

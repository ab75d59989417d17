// Failures: the page reports them, typing continues, and no typed text is lost.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBinary } from './binary.mjs';
import { becomes, nightly } from './browser.mjs';
import {
    forgive,
    onDisk,
    open,
    page,
    prints,
    ran,
    run,
    sees,
    test,
    testWithoutPage,
    texts,
} from './harness.mjs';
import { start } from './mock.mjs';

const real = { skip: !process.env.RATOON_BIN };
const bodies = (on) => texts('.cell[data-kind="draft"]:not([data-fresh]) .cm-content', on);

test(
    'a cell whose process is killed says so below itself, and the states before it are intact',
    real,
    async () => {
        await run('x = 41');
        await ran(1);
        await run('import os\nprint("before")\nos.kill(os.getpid(), 9)', 'Control+Enter');
        await page.waitForSelector('.cell[data-status="crashed"]');
        await prints('before');
        await page.waitForSelector('.crash');
        const said = await page.locator('.cell[data-status="crashed"]').textContent();
        assert.match(said, /was killed by SIGKILL/);
        assert.match(
            said,
            /Only the process of this cell ended\. The state above and all other states are intact\. If the system killed the process because memory ran out.*Change the cell and run it again\./,
        );
        assert.equal(await page.locator('.status').textContent(), 'Ready');
        assert.equal(await page.locator('.banner').count(), 0, 'a crash of one cell shows no banner');
        await page.locator('.cell[data-status="crashed"] .cm-content').click();
        await page.keyboard.press('Control+A');
        await page.keyboard.insertText('print(x + 1)');
        await page.keyboard.press('Control+Enter');
        await ran(2);
        await prints('42');
        assert.equal(await page.locator('.crash').count(), 0);
    },
);

testWithoutPage(
    'text typed while the server is down stays, and reaches other tabs when the server is back',
    real,
    async (t) => {
        const dir = await mkdtemp(join(tmpdir(), 'ratoon-browser-'));
        const servers = [await startBinary(dir, 0)];
        t.after(async () => {
            await servers.at(-1).stop();
            await rm(dir, { recursive: true, force: true });
        });
        const tab = await open(servers[0].url);
        await run('x = 1', 'Shift+Enter', tab);
        await ran(1, tab);
        await onDisk(tab);
        await tab.waitForSelector('.memory-status');
        await servers[0].kill();
        await tab
            .locator('[role="status"] .banner', {
                hasText: /Offline. Your edits are sent when you reconnect. .* again every second/,
            })
            .waitFor();
        await tab.getByRole('button', { name: 'Retry now' }).click();
        await becomes(() => tab.locator('.memory-status').count(), 0);
        await tab.locator('.cell[data-fresh] .editor').click();
        await tab.keyboard.type('# typed into the dark');
        await sees('typed into the dark', tab);
        assert.equal(await tab.locator('.banner').count(), 1);
        servers.push(await startBinary(dir, new URL(servers[0].url).port));
        await tab.waitForSelector('.banner', { state: 'detached' });
        assert.deepEqual(await bodies(tab), ['# typed into the dark']);
        const other = await open(tab.url(), { storageState: await tab.context().storageState() });
        await sees('typed into the dark', other);
        forgive(tab, /ERR_|WebSocket/);
    },
);

/** A tab on a stand-in, and that stand-in: the test can simulate any failure on it. */
async function standIn(t) {
    const server = await start();
    t.after(() => server.stop());
    return [await open(server.url), server];
}

testWithoutPage('when access ends, typing is not interrupted, and the text can be copied', async (t) => {
    const [tab, server] = await standIn(t);
    await tab.locator('.cell[data-fresh] .editor').click();
    await tab.keyboard.type('half ');
    server.endAccess();
    await tab
        .locator('[role="alert"].banner', { hasText: 'Your access to this notebook has ended' })
        .waitFor();
    await tab.keyboard.type('a thought');
    assert.deepEqual(await bodies(tab), ['half a thought']);
    assert.equal(await tab.locator('[data-status="running"], [data-status="queued"]').count(), 0);
    assert.equal(
        await tab.getByRole('button', { name: 'Run', exact: true }).count(),
        0,
        'no button to run a cell',
    );
    await tab.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await tab.getByRole('button', { name: 'Copy all code' }).click();
    await tab.locator('.notice', { hasText: 'copied' }).waitFor();
    assert.equal(await tab.evaluate(() => navigator.clipboard.readText()), 'half a thought');
});

testWithoutPage('of two problems the page shows only the more important one', nightly(), async (t) => {
    const [tab, server] = await standIn(t);
    server.notebook.troubled({
        what: 'write to main.ratoon',
        why: 'no space left on device',
        how: 'free some space on that disk',
    });
    await tab.locator('.banner', { hasText: 'no space left' }).waitFor();
    server.endAccess();
    await tab.locator('.banner[data-bad]').waitFor();
    assert.equal(await tab.locator('.banner').count(), 1);
    await tab.reload();
    await tab.locator('.banner', { hasText: 'no space left' }).waitFor();
});

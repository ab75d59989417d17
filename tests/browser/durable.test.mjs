// A server is killed and restarted while a tab stays open: no data is lost, and the tab reconnects
// by itself.

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
    openFar,
    prints,
    ran,
    run,
    sees,
    testWithoutPage,
    texts,
} from './harness.mjs';

const story = { skip: !process.env.RATOON_BIN };

/** Starts a server whose directory and port survive a restart, and opens a tab on it. */
async function begin(t) {
    const dir = await mkdtemp(join(tmpdir(), 'ratoon-browser-'));
    const first = await startBinary(dir, 0);
    const port = new URL(first.url).port;
    const servers = [first];
    t.after(async () => {
        await servers.at(-1).stop();
        await rm(dir, { recursive: true, force: true });
    });
    return {
        tab: await open(first.url),
        other: () => open(first.url),
        crash: () => servers.at(-1).kill(),
        again: async () => servers.push(await startBinary(dir, port)),
    };
}

/** Waits until the tab is connected again. */
const back = (tab) =>
    tab.waitForFunction(
        () =>
            !document.querySelector('.banner') && document.querySelector('.status')?.dataset.state !== 'lost',
    );
const node = (at, tab) => tab.locator('.row').nth(at);
const isHollow = (at, tab) =>
    tab
        .locator('.mark')
        .nth(at)
        .evaluate(
            (mark) =>
                mark.dataset.living === 'disk' &&
                getComputedStyle(mark.querySelector('.dot')).fill ===
                    getComputedStyle(document.querySelector('.halo, .ground')).fill,
        );
const lives = (at, where, tab) =>
    tab.waitForFunction(
        ([i, wanted]) => document.querySelectorAll('.mark')[i]?.dataset.living === wanted,
        [at, where],
    );

testWithoutPage(
    'after kill -9 and a restart, an open tab continues, and a cell can branch from an earlier state',
    story,
    async (t) => {
        const { tab, crash, again } = await begin(t);
        for (const [i, code] of [
            'x = 1\nprint("one")',
            'x = x + 1\nprint("two")',
            'x = x + 1\nprint("three")',
        ].entries()) {
            await run(code, 'Shift+Enter', tab);
            await ran(i + 1, tab);
        }
        // The server writes checkpoints when the CPU has time.
        for (const at of [1, 2, 3]) {
            await node(at, tab).click();
            await ran(at, tab);
            await tab.locator('.residency-line', { hasText: 'on disk' }).waitFor();
        }
        await tab.locator('.cell[data-fresh] .editor').click();
        await tab.keyboard.insertText('y = "typed and not run"');
        await sees('typed and not run', tab);
        const address = tab.url();

        await crash();
        await tab.waitForSelector('.banner');
        await tab.keyboard.insertText('  # and typed while nobody was there');
        await again();
        await back(tab);

        assert.equal(tab.url(), address);
        assert.deepEqual(await texts('.stream', tab), ['one', 'two', 'three']);
        assert.deepEqual(await texts('.row .what', tab), ['Start', 'x = 1', 'x = x + 1', 'x = x + 1']);
        assert.deepEqual(await texts('.cell[data-kind="draft"]:not([data-fresh]) .cm-content', tab), [
            'y = "typed and not run"  # and typed while nobody was there',
        ]);
        for (const at of [1, 2, 3]) {
            await lives(at, 'disk', tab);
            await becomes(() => isHollow(at, tab), true);
        }

        await node(2, tab).click();
        await ran(2, tab);
        await run('print("branch", x)', 'Shift+Enter', tab);
        await ran(3, tab);
        await prints('branch 2', tab);
        await lives(2, 'memory', tab);
        await becomes(() => isHollow(2, tab), false);
        assert.deepEqual(await texts('.row .what', tab), [
            'Start',
            'x = 1',
            'x = x + 1',
            'print("branch", x)',
            'x = x + 1',
        ]);
        forgive(tab, /ERR_|WebSocket/);
    },
);

testWithoutPage(
    'after a kill in the middle of a cell, the page shows what the cell printed and why it ended',
    nightly(story),
    async (t) => {
        const { tab, crash, again } = await begin(t);
        await run('import time\nprint("before")\ntime.sleep(600)', 'Control+Enter', tab);
        await prints('before', tab);
        await onDisk(tab);
        await crash();
        await tab.waitForSelector('.banner');
        await again();
        await back(tab);
        await tab.waitForSelector('.cell[data-status="interrupted"]');
        await sees('interrupted by server stop', tab);
        assert.ok((await texts('.stream', tab)).includes('before'));
        assert.equal(await tab.locator('.status').textContent(), 'Ready', 'nothing runs again by itself');
        forgive(tab, /ERR_|WebSocket/);
    },
);

/** The text of the first draft. */
const draftText = async (tab) =>
    (await texts('.cell[data-kind="draft"]:not([data-fresh]) .cm-content', tab)).join('|');

/** Types into the first draft, after pressing `key`, such as Home or End. */
async function typeAt(key, text, tab) {
    await tab.locator('.cell[data-kind="draft"] .cm-content').first().click();
    await tab.keyboard.press(key);
    // One key at a time, as a person types, so that the page sends several messages.
    await tab.keyboard.type(text, { delay: 30 });
}

/** Creates a draft and waits until both tabs show its text. */
async function share(tab, other) {
    await typeAt('End', 'middle', tab);
    await becomes(() => draftText(other), 'middle');
}

testWithoutPage(
    'when two people edit a draft and one is offline, both get both texts, once',
    nightly(story),
    async (t) => {
        const { line, behind, far } = await openFar(t);
        const near = await open(behind.url);
        await share(near, far);
        await Promise.all([typeAt('Home', 'first ', near), typeAt('End', ' last', far)]);
        line.cut();
        await far.waitForSelector('.banner');
        await typeAt('End', ' offline', far);
        await typeAt('Home', 'online ', near);
        await becomes(() => draftText(far).then((text) => text.endsWith(' offline')), true);
        line.heal();
        await back(far);
        const both = 'online first middle last offline';
        await becomes(() => draftText(near), both);
        await becomes(() => draftText(far), both);
        forgive(far, /ERR_|WebSocket/);
    },
);

testWithoutPage(
    'when two people edit a draft while the server is killed and restarted, both get both texts, once',
    nightly(story),
    async (t) => {
        const { tab, other: openOther, crash, again } = await begin(t);
        const other = await openOther();
        await share(tab, other);
        await Promise.all([
            typeAt('Home', 'a long beginning ', tab),
            typeAt('End', ' and a long end', other),
            new Promise((done) => setTimeout(done, 500)).then(crash),
        ]);
        for (const one of [tab, other]) await one.waitForSelector('.banner');
        await typeAt('End', ' last', other);
        await typeAt('Home', 'first ', tab);
        await again();
        const both = 'first a long beginning middle and a long end last';
        for (const one of [tab, other]) {
            await back(one);
            await becomes(() => draftText(one), both);
            forgive(one, /ERR_|WebSocket/);
        }
    },
);

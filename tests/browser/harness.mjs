// The common parts of browser tests: a browser, a server, an empty notebook, a page, and user
// actions.
//
// The files that run in one process share a browser and a server. `test` empties the server's
// notebook and directory, and opens the page on it; `testOnOwnServer` does the same on a new
// server, for tests that use links, the trash or other notebooks. `testWithoutPage` is for tests
// that open their own pages, for example on a stand-in or on a server that they kill.
//
// Nothing waits for a fixed time: every step waits for what it expects to see.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, test as testWithoutPage } from 'node:test';
import { PATIENCE, becomes, openBrowser, openLine, startServer } from './browser.mjs';
import { forgetSettings } from './binary.mjs';
import { openPage, whenOver } from './pages.mjs';

export { forgive } from './pages.mjs';

let browser;
export let server;
export let page;
/** The server that most tests share. */
let shared = null;
/** @type {any[]} */
let pages = [];

before(async () => {
    browser = await openBrowser();
});
after(async () => {
    await browser?.close();
    await shared?.stop();
});
whenOver(async () => {
    await Promise.all(pages.map((one) => one.context().close()));
    pages = [];
    if (server !== shared) await server?.stop();
    server = undefined;
});

/**
 * Returns the shared server after emptying its notebook. The reset keeps the notebook's Python
 * process, because starting one takes longer than most tests.
 */
async function emptied() {
    if (!process.env.RATOON_BIN) return startServer();
    shared ??= await startServer();
    await post(shared, '/reset');
    await shared.clear();
    return shared;
}

/** Sends a request with the owner's access, and returns the answer. */
export async function post(to, path, body = {}) {
    const { origin, searchParams } = new URL(to.url);
    const answer = await fetch(origin + path, {
        method: 'POST',
        headers: {
            authorization: `Bearer ${searchParams.get('token')}`,
            'content-type': 'application/json',
        },
        body: JSON.stringify(body),
    });
    const said = await answer.text();
    assert.equal(answer.status, 200, said);
    return said && JSON.parse(said);
}

/** Why a test that needs these Python modules must be skipped; false if it can run. */
export const lacks = (...modules) => {
    const python = process.env.RATOON_TEST_PYTHON;
    if (!process.env.RATOON_BIN || !python) return 'needs RATOON_BIN and RATOON_TEST_PYTHON';
    const missing = modules.filter(
        (name) =>
            spawnSync(python, [
                '-c',
                `import importlib.util, sys; sys.exit(importlib.util.find_spec("${name}") is None)`,
            ]).status !== 0,
    );
    return missing.length > 0 && `this Python lacks ${missing.join(', ')}`;
};

/** Python that waits until `release(name)` is called. */
export const untilReleased = (name) =>
    `while not __import__("os").path.exists("${name}"): __import__("time").sleep(0.02)`;
/** Lets the cells on a server continue that wait for this name. */
export const release = (name, on = server) =>
    post(on, '/execute', {
        exec_id: `release ${name}`,
        state_name: 'initial',
        code: `open("${name}", "w").close()`,
    });

/**
 * Waits until everything that the page shows is on disk. The page may show an event before it is
 * written. The server writes events in order and answers a command after writing it.
 */
export async function onDisk(on = page) {
    const status = await on.evaluate(async () => {
        const body = JSON.stringify({ do: 'label', state: 'initial', label: 'kept' });
        const headers = { 'content-type': 'application/json' };
        return (await fetch('/api/notebooks/main/commands', { method: 'POST', headers, body })).status;
    });
    assert.equal(status, 200);
}

/** @param {() => Promise<any>} start @returns {(name: string, ...rest: any[]) => void} */
const testOn =
    (start) =>
    (name, ...rest) => {
        const body = rest.pop();
        testWithoutPage(name, ...rest, async (t) => {
            await forgetSettings();
            server = await start();
            page = await open(server.url);
            await body(t);
        });
    };
export { testWithoutPage };
export const test = testOn(emptied);
export const testOnOwnServer = testOn(startServer);

/** Opens an address in a new page. With `waits`, also waits until the notebook is shown. */
export async function open(url, options, waits = true) {
    const one = await openPage(browser, options);
    pages.push(one);
    await one.goto(url);
    if (!waits) return one;
    await one.waitForSelector('.notebook[aria-busy="false"]');
    return one;
}

/** Opens the notebook in a second browser through a new link. */
export async function guestBy(scope, options) {
    const token = await page.evaluate(async (wanted) => {
        const answer = await fetch('/api/links', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ scope: wanted }),
        });
        return (await answer.json()).token;
    }, scope);
    return open(`${new URL(page.url()).origin}/n/main?token=${token}`, options);
}

/**
 * Starts a server behind a proxy that can cut the connection, and opens a page through the proxy.
 * Proxy and server stop after test `t`.
 */
export async function openFar(t) {
    const line = await openLine();
    t.after(() => line.stop());
    const behind = await startServer('--reachable-as', `127.0.0.1:${line.port}`);
    t.after(() => behind.stop());
    const url = new URL(behind.url);
    line.to = Number(url.port);
    url.port = String(line.port);
    return { line, behind, far: await open(url.href) };
}

/** Types into the empty cell at the end and runs it. */
export async function run(code, key = 'Shift+Enter', on = page) {
    await on.locator('.cell[data-fresh] .editor').click();
    await on.keyboard.insertText(code);
    await on.keyboard.press(key);
}

/** Waits until the page shows `count` cells that ran, and none that runs or waits. */
export async function ran(count, on = page) {
    const isSo = (n) =>
        document.querySelectorAll('.cell[data-kind="ran"]').length === n &&
        !document.querySelector('[data-status="running"], [data-status="queued"]');
    await on.waitForFunction(isSo, count).catch(async (error) => {
        const cells = await on.$$eval('.cell', (all) =>
            all.map((one) => `${one.dataset.kind} ${one.dataset.status}: ${one.textContent.slice(0, 500)}`),
        );
        throw new Error(`${count} cells did not run: ${error.message}\n${cells.join('\n')}`);
    });
}
export const texts = (selector, on = page) =>
    on.$$eval(selector, (all) => all.map((one) => one.textContent.trim()));
export const rows = (on = page) => texts('.row .what', on);
export const prints = (text, on = page) =>
    on.waitForFunction(
        (wanted) => [...document.querySelectorAll('.stream')].some((one) => one.textContent.includes(wanted)),
        text,
    );
export const sees = (text, on = page) =>
    on.waitForFunction((wanted) => document.querySelector('.notebook')?.textContent.includes(wanted), text);

/** Waits until the `k`th of the `n` branches that begin at one state is shown. */
export const onBranch = (k, n, on = page) =>
    on.waitForFunction(
        ([k, n]) =>
            [...document.querySelectorAll('[role="tablist"]')].some(
                ({ children }) =>
                    children.length === n && children[k - 1].getAttribute('aria-selected') === 'true',
            ),
        [k, n],
    );

export async function three(on = page) {
    for (const [i, code] of [
        'x = 1\nprint("one")',
        'x = x + 1\nprint("two")',
        'x = x + 1\nprint("three")',
    ].entries()) {
        await run(code, 'Shift+Enter', on);
        await ran(i + 1, on);
    }
}

/**
 * The index of the focused cell, and its focused part: `[0, 'editor']`, `[2, 'cell']`, `[1,
 * 'answer']`; outside of cells, the tag name of the focused element.
 */
export const focus = (on = page) =>
    on.evaluate(() => {
        const at = document.activeElement;
        const cell = at.closest('.cell');
        if (!cell) return at.tagName;
        const what =
            at === cell
                ? 'cell'
                : at.closest('.cm-editor')
                  ? 'editor'
                  : at.closest('.input-prompt')
                    ? 'answer'
                    : at.tagName;
        return [[...document.querySelectorAll('.cell')].indexOf(/** @type {HTMLElement} */ (cell)), what];
    });

/** Waits until `focus` returns the wanted value. */
export async function focused(wanted, on = page) {
    for (const end = Date.now() + PATIENCE; Date.now() < end; ) {
        if (JSON.stringify(await focus(on)) === JSON.stringify(wanted)) return;
        await new Promise((done) => setTimeout(done, 20));
    }
    assert.deepEqual(await focus(on), wanted);
}

/**
 * Waits until the frame of an output has the focus, or has it no longer. The browser may send keys
 * to the frame, or to the page around it, before both know.
 */
export const frameFocused = (frame, wanted = true) =>
    becomes(() => frame.locator('body').evaluate(() => document.hasFocus()), wanted);

/**
 * Moves the pointer to an element in a frame until the frame notices. The browser sends it presses
 * only once it has drawn the frame where it is now.
 */
export const pointerReaches = (target, move = () => target.hover()) =>
    becomes(async () => {
        await move();
        return target.evaluate((one) => one.matches(':hover'));
    }, true);

/** Chooses from the menu of a cell. */
export async function choose(cell, item, on = page) {
    const place = on.locator('.cell').nth(cell);
    await place.hover();
    await place.getByLabel('Cell actions').click();
    await on.getByRole('menuitem', { name: item }).click();
}

/** Creates a draft for each source. */
export async function drafts(...sources) {
    await page.locator('.cell[data-fresh] .editor').click();
    for (const source of sources) {
        await page.keyboard.insertText(source);
        await page.keyboard.press('Escape');
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Enter');
    }
    await page.keyboard.press('Escape');
}

/**
 * Waits until a page has loaded the modules that it loads when idle. The real server bundles
 * modules; the stand-in does not.
 */
export const allParts = (on = page) =>
    on.evaluate(async () => {
        const entry = /** @type {HTMLScriptElement} */ (document.querySelector('script[type="module"]')).src;
        const bundle = Object.values(await import(entry));
        const get = async (name, path) =>
            (bundle.find((module) => module[name]) ?? (await import(new URL(path, entry).href)))[name];
        const loadPart = await get('loadPart', 'shell/lazy-parts.js');
        for (const part of Object.keys(await get('PARTS', 'shell/parts.js'))) await loadPart(part);
    });

// Opens the pages of Ratoon, JupyterLab and marimo in one Chromium, in turns, and measures them.
// Prints the results as one line of JSON: {"samples": {row: {contestant: [numbers]}},
// "notes": [text], "browser": version}. Started by page.py, which makes a table of the results.
//
// usage: node page.mjs '{"turns": 5, "runs": 40, "commands": {"Ratoon": […], "JupyterLab": […],
// "marimo": […]}}' Each command is a list of words. A contestant without a command is skipped. With
// RATOON_SHOTS=DIR, a screenshot of each page is written to DIR.

import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBrowser } from '../browser/browser.mjs';
import { listen } from '../browser/listen.mjs';

const LINES = 100_000;
/** Time limit of a step, in milliseconds. A step that takes longer counts as failed. */
const LIMIT = 60_000;
/** Maximum number of failures of a contestant at one task. After them, the task is skipped. */
const PATIENCE = 2;
/**
 * Pause between the first answer of a server and the opening of its page, in milliseconds. It
 * excludes the server's own start from the measured times.
 */
const REST = 2_500;

const options = JSON.parse(process.argv[2]);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
/** Returns the wall time in milliseconds. Pages in a browser on this machine use the same clock. */
const clock = () => performance.timeOrigin + performance.now();

/**
 * For each contestant: a function that writes its notebook, the command of its server, the address
 * of the notebook, and CSS selectors. `ready` matches when a cell can be run, `editor` matches the
 * editors of cells, `outputs` matches results and printed text, `popup` matches completions.
 * `complete` is the key that requests completions.
 */
const CONTESTANTS = {
    Ratoon: {
        async prepare() {},
        command: (dir, port) => [
            ...options.commands.Ratoon,
            '--bind',
            `127.0.0.1:${port}`,
            '--dir',
            dir,
            '--token=bench-token',
        ],
        url: (port) => `http://127.0.0.1:${port}/n/main?token=bench-token`,
        editor: '.cell[data-fresh] .cm-content',
        // Excludes the buttons in the corner of an output.
        outputs: '.output .text',
        complete: 'Tab',
        popup: '.cm-tooltip-autocomplete li',
    },
    JupyterLab: {
        prepare: (dir) => writeFile(join(dir, 'main.ipynb'), JSON.stringify(NOTEBOOK)),
        command: (dir, port) => [
            ...options.commands.JupyterLab,
            '--no-browser',
            '--allow-root',
            `--ServerApp.root_dir=${dir}`,
            `--ServerApp.port=${port}`,
            '--ServerApp.port_retries=0',
            '--IdentityProvider.token=',
        ],
        url: (port) => `http://127.0.0.1:${port}/lab/tree/main.ipynb`,
        // If a cell is run earlier, JupyterLab asks the user to select a kernel.
        ready: '#jp-main-statusbar span:has-text("(ipykernel) | Idle")',
        editor: '.jp-Notebook .jp-Cell .cm-content',
        outputs: '.jp-OutputArea-output',
        complete: 'Tab',
        popup: '.jp-Completer:not(.lm-mod-hidden) .jp-Completer-item',
    },
    marimo: {
        prepare: (dir) =>
            writeFile(
                join(dir, 'main.py'),
                'import marimo\n\napp = marimo.App()\n\n\n@app.cell\ndef _():\n    return\n\n\nif __name__ == "__main__":\n    app.run()\n',
            ),
        command: (dir, port) => [
            ...options.commands.marimo,
            'edit',
            '--headless',
            '--no-token',
            '--skip-update-check',
            '--port',
            `${port}`,
            join(dir, 'main.py'),
        ],
        url: (port) => `http://127.0.0.1:${port}/`,
        editor: '.marimo-cell .cm-content',
        outputs: '.output-area, [data-testid="console-output-area"]',
        complete: 'Control+Space',
        popup: '.cm-tooltip-autocomplete li',
    },
};
const NOTEBOOK = {
    cells: [{ cell_type: 'code', id: 'first', execution_count: null, metadata: {}, outputs: [], source: [] }],
    metadata: {
        kernelspec: { display_name: 'Python 3', language: 'python', name: 'python3' },
        language_info: { name: 'python' },
    },
    nbformat: 4,
    nbformat_minor: 5,
};

/**
 * Returns the result of `act`. Throws an error if it takes longer than `limit` milliseconds.
 * @template T
 * @param {string} what
 * @param {Promise<T>} act
 * @returns {Promise<T>}
 */
async function within(what, act, limit = LIMIT) {
    let timer;
    const late = new Promise(
        (_, fail) =>
            (timer = setTimeout(() => fail(new Error(`${what}: not within ${limit / 1000} s`)), limit)),
    );
    return Promise.race([act, late]).finally(() => clearTimeout(timer));
}

const samples = {};
const notes = [];
const add = (row, name, ...values) => ((samples[row] ??= {})[name] ??= []).push(...values);

/** Functions that stop the servers that are running. */
const running = new Set();
for (const signal of ['SIGINT', 'SIGTERM']) {
    process.on(signal, async () => {
        await Promise.all([...running].map((stop) => stop()));
        process.exit(1);
    });
}

async function freePort() {
    const server = createServer();
    const port = await listen(server);
    await new Promise((done) => server.close(done));
    return port;
}

/** Starts a contestant's server in its own temporary directory, and waits until it answers. */
async function start(name) {
    const contestant = CONTESTANTS[name];
    const dir = await mkdtemp(join(tmpdir(), 'ratoon-page-'));
    await contestant.prepare(dir);
    const port = await freePort();
    const [program, ...words] = contestant.command(dir, port);
    const home = Object.fromEntries(
        [
            'JUPYTER_DATA_DIR',
            'JUPYTER_RUNTIME_DIR',
            'JUPYTER_CONFIG_DIR',
            'JUPYTERLAB_WORKSPACES_DIR',
            'JUPYTERLAB_SETTINGS_DIR',
            'IPYTHONDIR',
            'XDG_CONFIG_HOME',
            'XDG_STATE_HOME',
            'XDG_CACHE_HOME',
        ].map((variable) => [variable, join(dir, `.${variable.toLowerCase()}`)]),
    );
    const started = clock();
    // The server gets its own process group, so that a signal also ends its kernels.
    const child = spawn(program, words, {
        cwd: dir,
        env: { ...process.env, ...home },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
        stream.on('data', (text) => (said = (said + text).slice(-4000)));
    let hasEnded = false;
    const ended = new Promise((done) => {
        for (const event of ['exit', 'error']) {
            child.once(event, (how) => {
                hasEnded = true;
                if (event === 'error') said = String(how);
                done(undefined);
            });
        }
    });
    const stop = async () => {
        running.delete(stop);
        const kill = (signal) => {
            try {
                if (child.pid) process.kill(-child.pid, signal);
            } catch {
                // The process group has already ended.
            }
        };
        kill('SIGTERM');
        await Promise.race([ended, pause(10_000)]);
        kill('SIGKILL');
        await ended;
        await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    };
    running.add(stop);
    const url = contestant.url(port);
    while (clock() < started + LIMIT) {
        const answer = await fetch(url, { signal: AbortSignal.timeout(LIMIT) }).catch(() => null);
        await answer?.arrayBuffer();
        if (answer) return { url, started, stop };
        if (hasEnded) break;
        await pause(5);
    }
    await stop();
    throw new Error(`the server of ${name} does not answer: ${said}`);
}

/**
 * Runs in each page before the page's own scripts. Records when Shift-Enter was pressed and which
 * tasks took long, and finds out when a text appears in an output.
 */
function watch(outputs) {
    const longest = { tasks: [] };
    try {
        new PerformanceObserver((list) =>
            longest.tasks.push(...list.getEntries().map((one) => [one.startTime, one.duration])),
        ).observe({ type: 'longtask', buffered: true });
    } catch {
        // Sandboxed frames may not observe long tasks.
    }
    let key = 0;
    addEventListener(
        'keydown',
        (event) => {
            if (event.key === 'Enter' && event.shiftKey) key = event.timeStamp;
        },
        true,
    );
    const last = () => [...document.querySelectorAll(outputs)].reverse();
    /** Returns the end of an element's text without reading all of the text. */
    const tail = (element) => {
        const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
        let text = '';
        for (let node = texts.lastChild(); node && text.length < 200; node = texts.previousNode())
            text = node.textContent + text;
        return text;
    };
    let wait = Promise.resolve();
    globalThis.bench = {
        tasksFrom: (from) =>
            longest.tasks
                .filter(([start, duration]) => start + duration > from)
                .map(([, duration]) => duration),
        /**
         * Starts waiting for a text. Called before the key is pressed, because the output may
         * appear before another message to the page arrives.
         */
        expect: (kind, text) => {
            wait = globalThis.bench[kind](text);
        },
        waited: () => wait,
        /**
         * Waits until an output has exactly this text. Returns the time of the key and the time of
         * the output, on the page's clock.
         */
        result: (text) =>
            new Promise((done) => {
                const look = () => {
                    const now = performance.now();
                    if (!last().some((one) => one.textContent.trim() === text)) return;
                    observer.disconnect();
                    done({ key, seen: now, at: performance.timeOrigin + now });
                };
                const observer = new MutationObserver(look);
                observer.observe(document, { subtree: true, childList: true, characterData: true });
            }),
        /** Waits until the end of an output contains this text in an animation frame. */
        end: (text) =>
            new Promise((done) => {
                const look = () => {
                    if (last().some((one) => tail(one).includes(text)))
                        done({ key, seen: performance.now() });
                    else requestAnimationFrame(look);
                };
                requestAnimationFrame(look);
            }),
        /**
         * Scrolls through the long output from its beginning to its end within a second. Returns
         * the milliseconds between animation frames, and the height that can be scrolled.
         */
        scroll: async () => {
            const long = last().sort((a, b) => b.scrollHeight - a.scrollHeight)[0];
            const around = [long, ...long.querySelectorAll('*')].slice(0, 50);
            for (let at = long.parentElement; at; at = at.parentElement) around.push(at);
            const room = (one) =>
                /auto|scroll/.test(getComputedStyle(one).overflowY) || one === document.scrollingElement
                    ? one.scrollHeight - one.clientHeight
                    : 0;
            const box = around.sort((a, b) => room(b) - room(a))[0];
            const gaps = [];
            const frame = () => new Promise(requestAnimationFrame);
            let before = await frame();
            for (let i = 0; i <= 60; i += 1) {
                box.scrollTop = (room(box) * i) / 60;
                const now = await frame();
                gaps.push(now - before);
                before = now;
            }
            return { gaps, height: room(box) };
        },
    };
}

/** Closes a context. Gives up after 10 s, because the page may hang until the browser ends. */
const closeAll = (context) => within('closing', context.close(), 10_000).catch(() => {});

/**
 * Opens the notebook in a new browser context, and waits until a user could type. Counts the
 * requests and bytes of the page.
 */
async function open(browser, name, url) {
    const { ready, editor, outputs } = CONTESTANTS[name];
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    page.setDefaultTimeout(LIMIT);
    page.on('dialog', (dialog) => dialog.accept().catch(() => {}));
    await page.addInitScript(watch, outputs);
    const line = { requests: 0, bytes: 0 };
    const cdp = await context.newCDPSession(page);
    await cdp.send('Network.enable');
    cdp.on('Network.requestWillBeSent', () => (line.requests += 1));
    cdp.on('Network.loadingFinished', ({ encodedDataLength }) => (line.bytes += encodedDataLength));
    const began = clock();
    try {
        await page.goto(url, { waitUntil: 'commit' });
        if (ready) await page.locator(ready).first().waitFor();
        await page.locator(editor).last().waitFor();
    } catch (error) {
        await closeAll(context);
        throw error;
    }
    return { page, context, began, line };
}

/**
 * Types code into the last cell, runs it, and waits for a text in its output. `kind` is `result` or
 * `end`, the functions above that wait for the text.
 */
async function run(page, name, code, kind, text) {
    const at = page.locator(CONTESTANTS[name].editor).last();
    await at.click();
    await page.keyboard.insertText(code);
    await page.evaluate(([wanted, what]) => bench.expect(wanted, what), [kind, text]);
    await page.keyboard.press('Shift+Enter');
    return within(
        `"${text}" in an output`,
        page.evaluate(() => bench.waited()),
    );
}

/** Measures a cold opening: times, bytes and requests until the first result. */
async function cold(browser, name) {
    const server = await start(name);
    try {
        await pause(REST);
        const { page, context, began, line } = await open(browser, name, server.url);
        const typed = clock();
        const { at } = await run(page, name, '1+1', 'result', '2');
        const { bytes, requests } = line;
        const times = await page.evaluate(() => {
            const paint = (kind) =>
                performance.getEntriesByType('paint').find((one) => one.name === kind)?.startTime ?? NaN;
            const [navigation] = /** @type {PerformanceNavigationTiming[]} */ (
                performance.getEntriesByType('navigation')
            );
            return {
                origin: performance.timeOrigin,
                paint: paint('first-paint'),
                content: paint('first-contentful-paint'),
                dom: navigation.domContentLoadedEventEnd,
            };
        });
        const since = (time) => times.origin + time - began;
        add('open', name, (at - began) / 1000);
        add('typing', name, (typed - began) / 1000);
        add('paint', name, since(times.paint));
        add('content', name, since(times.content));
        add('dom', name, since(times.dom));
        add('bytes', name, bytes / 1024);
        add('requests', name, requests);
        await closeAll(context);
    } finally {
        await server.stop();
    }
}

/**
 * Measures the time from the start of the server's process to the first result. Then measures long
 * printed text in the same page.
 */
async function whole(browser, name) {
    const server = await start(name);
    try {
        const { page, context } = await open(browser, name, server.url);
        const { at } = await run(page, name, '1+1', 'result', '2');
        add('start', name, (at - server.started) / 1000);
        await attempt(`${LINES} lines`, name, () => lines(page, name));
        await closeAll(context);
    } finally {
        await server.stop();
    }
}

const quantile = (values, q) =>
    [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))];

/** Measures the time from Shift-Enter to the result, in turns in pages that stay open. */
async function live(browser) {
    const opened = {};
    const servers = [];
    try {
        for (const name of names) {
            await attempt('an open page', name, async () => {
                const server = await start(name);
                servers.push(server);
                opened[name] = await open(browser, name, server.url);
                await run(opened[name].page, name, '1+1', 'result', '2');
            });
        }
        const there = names.filter((name) => opened[name]);
        for (let turn = 0; turn < options.runs + 3; turn += 1) {
            for (const name of there) {
                await attempt('a key to its result', name, async () => {
                    const { page } = opened[name];
                    await page.bringToFront();
                    const { key, seen } = await run(
                        page,
                        name,
                        `${1000 + turn}+1000`,
                        'result',
                        `${2000 + turn}`,
                    );
                    if (turn >= 3) add('key', name, seen - key);
                });
            }
        }
        // Screenshots for comparing the pages by eye.
        if (process.env.RATOON_SHOTS)
            for (const name of there)
                await opened[name].page.screenshot({
                    path: join(process.env.RATOON_SHOTS, `bench-${name}.png`),
                });
        for (const name of there) await attempt('completion', name, () => complete(opened[name].page, name));
    } finally {
        for (const { context } of Object.values(opened)) await closeAll(context);
        for (const server of servers) await server.stop();
    }
}

/** Measures the time from the key that requests completions to the first completion. */
async function complete(page, name) {
    const { editor, complete: key, popup } = CONTESTANTS[name];
    await page.bringToFront();
    const at = page.locator(editor).last();
    for (let turn = 0; turn < 6; turn += 1) {
        await at.click();
        await page.keyboard.press('Control+a');
        // This text has several completions. A single completion would be inserted at once.
        await page.keyboard.insertText('st');
        await pause(500);
        // If completions are already open, the key would insert one of them, so closes them first.
        if (await page.locator(popup).first().isVisible()) await page.keyboard.press('Escape');
        const began = clock();
        await page.keyboard.press(key);
        await page.locator(popup).first().waitFor({ timeout: 10_000 });
        if (turn > 0) add('completion', name, clock() - began);
        await page.keyboard.press('Escape');
    }
    await at.click();
    await page.keyboard.press('Control+a');
    await page.keyboard.press('Delete');
}

async function lines(page, name) {
    await page.bringToFront();
    const { key, seen } = await run(page, name, `for i in range(${LINES}): print(i)`, 'end', `${LINES - 1}`);
    await pause(1000);
    const tasks = await within(
        'long tasks',
        page.evaluate((from) => bench.tasksFrom(from), key),
    );
    add('lines', name, (seen - key) / 1000);
    add('longest', name, Math.max(0, ...tasks));
    add(
        'long',
        name,
        tasks.reduce((sum, one) => sum + one, 0),
    );
    const { gaps, height } = await within(
        'scrolling',
        page.evaluate(() => bench.scroll()),
    );
    if (height < LINES && samples.scroll?.[name] === undefined)
        notes.push(`${name}: of the long text only ${Math.round(height)} px can be scrolled`);
    add('scroll', name, quantile(gaps, 0.95));
}

/** Runs a task of a contestant. If the task fails, adds a note with the error. */
async function attempt(what, name, act) {
    const failures = failed.get(`${what} ${name}`) ?? 0;
    if (failures >= PATIENCE) return;
    try {
        await act();
    } catch (error) {
        failed.set(`${what} ${name}`, failures + 1);
        const why = String(error.message ?? error).split('\n')[0];
        process.stderr.write(`${name}: ${what}: ${error.message ?? error}\n`);
        notes.push(`${name}: ${what}: ${why}`);
    }
}

/** @type {Map<string, number>} The number of failures for each task and contestant. */
const failed = new Map();
const names = Object.keys(CONTESTANTS).filter((name) => options.commands[name]);
const browser = await openBrowser();
try {
    // Ignores the first turn, which fills the disk's cache.
    for (let turn = -1; turn < options.turns; turn += 1) {
        for (const name of names) {
            await attempt('a cold opening', name, () => cold(browser, name));
            if (turn === -1) for (const row of Object.values(samples)) delete row[name];
        }
    }
    for (let turn = 0; turn < Math.ceil(options.turns / 2); turn += 1) {
        for (const name of names) await attempt('from the start', name, () => whole(browser, name));
    }
    await live(browser);
} finally {
    await browser.close();
}
process.stdout.write(`${JSON.stringify({ samples, notes, browser: browser.version() })}\n`);

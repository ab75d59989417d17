// Does the tasks of tasks.mjs and guide-tasks.mjs in Ratoon and in JupyterLab, both in Chromium,
// and prints the rows of the two tables in docs/tour.md.
//
// usage: RATOON_BIN=… node tests/bench/tasks-run.mjs JUPYTER_LAB [WORD]
//        JUPYTER_LAB  the program `jupyter-lab` in an environment with jupyterlab and ipykernel
//        WORD         only the tasks whose names have this word

import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBrowser, startServer } from '../browser/browser.mjs';
import { listen } from '../browser/listen.mjs';
import { GUIDE_TASKS } from './guide-tasks.mjs';
import { Hands, TASKS } from './tasks.mjs';

const LIMIT = 60_000;
const [program, word = ''] = process.argv.slice(2);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

const NOTEBOOK = {
    cells: [{ cell_type: 'code', id: 'first', execution_count: null, metadata: {}, outputs: [], source: [] }],
    metadata: {
        kernelspec: { display_name: 'Python 3', language: 'python', name: 'python3' },
        language_info: { name: 'python' },
    },
    nbformat: 4,
    nbformat_minor: 5,
};

/** Starts JupyterLab on an empty notebook in a directory of its own. */
async function startLab() {
    const dir = await mkdtemp(join(tmpdir(), 'ratoon-tasks-'));
    await writeFile(join(dir, 'main.ipynb'), JSON.stringify(NOTEBOOK));
    const probe = createServer();
    const port = await listen(probe);
    await new Promise((done) => probe.close(done));
    const variables = ['JUPYTER_DATA_DIR', 'JUPYTER_RUNTIME_DIR', 'JUPYTER_CONFIG_DIR', 'IPYTHONDIR'];
    const home = Object.fromEntries(variables.map((name) => [name, join(dir, `.${name.toLowerCase()}`)]));
    const words = [
        '--no-browser',
        '--allow-root',
        `--ServerApp.root_dir=${dir}`,
        `--ServerApp.port=${port}`,
        '--ServerApp.port_retries=0',
        '--IdentityProvider.token=',
    ];
    const options = { cwd: dir, env: { ...process.env, ...home }, stdio: 'ignore', detached: true };
    const child = spawn(program, words, /** @type {any} */ (options));
    const ended = new Promise((done) => child.once('exit', done));
    const url = `http://127.0.0.1:${port}/lab/tree/main.ipynb`;
    const stop = async () => {
        // The process group includes the kernels.
        if (child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
        await ended;
        await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    };
    for (const end = Date.now() + LIMIT; Date.now() < end; await pause(100)) {
        const answer = await fetch(url).catch(() => null);
        await answer?.arrayBuffer();
        if (answer) return { url, stop };
    }
    await stop();
    throw new Error('JupyterLab does not answer');
}

/** Opens a product's page, does a task and returns the count. */
async function count(browser, start, ready, task) {
    const server = await start();
    let context = null;
    try {
        context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
        context.setDefaultTimeout(LIMIT);
        const page = await context.newPage();
        await page.goto(server.url);
        await page.locator(ready).first().waitFor();
        const hands = new Hands(page);
        await task(hands).catch(async (error) => {
            await page.screenshot({ path: join(tmpdir(), 'task-failed.png') });
            throw error;
        });
        return hands.count;
    } finally {
        await context?.close();
        await server.stop();
    }
}

const IDLE = '#jp-main-statusbar span:has-text("(ipykernel) | Idle")';
const browser = await openBrowser();
try {
    for (const tasks of [TASKS, GUIDE_TASKS]) {
        for (const { name, ratoon, lab, does } of tasks.filter((task) => task.name.includes(word))) {
            const own = ratoon
                ? await count(browser, startServer, '.notebook[aria-busy="false"]', ratoon).catch(String)
                : '–';
            const other = await count(browser, startLab, IDLE, lab).catch(String);
            process.stdout.write(`| ${name} | ${own}: ${does.ratoon} | ${other}: ${does.lab} |\n`);
        }
        process.stdout.write('\n');
    }
} finally {
    await browser.close();
}

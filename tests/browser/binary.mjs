// The server's program, and the files of the page that it bundles.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The config directory of all servers of this process. */
const config = mkdtempSync(join(tmpdir(), 'ratoon-config-'));
process.on('exit', () => rmSync(config, { recursive: true, force: true }));
/** Deletes the settings of the page that the servers keep. */
export const forgetSettings = () => rm(join(config, 'ratoon', 'settings.json'), { force: true });

/**
 * Starts the binary on a directory and a port. The result can stop it, or kill it to simulate a
 * crash.
 */
export async function startBinary(dir, port, ...more) {
    const python = process.env.RATOON_TEST_PYTHON ? ['--python', process.env.RATOON_TEST_PYTHON] : [];
    const child = spawn(
        process.env.RATOON_BIN,
        ['--bind', `127.0.0.1:${port}`, '--dir', dir, ...python, ...more],
        // A shell that keeps no history.
        {
            stdio: ['ignore', 'pipe', 'pipe'],
            env: { ...process.env, SHELL: '/bin/sh', XDG_CONFIG_HOME: config },
        },
    );
    let said = '';
    const url = await new Promise((done, fail) => {
        const hear = (text) => {
            said += text;
            const found = said.match(/http:\/\/\S+\/n\/\S+\?token=\S+/);
            if (found) done(found[0]);
        };
        child.stdout.on('data', hear);
        child.stderr.on('data', hear);
        child.once('error', fail);
        child.once('exit', (code) => fail(new Error(`the server ended with ${code}:\n${said}`)));
    });
    const end = (signal) => async () => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = new Promise((done) => child.once('exit', done));
        child.kill(signal);
        await ended;
    };
    return { url, stop: end('SIGTERM'), kill: end('SIGKILL'), said: () => said };
}

/** Starts the binary on a free port and a directory of its own, which `stop` deletes. */
export async function startAlone(...more) {
    const dir = await mkdtemp(join(tmpdir(), 'ratoon-browser-'));
    const server = await startBinary(dir, 0, ...more);
    /** Deletes the files that cells have made. */
    const clear = async () => {
        const made = (await readdir(dir)).filter((name) => !/^\.|\.ratoon$/.test(name));
        await Promise.all(made.map((name) => rm(join(dir, name), { recursive: true })));
    };
    const stop = async () => {
        await server.stop();
        await rm(dir, { recursive: true, force: true });
    };
    return { ...server, dir, clear, stop };
}

/** What the program bundles, as paths below `web/`. All other files it serves as they are. */
const BUNDLED = [
    'early.js',
    'notebook.js',
    'notebook-later.js',
    'style/notebook.css',
    'style/later.css',
    'style/plain.css',
    'signin.js',
    'strip-token.js',
    'find-worker.js',
];

/**
 * The bundles of the page by path, as the program that RATOON_BIN names serves them; without
 * RATOON_BIN none. A page loads them several times faster than a hundred modules.
 * @returns {Promise<Map<string, string>>}
 */
export async function bundles() {
    if (!process.env.RATOON_BIN) return new Map();
    const server = await startAlone();
    try {
        const { origin, searchParams } = new URL(server.url);
        const headers = { authorization: `Bearer ${searchParams.get('token')}` };
        const get = async (path) => {
            const answer = await fetch(origin + path, { headers });
            if (!answer.ok) throw new Error(`GET ${path}: ${answer.status}`);
            return answer.text();
        };
        const [prefix] = (await get('/n/main')).match(/\/assets\/\w+/) ?? [];
        return new Map(
            await Promise.all(
                BUNDLED.map(async (path) => /** @type {const} */ ([path, await get(`${prefix}/${path}`)])),
            ),
        );
    } finally {
        await server.stop();
    }
}

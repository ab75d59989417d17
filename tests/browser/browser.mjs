// Chromium and servers for the browser tests.

import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { chromium } from 'playwright-core';
import { startAlone } from './binary.mjs';
import { listen } from './listen.mjs';
import { start as startMock } from './mock.mjs';

const FLAGS = [
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--disable-gpu',
    '--site-per-process',
];

/** Whether to test every case instead of a few examples: `tests/run nightly` does. */
export const IN_FULL = Boolean(process.env.RATOON_TEST_ALL);

/**
 * The options of a test that only `tests/run nightly` runs, or who asks for it by words.
 * @param {{ skip?: boolean | string }} options
 */
export const nightly = (options = {}) => ({
    ...options,
    skip: options.skip || (!IN_FULL && !process.env.RATOON_TEST_CHOSEN && 'nightly'),
});

/** How long a step waits for what it expects to see, in milliseconds: enough for a busy machine. */
export const PATIENCE = 60_000;

/** Starts Chromium with its own profile. Chromium's sandbox does not work for root. */
export async function openBrowser() {
    const isRoot = process.getuid?.() === 0;
    return chromium.launch({
        executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
        args: isRoot ? [...FLAGS, '--no-sandbox'] : FLAGS,
    });
}

/**
 * Starts the server under test: the binary that RATOON_BIN names, on a free port; without
 * RATOON_BIN, the stand-in.
 */
export async function startServer(...more) {
    return process.env.RATOON_BIN ? startAlone(...more) : startMock();
}

/**
 * A proxy that can cut the connection to the server and that records the paths of requests. The
 * browser connects to `port`; the test sets `to`, the server's port, once the server runs.
 */
export async function openLine() {
    const line = {
        to: 0,
        port: 0,
        isCut: false,
        heard: [],
        sockets: new Set(),
        cut: () => {},
        heal: () => {},
        stop: () => {},
    };
    const server = createServer((near) => {
        if (line.isCut) return near.destroy();
        const far = connect(line.to, '127.0.0.1');
        near.on('data', (data) => {
            for (const [, path] of data.toString('latin1').matchAll(/^[A-Z]{3,7} (\/\S*) HTTP\/1/gm))
                line.heard.push(path);
        });
        for (const [one, other] of [
            [near, far],
            [far, near],
        ]) {
            line.sockets.add(one);
            one.pipe(other);
            one.on('error', () => other.destroy());
            one.on('close', () => (line.sockets.delete(one), other.destroy()));
        }
        return undefined;
    });
    line.port = await listen(server);
    line.cut = () => {
        line.isCut = true;
        for (const socket of line.sockets) socket.destroy();
    };
    line.heal = () => {
        line.isCut = false;
    };
    line.stop = () => (line.cut(), new Promise((done) => server.close(done)));
    return line;
}

/** Calls `look` until its result equals `wanted`. */
export async function becomes(look, wanted) {
    let now;
    for (const end = Date.now() + PATIENCE; Date.now() < end; ) {
        now = await look();
        if (JSON.stringify(now) === JSON.stringify(wanted)) return;
        await new Promise((done) => setTimeout(done, 20));
    }
    assert.deepEqual(now, wanted);
}

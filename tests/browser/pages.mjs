// Pages that record every error, warning, policy violation and foreign request. A test fails if its
// pages recorded any.

import assert from 'node:assert/strict';
import { afterEach } from 'node:test';
import { PATIENCE } from './browser.mjs';

/** The pages that the current test has opened. @type {any[]} */
let opened = [];
/** Functions that clean up after each test. @type {(() => Promise<unknown>)[]} */
const enders = [];
/**
 * Registers a function to call after each test, whether it passed or failed. A server that still
 * runs would keep the test file from ending.
 */
export const whenOver = (end) => enders.push(end);

afterEach(async () => {
    const said = await Promise.all(
        opened.map((page) =>
            page.$$eval('.notice[data-bad]', (all) => all.map((one) => one.textContent)).catch(() => []),
        ),
    );
    const isFault = (page) => (fault) => !page.forgiven.some((pattern) => pattern.test(fault));
    const faults = [...opened.flatMap((page) => page.faults.filter(isFault(page))), ...said.flat()];
    opened = [];
    for (const end of enders) await end();
    assert.deepEqual(faults, [], 'the page is silent: no error, no policy violation, no foreign request');
});

/** Ignores messages that match, such as the browser's own about a server that is down. */
export const forgive = (page, pattern) => page.forgiven.push(pattern);

/** Opens a page that records its faults. `page.faults` must be empty when the test ends. */
export async function openPage(browser, options = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    page.faults = [];
    page.forgiven = [];
    opened.push(page);
    page.on('console', (message) => {
        if (!['error', 'warning'].includes(message.type())) return;
        page.faults.push(`${message.text()} (at ${message.location().url})`);
    });
    page.on('pageerror', (error) => page.faults.push(String(error.stack ?? error)));
    page.on('request', (request) => {
        if (!/^(http|ws):\/\/127\.0\.0\.1:|^(data|blob):/.test(request.url()))
            page.faults.push(`request to ${request.url()}`);
    });
    return page;
}

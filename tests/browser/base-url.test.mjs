// The page below a base path, as behind a proxy that serves several programs on one host.

import assert from 'node:assert/strict';
import { nightly, startServer } from './browser.mjs';
import { forgive, open, ran, run, sees, testWithoutPage } from './harness.mjs';

const BASE = '/hub/ada@x/ratoon';
const real = { skip: !process.env.RATOON_BIN };

testWithoutPage(
    'below a base path, the whole page works and requests nothing outside it',
    nightly(real),
    async (t) => {
        const server = await startServer('--base-url', `${BASE}/`);
        t.after(() => server.stop());
        const address = new URL(server.url);
        assert.ok(address.pathname.startsWith(`${BASE}/n/`), server.url);
        const tab = await open(server.url);
        /** @type {string[]} */
        const outside = [];
        tab.on('request', (request) => {
            const url = new URL(request.url());
            if (url.host === address.host && !url.pathname.startsWith(`${BASE}/`)) outside.push(url.pathname);
        });
        await run('x = 41', 'Shift+Enter', tab);
        await ran(1, tab);
        await run('from IPython.display import HTML\nHTML("<p>in a frame</p>")', 'Shift+Enter', tab);
        await tab.frameLocator('iframe.frame').getByText('in a frame').waitFor();

        // A share link opens in another browser.
        await tab.getByRole('button', { name: 'Share' }).click();
        await tab.getByRole('button', { name: 'Create and copy link' }).click();
        const link = await tab.getByLabel('Link', { exact: true }).inputValue();
        assert.ok(new URL(link).pathname.startsWith(`${BASE}/n/main`), link);
        await tab.keyboard.press('Escape');
        const guest = await open(link);
        await sees('x = 41', guest);

        // The list of notebooks, a new notebook, and one that does not exist.
        await tab.locator('.brand').click();
        await tab.waitForURL(`${address.origin}${BASE}/`);
        await tab.waitForSelector('#home:not([aria-busy])');
        await tab.getByRole('button', { name: 'New notebook' }).click();
        await tab.getByRole('textbox', { name: 'New notebook' }).fill('second');
        await tab.getByRole('button', { name: 'Create' }).click();
        await tab.waitForURL(`${address.origin}${BASE}/n/second**`);
        await tab.waitForSelector('.notebook[aria-busy="false"]');
        await run('y = 1', 'Shift+Enter', tab);
        await ran(1, tab);
        await tab.goto(`${address.origin}${BASE}/n/lost`);
        await tab.getByText('There is no notebook called “lost”.').waitFor();
        assert.deepEqual(outside, []);
        forgive(tab, /status of 404/);
    },
);

// The notebook's Python: shown in the header, chosen and refused in a dialog. Only on the real
// server. With SHOTS=DIR, saves screenshots in DIR.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBinary } from './binary.mjs';
import { nightly } from './browser.mjs';
import { forgive, open, page, prints, ran, run, testOnOwnServer, testWithoutPage } from './harness.mjs';

const python = process.env.RATOON_TEST_PYTHON;
const options = { skip: !process.env.RATOON_BIN || !python };

/** Creates an environment that has the packages of the tests' environment. */
async function environment(t) {
    const dir = await mkdtemp(join(tmpdir(), 'ratoon-python-'));
    t.after(() => rm(dir, { recursive: true, force: true }));
    execFileSync(python, ['-m', 'venv', '--without-pip', '--system-site-packages', join(dir, 'mine')]);
    return join(dir, 'mine');
}

async function shot(on, name) {
    if (!process.env.SHOTS) return;
    await on.screenshot({ path: `${process.env.SHOTS}/${name}.png` });
}

const name = (on) => on.locator('.python-name');

testOnOwnServer(
    'the owner can restart the notebook in another Python after a confirmation',
    nightly(options),
    async (t) => {
        const env = await environment(t);
        await page.setViewportSize({ width: 1200, height: 860 });
        await run('x = 1');
        await ran(1);
        assert.match(await name(page).innerText(), /^Python 3\.\d+\.\d+/);
        assert.equal(await name(page).getAttribute('title'), python);

        // By keyboard alone: the list, a path that is not a Python, the path of an environment.
        await name(page).focus();
        await page.keyboard.press('Enter');
        await page.getByRole('radio', { name: /default/ }).waitFor();
        assert.ok(await page.getByRole('radio', { name: /default/ }).isChecked());
        assert.ok(await page.getByRole('button', { name: 'Continue' }).isDisabled(), 'it is in use');
        await shot(page, 'python-list');
        const field = page.getByLabel('Path of a Python or of its environment');
        await field.focus();
        await page.keyboard.type('/dev/null');
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'Restart in this Python?' }).waitFor();
        await shot(page, 'python-question');
        forgive(page, /status of 400/);
        await page.keyboard.press('Enter');
        await page.getByText('Cannot use the Python /dev/null: it is not a file.').waitFor();
        assert.equal(await field.inputValue(), '/dev/null');
        await shot(page, 'python-refused');
        await page.setViewportSize({ width: 360, height: 740 });
        await shot(page, 'python-360');
        assert.ok(await page.evaluate(() => document.querySelector('dialog').scrollWidth <= 360));
        await page.emulateMedia({ colorScheme: 'dark' });
        await page.setViewportSize({ width: 1200, height: 860 });
        await shot(page, 'python-dark');

        await field.fill(env);
        await page.keyboard.press('Enter');
        await page
            .getByText('All processes of this notebook end. Its cells, outputs and drafts stay.')
            .waitFor();
        await page.keyboard.press('Enter');
        await page.getByText(/^The notebook runs in Python 3/).waitFor();
        await page.waitForSelector('dialog', { state: 'detached' });
        assert.equal(await name(page).getAttribute('title'), join(env, 'bin/python'));
        await page.waitForSelector('.cell[data-fresh] .cm-content:focus');
        await run('import sys\nprint(x, sys.prefix)');
        await ran(2);
        await prints(`1 ${env}`, page);

        // A guest sees it, and cannot change it.
        const token = await page.evaluate(async () => {
            const answer = await fetch('/api/links', {
                method: 'POST',
                headers: { 'content-type': 'application/json' },
                body: JSON.stringify({ scope: 'run' }),
            });
            return (await answer.json()).token;
        });
        const guest = await open(`${new URL(page.url()).origin}/n/main?token=${token}`);
        assert.equal(await name(guest).getAttribute('title'), join(env, 'bin/python'));
        await name(guest).click();
        await guest.getByText('Only the owner of this notebook can change its Python.').waitFor();
        assert.equal(await guest.getByRole('radio').count(), 0);
    },
);

testWithoutPage(
    'a notebook whose Python is missing says so and offers another',
    nightly(options),
    async (t) => {
        const env = await environment(t);
        const dir = await mkdtemp(join(tmpdir(), 'ratoon-browser-'));
        const servers = [await startBinary(dir, 0)];
        t.after(async () => {
            await servers.at(-1).stop();
            await rm(dir, { recursive: true, force: true });
        });
        const { origin, searchParams } = new URL(servers[0].url);
        const answer = await fetch(`${origin}/api/notebooks/main/python`, {
            method: 'PUT',
            headers: {
                authorization: `Bearer ${searchParams.get('token')}`,
                'content-type': 'application/json',
            },
            body: JSON.stringify({ path: env }),
        });
        assert.equal(answer.status, 200);
        await servers[0].stop();
        await rm(env, { recursive: true });

        servers.push(await startBinary(dir, 0));
        const tab = await open(servers[1].url);
        const banner = tab.locator('.banner', { hasText: 'there is no such file' });
        await banner.waitFor();
        assert.equal(await tab.locator('.status').innerText(), 'No Python');
        await shot(tab, 'python-gone');
        await banner.getByRole('button', { name: 'Choose a Python…' }).click();
        await tab.getByRole('radio', { name: /default/ }).check();
        await tab.getByRole('button', { name: 'Continue' }).click();
        await tab.getByRole('heading', { name: /^Restart in Python 3/ }).waitFor();
        await tab.getByRole('button', { name: 'Restart', exact: true }).click();
        await tab.getByText(/^The notebook runs in Python 3/).waitFor();
        await banner.waitFor({ state: 'detached' });
        await run('print("again")', 'Shift+Enter', tab);
        await prints('again', tab);
    },
);

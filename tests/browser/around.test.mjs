// Everything outside the cells: other tabs, a server that stops, links, the list of notebooks,
// panels.

import assert from 'node:assert/strict';
import { startServer } from './browser.mjs';
import {
    forgive,
    open,
    openFar,
    page,
    prints,
    ran,
    run,
    server,
    test,
    testOnOwnServer,
    testWithoutPage,
    texts,
    three,
} from './harness.mjs';

const again = async (url = page.url()) => open(url, { storageState: await page.context().storageState() });
const isReal = Boolean(process.env.RATOON_BIN);

test('typing goes to the other tab while it goes on, not when it rests', async () => {
    const other = await again();
    await page.bringToFront();
    await page.locator('.cell[data-fresh] .editor').click();
    const typing = page.keyboard.type('x'.repeat(60), { delay: 40 });
    await other.waitForFunction(() => /^x{1,50}$/.test(document.querySelector('.cell .editor')?.textContent));
    await typing;
});

testWithoutPage(
    'when the server is gone, one text says so and what was typed can be copied',
    {
        skip: !isReal,
    },
    async (t) => {
        const { line, behind, far } = await openFar(t);
        await run('x = 1', 'Shift+Enter', far);
        await ran(1, far);
        await far.keyboard.insertText('typed and not run');
        line.cut();
        await behind.stop();
        const second = await startServer('--reachable-as', `127.0.0.1:${line.port}`);
        t.after(() => second.stop());
        line.to = Number(new URL(second.url).port);
        line.heal();
        await far.waitForSelector('.banner[data-bad]');
        assert.match(
            await far.locator('.banner').textContent(),
            /stopped or restarted, and this browser is no longer signed in.*stays in this tab/,
        );
        assert.equal(await far.locator('.status').textContent(), 'Disconnected');
        assert.ok((await far.locator('.notebook').textContent()).includes('typed and not run'));
        await far.getByRole('button', { name: 'Copy all code' }).click();
        await far
            .locator('.notice, dialog')
            .filter({ hasText: /copied|Copy this code/i })
            .first()
            .waitFor();
        forgive(far, /ERR_|WebSocket|401/);
    },
);

testOnOwnServer('a new notebook is made; a missing one is reported', { skip: !isReal }, async () => {
    const origin = new URL(page.url()).origin;
    await page.goto(`${origin}/n/lost`);
    await page.getByText('There is no notebook called “lost”.').waitFor();
    await page.goto(origin);
    await page.getByRole('button', { name: 'New notebook' }).click();
    await page.getByRole('textbox', { name: 'New notebook' }).fill('bad/name');
    await page.keyboard.press('Enter');
    await page.locator('.said[data-bad]', { hasText: 'Cannot' }).waitFor();
    await page.getByRole('button', { name: 'New notebook' }).click();
    await page.getByRole('textbox', { name: 'New notebook' }).fill('second one');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.waitForURL(`${origin}/n/second%20one**`);
    await page.waitForSelector('.notebook[aria-busy="false"]');
    assert.equal(await page.locator('h1').textContent(), 'second one');
    forgive(page, /status of (404|400)/);
});

test('a visitor without access reads why in one sentence', { skip: !isReal }, async () => {
    const stranger = await page.context().browser().newContext();
    const one = await stranger.newPage();
    await one.goto(new URL('/n/main', page.url()).href);
    assert.equal(
        await one.locator('p').first().textContent(),
        'Ratoon refused this request: it has no valid token or session.',
    );
    await stranger.close();
});

test('variables: a whole value on demand, and the panel is there after a reload', async () => {
    await three();
    await page.getByRole('button', { name: 'Variables' }).click();
    await page.getByRole('button', { name: 'x', exact: true }).click();
    await page.waitForSelector('.whole pre');
    await page.reload();
    await page.waitForSelector('.variables-pane tbody tr');
});

test('on a phone one panel is open at a time', async () => {
    await page.setViewportSize({ width: 420, height: 800 });
    await page.reload();
    await page.waitForSelector('.notebook[aria-busy="false"]');
    const height = async () => (await page.locator('main').boundingBox()).height;
    await page.getByRole('button', { name: 'Variables' }).click();
    await page.waitForSelector('.variables-pane');
    assert.ok((await height()) > 480);
    await page.getByRole('button', { name: 'Graph of states' }).click();
    await page.waitForSelector('.graph-pane');
    await page.waitForSelector('.variables-pane', { state: 'detached' });
    assert.ok(server);
});

test('the focus of the graph is a ring around one row', async () => {
    await three();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    assert.equal(await page.$eval('#graph', (one) => getComputedStyle(one).outlineStyle), 'none');
    assert.match(await page.$eval('.row[data-here]', (one) => getComputedStyle(one).boxShadow), /inset/);
});

test('seven branches leave room for their names, and variants are told apart', async () => {
    for (let i = 0; i < 7; i += 1) {
        await page.locator('.row').first().click();
        await ran(0);
        await run(`import time; time.sleep(0); x = ${i}`);
        await ran(1);
    }
    const names = await texts('.row .what');
    assert.deepEqual(
        names.slice(1),
        [0, 1, 2, 3, 4, 5, 6].map((i) => `… x = ${i}`),
    );
    const lefts = await page.$$eval('.row .what', (all) =>
        all.map(
            (one) => one.getBoundingClientRect().left - one.closest('.graph').getBoundingClientRect().left,
        ),
    );
    assert.ok(Math.max(...lefts) < 115, `${lefts}`);
    await page.locator('.row').nth(3).hover();
    assert.match(
        await page.locator('.node-card').textContent(),
        /import time; time.sleep\(0\); x = 2.*In memory/,
    );
});

/** The code of a cell taller than the window. */
const LONG = 'x = 1\n'.repeat(60);
/** How far the page can be scrolled, and how far it is scrolled. Only its panes may scroll. */
const overflow = (on) =>
    on.evaluate(() => [
        document.documentElement.scrollHeight - innerHeight,
        document.body.scrollHeight - innerHeight,
        scrollY,
        document.querySelector('.top').getBoundingClientRect().top,
    ]);

test('of a long notebook only the cells scroll, never the page around them', async () => {
    await run(LONG);
    await ran(1);
    await run('print("end")');
    await ran(2);
    assert.deepEqual(await overflow(page), [0, 0, 0, 0]);
    for (const place of ['.top', '.graph-pane', 'main']) {
        await page.locator(place).hover();
        await page.mouse.wheel(0, 4000);
    }
    await page.waitForFunction(() => document.querySelector('main').scrollTop > 0);
    await page.getByRole('button', { name: 'Variables' }).click();
    await page.waitForSelector('.variables-pane');
    assert.deepEqual(await overflow(page), [0, 0, 0, 0]);
    const compared = await page.$$eval('.row[data-node]', (all) => all.map((one) => one.dataset.node));
    await page.evaluate(([, a, b]) => (location.hash = `compare=${a}..${b}`), compared);
    await page.waitForSelector('.compare');
    assert.deepEqual(await overflow(page), [0, 0, 0, 0]);
});

test('a link into a long notebook shows its state with the header in sight', { skip: !isReal }, async () => {
    await run(LONG);
    await ran(1);
    await run('print("the end")');
    await ran(2);
    const { origin, hash } = new URL(page.url());
    const token = await page.evaluate(
        async () =>
            (
                await (
                    await fetch('/api/links', {
                        method: 'POST',
                        headers: { 'content-type': 'application/json' },
                        body: '{"scope": "view"}',
                    })
                ).json()
            ).token,
    );
    const guest = await open(`${origin}/n/main?token=${token}${hash}`);
    await prints('the end', guest);
    await guest.waitForFunction(() => document.querySelector('main').scrollTop > 0);
    assert.deepEqual(await overflow(guest), [0, 0, 0, 0]);
});

test('the line of a plot is seen in the small picture of it, too', { skip: !isReal }, async () => {
    await run(
        'from IPython.display import SVG\nSVG(\'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="480"><rect width="640" height="480" fill="white"/><path d="M80 60L560 420" stroke="#1f77b4" stroke-width="2"/></svg>\')',
    );
    await ran(1);
    await page.waitForSelector('.thumb');
    const darkest = await page.$eval('.thumb', async (thumb) => {
        await thumb.decode();
        const pen = Object.assign(document.createElement('canvas'), {
            width: thumb.naturalWidth,
            height: thumb.naturalHeight,
        }).getContext('2d');
        pen.drawImage(thumb, 0, 0);
        const { data } = pen.getImageData(0, 0, thumb.naturalWidth, thumb.naturalHeight);
        return Math.min(...data.filter((_, i) => i % 4 === 0));
    });
    // The red channel is 31 in the line's own colour and 255 in white.
    assert.ok(darkest < 110, `${darkest}`);
});

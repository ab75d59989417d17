// What surrounds the cells: other tabs, a server that stops, links, the list of notebooks,
// panels.

import assert from 'node:assert/strict';
import { becomes, nightly, startServer } from './browser.mjs';
import {
    focused,
    forgive,
    open,
    openFar,
    page,
    prints,
    ran,
    release,
    run,
    test,
    testOnOwnServer,
    testWithoutPage,
    texts,
    three,
    untilReleased,
} from './harness.mjs';

const again = async (url = page.url()) => open(url, { storageState: await page.context().storageState() });
const isReal = Boolean(process.env.RATOON_BIN);

test('another tab shows typing while it happens, not only after a pause', nightly(), async () => {
    const other = await again();
    await page.bringToFront();
    await page.locator('.cell[data-fresh] .editor').click();
    const typing = page.keyboard.type('x'.repeat(60), { delay: 40 });
    await other.waitForFunction(() => /^x{1,50}$/.test(document.querySelector('.cell .editor')?.textContent));
    await typing;
});

test(
    'while the user looks elsewhere, the title and icon of the tab and notifications say what cells do',
    nightly(),
    async () => {
        // Headless Chromium always has the focus and shows no notifications.
        await page.addInitScript(() => {
            window.isAway = false;
            window.notifications = [];
            document.hasFocus = () => !window.isAway;
            const Stub = class {
                static permission = 'default';
                static async requestPermission() {
                    Stub.permission = 'granted';
                    return 'granted';
                }
                constructor(title, { body }) {
                    window.notifications.push([title, body]);
                    window.shown = /** @type {any} */ (this);
                }
                close() {}
            };
            window.Notification = /** @type {any} */ (Stub);
        });
        await page.reload();
        await page.waitForSelector('.notebook[aria-busy="false"]');
        const title = (wanted) => page.waitForFunction((text) => document.title === text, wanted);
        await page.waitForFunction(() => performance.getEntriesByName('parts loaded').length > 0);
        const dot = (wanted) =>
            page.waitForFunction((colour) => {
                const icon = document.querySelector('link[rel="icon"]');
                const { href } = /** @type {HTMLLinkElement} */ (icon);
                const [, found = ''] = decodeURIComponent(href).match(/<circle .*fill="(#\w+)"/) ?? [];
                return found === colour;
            }, wanted);
        const leave = (isAway) =>
            page.evaluate((is) => {
                window.isAway = is;
                dispatchEvent(new Event(is ? 'blur' : 'focus'));
            }, isAway);
        const said = () => page.evaluate(() => window.notifications);
        await title('main · Ratoon');
        await run(`x = 1\n${untilReleased('first')}`);
        await title('▶ main · Ratoon');
        await dot('#2f74c0');
        await leave(true);
        await release('first');
        await title('✓ main · Ratoon');
        await dot('#1f9d55');
        assert.deepEqual(await said(), [], 'only users who want notifications get them');
        await leave(false);
        await title('main · Ratoon');
        await dot('');
        const notifications = page.getByRole('checkbox', { name: 'Notifications' });
        const openSettings = async () => {
            await page.getByRole('button', { name: 'More' }).click();
            await page.getByRole('menuitem', { name: 'Settings…' }).click();
            await notifications.waitFor();
        };
        await openSettings();
        await notifications.check();
        await page.getByRole('status').filter({ hasText: 'This browser notifies you' }).waitFor();
        await page.keyboard.press('Escape');
        await run(`y = 1\n${untilReleased('second')}`);
        await run('oops');
        await page.waitForSelector('.cell[data-status="queued"]');
        await page.locator('.row').first().click();
        await leave(true);
        await release('second');
        await title('✗ main · Ratoon');
        await dot('#c8372b');
        assert.deepEqual(await said(), [
            ['main: a cell failed', "oops\nNameError: name 'oops' is not defined"],
        ]);
        await page.evaluate(() => window.shown.onclick(new Event('click')));
        await page.locator('.cell[data-status="error"]').waitFor();
        await leave(false);
        await title('main · Ratoon');
        await run('input("name? ")');
        await leave(true);
        await title('? main · Ratoon');
        assert.deepEqual((await said()).at(-1), ['main: a cell waits for input', 'input("name? ")\nname? ']);
        await openSettings();
        await notifications.uncheck();
        await page.keyboard.press('Escape');
        await openSettings();
        assert.equal(await notifications.isChecked(), false);
    },
);

testWithoutPage(
    'after a restart of the server signs the browser out, a banner says so and typed code can be copied',
    nightly({
        skip: !isReal,
    }),
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
        forgive(far, /ERR_|WebSocket|status of 401/);
    },
);

testOnOwnServer('a notebook can be created, and a missing one is reported', { skip: !isReal }, async () => {
    const origin = new URL(page.url()).origin;
    await page.goto(`${origin}/n/lost`);
    await page.getByText('There is no notebook called “lost”.').waitFor();
    await page.goto(origin);
    await page.getByRole('button', { name: 'New notebook' }).click();
    const field = page.getByRole('textbox', { name: 'New notebook' });
    for (const name of ['  ', 'what? a name that nobody wants to type again']) {
        await field.fill(name);
        await field.press('Enter');
    }
    await page.locator('dialog [role=alert]', { hasText: 'letters, digits, spaces' }).waitFor();
    assert.equal(await field.inputValue(), 'what? a name that nobody wants to type again');
    assert.equal(await field.evaluate((one) => one === document.activeElement), true);
    await field.fill('second one');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.waitForURL(`${origin}/n/second%20one**`);
    await page.waitForSelector('.notebook[aria-busy="false"]');
    assert.equal(await page.locator('h1').textContent(), 'second one');
    forgive(page, /status of (404|400)/);
});

test('a visitor without access gets the reason in one sentence', { skip: !isReal }, async () => {
    const stranger = await page.context().browser().newContext();
    const one = await stranger.newPage();
    await one.goto(new URL('/n/main', page.url()).href);
    assert.equal(
        await one.locator('p').first().textContent(),
        'Ratoon refused this request: it has no valid token or session.',
    );
    await stranger.close();
});

test(
    'the variables pane shows a whole value on request, and stays open after a reload',
    nightly(),
    async () => {
        await three();
        await page.getByRole('button', { name: 'Variables' }).click();
        await page.getByRole('button', { name: 'x', exact: true }).click();
        await page.waitForSelector('.whole pre');
        await page.reload();
        await page.waitForSelector('.variables-pane tbody tr');
    },
);

test(
    'the variables pane shows rows in pages; modules are folded until they are wanted or found by the filter',
    nightly({
        skip: !isReal && 'the stand-in knows no modules',
    }),
    async () => {
        await run('import math, sys\nfor i in range(700): globals()[f"v{i}"] = i');
        await ran(1);
        await page.getByRole('button', { name: 'Variables' }).click();
        const shown = async (count) => {
            await page.waitForFunction(
                (count) => document.querySelectorAll('.variables-pane tbody th').length === count,
                count,
            );
        };
        await shown(300);
        await page.getByRole('button', { name: 'Show 300 more of 401' }).click();
        await shown(600);
        await page.getByRole('button', { name: 'Show 101 more' }).click();
        await shown(701);
        const modules = page.getByRole('button', { name: '2 modules' });
        assert.equal(await modules.getAttribute('aria-expanded'), 'false');
        await modules.click();
        await shown(703);
        assert.deepEqual(await texts('.variables-modules tbody th, .variables-modules th'), ['math', 'sys']);
        await page.reload();
        await shown(302);
        await page.getByRole('button', { name: '2 modules' }).click();
        await page.getByLabel('Filter variables by name, type or value').fill('math');
        await shown(1);
    },
);

test('on a phone panes are sheets, one at a time; going to a state in the graph closes its sheet', async () => {
    await run('x = 1');
    await ran(1);
    await page.setViewportSize({ width: 390, height: 800 });
    await page.evaluate(() => sessionStorage.clear());
    await page.reload();
    await ran(1);
    const main = () => page.locator('main').boundingBox();
    const { height } = await main();
    for (const [name, pane] of [
        ['Variables', '.variables-pane'],
        ['Outline', '.outline-pane'],
        ['Graph of states', '.graph-pane'],
    ]) {
        await page.locator(`.buttons button[title="${name}"]`).click();
        await page.waitForSelector(pane);
        await page.waitForFunction(() => document.querySelectorAll('.side').length === 1);
        await page.waitForFunction(
            (one) => document.querySelector(one).getBoundingClientRect().bottom === innerHeight,
            pane,
        );
        assert.equal((await main()).height, height, 'the notebook keeps its place');
    }
    await page.locator('.row').first().click();
    await ran(0);
    await page.waitForSelector('.graph-pane', { state: 'detached' });
});

/** Adds a text cell at the end. */
async function write(text) {
    await page.locator('.cell[data-fresh] .editor').click();
    await page.keyboard.insertText(text);
    await page.keyboard.press('Escape');
    await page.keyboard.press('m');
    await page
        .locator('.cell[data-kind="draft"][data-text] .prose', { hasText: text.replace(/#+ /, '') })
        .waitFor();
}
const visible = () =>
    page.$$eval('.cell:not([hidden]):not([data-fresh])', (all) =>
        all.map((one) => one.querySelector('.prose, .cm-content, .editor').textContent.trim()),
    );

test(
    'headings collapse their sections by key and mouse; the outline lists them and goes there',
    nightly(),
    async () => {
        for (const [i, heading] of ['# One', '## Two', '# Three'].entries()) {
            await write(heading);
            await run(`x = ${i}`);
            await ran(i + 1);
        }
        const all = ['One', 'x = 0', 'Two', 'x = 1', 'Three', 'x = 2'];
        await becomes(visible, all);
        await page.locator('.cell').first().focus();
        await page.keyboard.press('ArrowLeft');
        await becomes(visible, ['One', 'Three', 'x = 2']);
        assert.match((await texts('.folded-section'))[0], /^… 3 cells/);
        await page.keyboard.press('ArrowDown');
        await focused([4, 'cell']);
        await page.reload();
        await ran(3);
        await becomes(visible, ['One', 'Three', 'x = 2']);

        // Whatever goes to a hidden cell expands its section.
        await page.keyboard.press('Control+f');
        await page.locator('.find-text').fill('x = 1');
        await becomes(visible, all);
        await page.keyboard.press('Escape');
        await page.locator('.cell').nth(2).hover();
        await page.locator('.cell').nth(2).getByRole('button', { name: 'Collapse the section' }).click();
        await becomes(visible, ['One', 'x = 0', 'Two', 'Three', 'x = 2']);
        await focused([2, 'cell']);

        await page.getByRole('button', { name: 'Outline' }).click();
        const entries = () =>
            page.$$eval('.outline-entry', (some) =>
                some.map(
                    (one) =>
                        `${one.getAttribute('aria-level')} ${one.querySelector('.outline-text').textContent}` +
                        `${one.getAttribute('aria-expanded') === 'false' ? ' +' : ''}` +
                        `${one.getAttribute('aria-current') ? ' *' : ''}`,
                ),
            );
        await becomes(entries, ['1 One', '2 Two + *', '1 Three']);
        await page.getByRole('button', { name: 'Code cells' }).click();
        await becomes(entries, ['1 One', '2 x = 0', '2 Two + *', '1 Three', '2 x = 2']);
        await page.locator('#outline').focus();
        await page.keyboard.press('ArrowRight');
        await becomes(visible, all);
        await page.keyboard.press('End');
        await page.keyboard.press('Enter');
        await focused([5, 'cell']);
        await becomes(entries, ['1 One', '2 x = 0', '2 Two', '3 x = 1', '1 Three', '2 x = 2 *']);
        await page.locator('.outline-entry', { hasText: 'One' }).click();
        await focused([0, 'cell']);

        // Below a collapsed section at the end is the empty cell, so no other is added.
        await page.locator('.cell').nth(4).focus();
        await page.keyboard.press('ArrowLeft');
        await becomes(visible, all.slice(0, -1));
        await page.keyboard.press('b');
        await focused([6, 'cell']);
        assert.equal(await page.locator('.cell').count(), 7);
        await page.getByRole('button', { name: 'Variables' }).click();
        await page.waitForSelector('.outline-pane', { state: 'detached' });
    },
);

test('a long time and much memory always stand at the end of the code; the rest with the buttons', async () => {
    for (const [i, code] of [
        'data = b"x" * 150_000_000',
        'import time; time.sleep(1.01)',
        'time.sleep(0.01)',
    ].entries()) {
        await run(code);
        await ran(i + 1);
    }
    const measures = () =>
        page.$$eval('.cell[data-kind="ran"]', (cells) =>
            cells.map((cell) =>
                ['.source > .measures', '.tools > .measures'].map(
                    (place) => cell.querySelector(place)?.textContent.replace(/[\d.]+/g, 'N') ?? '',
                ),
            ),
        );
    const isShown = (cell, place) =>
        page
            .locator('.cell')
            .nth(cell)
            .locator(place)
            .evaluate((one) => {
                const { left, top, width, height } = one.getBoundingClientRect();
                return one.contains(document.elementFromPoint(left + width / 2, top + height / 2));
            });
    await becomes(
        async () => (await measures()).slice(0, 2),
        [
            ['+N MB', 'N ms'],
            ['N s', ''],
        ],
    );
    const [, , [always, besideButtons]] = await measures();
    assert.equal(always, '');
    assert.match(besideButtons, /^(< )?N ms · In memory/);
    assert.equal(await isShown(0, '.source > .measures'), true);
    await page.mouse.move(0, 0);
    await becomes(() => isShown(2, '.tools > .measures'), false);
    await page.locator('.cell').nth(2).hover();
    await becomes(() => isShown(2, '.tools > .measures'), true);
});

test('the header says what is saved; after a reload, typing and a deletion can be undone', async () => {
    await run('x = 1');
    await ran(1);
    const saved = () => texts('.save-status');
    await becomes(saved, ['All changes saved']);
    await page.locator('.cell').first().locator('.cm-content').click();
    await page.keyboard.type('2');
    await becomes(saved, ['Saving…']);
    await becomes(saved, ['All changes saved']);
    await page.locator('.cell[data-fresh] .editor').click();
    await page.keyboard.insertText('y = 2');
    await page.keyboard.press('Escape');
    await page.reload();
    await ran(1);
    await page.locator('.cell').first().locator('.cm-content').click();
    await page.keyboard.press('Control+z');
    await becomes(() => texts('.cell[data-kind="ran"] .cm-content'), ['x = 1']);
    await becomes(saved, ['All changes saved']);
    await page.locator('.cell').nth(1).locator('.cm-content').click();
    await page.keyboard.press('Control+z');
    await page.waitForSelector('.cell[data-kind="draft"]:not([data-fresh]) .cm-placeholder');
    await page.keyboard.press('Control+Shift+z');
    await page.keyboard.press('Escape');
    await page.keyboard.press('d');
    await page.keyboard.press('d');
    await becomes(() => page.locator('.cell').count(), 2);
    await page.reload();
    await ran(1);
    await page.locator('.cell').first().focus();
    await page.keyboard.press('z');
    await becomes(() => page.locator('.cell').count(), 3);
    if (isReal)
        await page.waitForFunction(() =>
            /\d [MG]B/.test(document.querySelector('.memory-status')?.textContent ?? ''),
        );
});

test('when the graph has the focus, a ring surrounds one row', nightly(), async () => {
    await three();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    assert.equal(await page.$eval('#graph', (one) => getComputedStyle(one).outlineStyle), 'none');
    assert.match(await page.$eval('.row[data-here]', (one) => getComputedStyle(one).boxShadow), /inset/);
});

test(
    'seven branches leave room for their names, and the names show where similar cells differ',
    nightly(),
    async () => {
        for (let i = 0; i < 7; i += 1) {
            await page.locator('.row').first().click();
            await ran(0);
            await run(`import time; time.sleep(0); x = ${i}`);
            await ran(1);
        }
        const names = await texts('.row .what');
        assert.deepEqual(
            names.slice(1),
            [1, 2, 3, 4, 5, 6, 0].map((i) => `… x = ${i}`),
        );
        const lefts = await page.$$eval('.row .what', (all) =>
            all.map(
                (one) =>
                    one.getBoundingClientRect().left - one.closest('.graph').getBoundingClientRect().left,
            ),
        );
        assert.ok(Math.max(...lefts) < 50, `${lefts}`);
        await page.locator('.row').nth(2).hover();
        assert.match(
            await page.locator('.node-card').textContent(),
            /import time; time.sleep\(0\); x = 2.*In memory/,
        );
    },
);

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

test('in a long notebook only the cells scroll, not the page around them', nightly(), async () => {
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

test(
    'a link to a state of a long notebook shows the state and keeps the header in sight',
    nightly({
        skip: !isReal,
    }),
    async () => {
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
    },
);

test('the line of a plot is visible in its thumbnail', nightly({ skip: !isReal }), async () => {
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

// Two people in one notebook: each sees the other's outputs and position, and both type into one
// draft. Links are created and revoked. Deletions can be undone. With SHOTS=DIR, saves screenshots
// in DIR.

import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import {
    allParts,
    choose,
    drafts,
    focused,
    forgive,
    guestBy,
    open,
    page,
    prints,
    ran,
    rows,
    run,
    sees,
    server,
    test,
    testOnOwnServer,
    texts,
    three,
} from './harness.mjs';
import { becomes, nightly } from './browser.mjs';

const isReal = Boolean(process.env.RATOON_BIN);

async function shot(on, name) {
    if (!process.env.SHOTS) return;
    await mkdir(process.env.SHOTS, { recursive: true });
    await on.screenshot({ path: `${process.env.SHOTS}/${name}.png` });
}

/** Saves the screenshots of two pages side by side as one image. */
async function shotOfBoth(left, right, name) {
    if (!process.env.SHOTS) return;
    const [one, other] = await Promise.all(
        [left, right].map(async (on) => (await on.screenshot()).toString('base64')),
    );
    const both = await page
        .context()
        .browser()
        .newPage({ viewport: { width: 1840, height: 720 } });
    await both.setContent(
        `<body style="margin:0;display:flex;gap:8px;background:#888"><img width="916" src="data:image/png;base64,${one}"><img width="916" src="data:image/png;base64,${other}">`,
    );
    await shot(both, name);
    await both.close();
}

async function callMe(name, on) {
    await on.getByRole('button', { name: 'More', exact: true }).click();
    await on.getByRole('menuitem', { name: 'Your name…' }).click();
    await on.locator('dialog input').fill(name);
    await on.keyboard.press('Enter');
}

const body = (on, nth = 0) =>
    on.evaluate(
        (n) =>
            [...document.querySelectorAll('.cell[data-kind="draft"] .cm-content')][
                n
            ]?.cmTile?.view?.state.doc.toString() ??
            [...document.querySelectorAll('.cell[data-kind="draft"] .cm-content')][n]?.innerText,
        nth,
    );
const avatar = (on, name) => on.getByRole('button', { name });

test(
    'two people see each other’s runs as they happen, and each other’s current state',
    nightly(),
    async () => {
        await page.setViewportSize({ width: 916, height: 720 });
        const other = await guestBy('run', { viewport: { width: 916, height: 720 } });
        await run('x = 1\nprint("from the first")');
        await ran(1);
        await prints('from the first', page);
        await other.waitForFunction(() => document.querySelectorAll('.row').length === 2);
        await other.locator('.row').nth(1).click();
        await prints('from the first', other);
        await callMe('Ada Lovelace', page);
        await avatar(other, 'Ada Lovelace is at cell 1').waitFor();
        await avatar(page, 'Guest 1 is at cell 1').waitFor();

        // Both pages receive the output of a running cell piece by piece.
        await run('import time\nfor i in range(3): print(i); time.sleep(0.2)');
        await ran(2);
        await avatar(other, 'Ada Lovelace is at cell 2').click();
        await ran(2, other);
        await sees('2', other);
        await avatar(page, 'Guest 1 is at cell 2').waitFor();
        await callMe('Bob', other);
        await avatar(page, 'Bob is at cell 2').waitFor();
        await shotOfBoth(page, other, 'two-people');

        // An avatar also works with the keyboard. A person who leaves is no longer listed.
        await other.locator('.row').first().click();
        await avatar(page, 'Bob is at the start').focus();
        await page.keyboard.press('Enter');
        await page.waitForFunction(() => location.hash === '#initial');
        await other.goto('about:blank');
        await page.waitForSelector('.avatars', { state: 'detached' });
    },
);

test(
    'a page follows another person to the cell that they edit, until its user acts; a shared draft that runs takes both along',
    nightly(),
    async () => {
        await page.setViewportSize({ width: 916, height: 720 });
        await three();
        const other = await guestBy('run', { viewport: { width: 916, height: 260 } });
        await callMe('Ada Lovelace', page);
        await page.locator('.row').nth(1).click();
        await avatar(other, 'Ada Lovelace is at cell 1').click();
        await ran(1, other);
        await other.locator('.following', { hasText: 'Following Ada Lovelace' }).waitFor();
        await avatar(page, /^Guest 1 is at cell 1, .*, following you/).waitFor();
        await page.locator('.row').nth(3).click();
        await ran(3, other);
        for (const nth of [0, 2]) {
            await page.locator('.cell .cm-content').nth(nth).click();
            await other.waitForFunction((at) => {
                const cell = document.querySelectorAll('.cell')[at].getBoundingClientRect();
                const pane = document.querySelector('main').getBoundingClientRect();
                return cell.top >= pane.top - 1 && cell.bottom <= pane.bottom + 1;
            }, nth);
        }
        await shotOfBoth(page, other, 'following');
        await other.keyboard.press('Escape');
        await other.locator('.following:empty').waitFor({ state: 'attached' });
        await page.locator('.row').nth(1).click();
        await avatar(other, /Ada Lovelace is at cell 1/).waitFor();
        assert.equal(await other.locator('.cell[data-kind="ran"]').count(), 3, 'it stays');

        // Nothing moves between the press and the release of the button that ends it.
        await avatar(other, 'Ada Lovelace is at cell 1').click();
        await ran(1, other);
        await other.locator('.row').nth(3).hover();
        await other.mouse.down();
        await other.locator('.following:empty').waitFor({ state: 'attached' });
        await other.mouse.up();
        await ran(3, other);
        await other.locator('.following:empty').waitFor({ state: 'attached' });

        // Both type into one draft. The one who did not run it keeps their caret in its cell.
        await page.locator('.row').nth(3).click();
        await page.locator('.cell[data-fresh] .editor').click();
        await page.keyboard.insertText('print("four")');
        await sees('print("four")', other);
        await other.locator('.cell[data-kind="draft"] .cm-content').first().click();
        await page.keyboard.press('Shift+Enter');
        await ran(4);
        await ran(4, other);
        await focused([3, 'editor'], other);
    },
);

test('what another person does to the cell does not move the caret of the one who types in it', async () => {
    await drafts('zero', 'one\ntwo');
    const other = await guestBy('run');
    const cell = (nth) => other.locator('.cell').nth(nth);
    await cell(1).locator('.cm-content').click();
    await other.keyboard.press('Control+End');
    const act = async (nth, key) => {
        await page.locator('.cell').nth(nth).focus();
        await page.keyboard.press(key);
    };
    const shown = (on) => on.$$eval('.cell .editor', (all) => all.map((one) => one.innerText.trim()));
    const both = async (wanted) => {
        for (const on of [page, other]) await becomes(async () => (await shown(on)).slice(0, 2), wanted);
    };
    await act(1, 'm');
    await cell(1).locator('.cm-content').waitFor();
    await becomes(() => cell(1).getAttribute('data-text'), 'markdown');
    await other.keyboard.type(' more');
    await act(1, 'r');
    await becomes(() => cell(1).getAttribute('data-text'), 'raw');
    await other.keyboard.type(' and');
    await both(['zero', 'one\ntwo more and']);
    await act(1, 'y');
    await becomes(() => cell(1).getAttribute('data-text'), null);
    await act(1, 'Control+Shift+ArrowUp');
    await becomes(async () => (await shown(other))[1], 'zero');
    await other.keyboard.type(' more');
    await both(['one\ntwo more and more', 'zero']);
});

test('a viewer who types or runs is told why nothing happens; a second tab of one browser is nobody else', async () => {
    await run('x = 1');
    await ran(1);
    const guest = await guestBy('view');
    await guest.locator('.row').nth(1).click();
    await ran(1, guest);
    const told = guest.locator('.notice', { hasText: 'lets you view the notebook, not change it' });
    for (const key of ['q', 'Shift+Enter']) {
        await guest.locator('.cell').first().focus();
        await guest.keyboard.press(key);
        await told.waitFor();
        // The notice may just have closed by itself.
        await guest.locator('.notice button').evaluateAll((all) => all[0]?.click());
        await told.waitFor({ state: 'hidden' });
    }
    await guest.locator('.cell .cm-content').first().click();
    await guest.keyboard.type('import');
    await told.waitFor();
    await shot(guest, 'view-only');

    const tab = await page.context().newPage();
    await tab.goto(server.url);
    await tab.waitForSelector('.notebook[aria-busy="false"]');
    const avatars = (on) => on.locator('.avatars > .avatar').count();
    await becomes(() => avatars(guest), 2);
    for (const one of [page, tab]) await becomes(() => avatars(one), 1);
    await avatar(guest, 'Owner is at cell 1').first().waitFor();
});

test('a guest who reloads the page is listed once', nightly(), async () => {
    const other = await guestBy('view');
    await avatar(page, /Guest \d is at the start/).waitFor();
    await other.reload();
    await other.waitForSelector('.notebook[aria-busy="false"]');
    await avatar(page, /is at the start/).waitFor();
    await page.waitForFunction(() => document.querySelectorAll('.avatars > .avatar').length === 1);
});

test(
    'with many people, a number stands for the others, and its list shows where each of them is',
    nightly(),
    async () => {
        const guests = [];
        for (let i = 0; i < 6; i += 1)
            guests.push(await guestBy('view', { viewport: { width: 500, height: 400 } }));
        await page.locator('.avatars').getByText('+3').waitFor();
        await shot(page, 'many-people');
        await page.getByRole('button', { name: '6 other people are viewing this notebook' }).click();
        assert.equal(await page.getByRole('menuitem', { name: /the start/ }).count(), 6);
        await shot(page, 'many-people-list');
        await page.keyboard.press('Escape');
        await page.setViewportSize({ width: 360, height: 640 });
        await shot(page, 'many-people-360');
        assert.ok(
            await page.evaluate(() => document.documentElement.scrollWidth <= 360),
            'nothing is wider than the phone',
        );
        await page.getByRole('button', { name: '6 other people are viewing this notebook' }).click();
        await page.getByRole('menuitem', { name: /Guest 3/ }).waitFor();
        await shot(page, 'many-people-360-list');
    },
);

test(
    'when two people type into one draft, both get the same text, nothing is lost and no cursor jumps',
    nightly(),
    async () => {
        await page.setViewportSize({ width: 916, height: 720 });
        const other = await guestBy('run', { viewport: { width: 916, height: 720 } });
        await focused([0, 'editor']);
        await page.keyboard.insertText('first = 1\n\n\n\nlast = 2');
        await sees('last = 2', other);
        await page.keyboard.press('Control+Home');
        await page.keyboard.press('End');
        await other.locator('.cell').first().locator('.cm-content').click();
        await other.keyboard.press('Control+End');
        const [mine, theirs] = [' + ada_types_this_in_the_first_line', ' + bob_types_that_in_the_last_line'];
        await Promise.all([
            page.keyboard.type(mine, { delay: 35 }),
            other.keyboard.type(theirs, { delay: 45 }),
        ]);
        const wanted = `first = 1${mine}\n\n\n\nlast = 2${theirs}`;
        await shotOfBoth(page, other, 'typing-together');
        for (const one of [page, other])
            await one.waitForFunction(
                (text) =>
                    [...document.querySelectorAll('.cell .cm-content')][0].innerText
                        .replace(/\n\n/g, '\n')
                        .includes(text.split('\n')[0]) &&
                    document.querySelector('.cell .cm-content').innerText.includes(text.split('\n').at(-1)),
                wanted,
            );
        // Each cursor is still where its user was typing.
        await Promise.all([page.keyboard.type('!'), other.keyboard.type('?')]);
        for (const one of [page, other]) {
            await sees(`${mine}!`, one);
            await sees(`${theirs}?`, one);
        }
        assert.equal(await body(page), await body(other));
        assert.equal(await page.locator('.notice[data-open]').count(), 0, 'no notice about visible changes');
    },
);

test('two people edit a cell that ran; the edit is there after both have left, and goes with a run of the cell above', async () => {
    const other = await guestBy('run');
    for (const [i, code] of ['x = 1', 'y = x', 'print(y)'].entries()) {
        await run(code);
        await ran(i + 1);
    }
    await other.locator('.row').last().click();
    await ran(3, other);
    const code = (nth, on = page) => on.locator('.cell').nth(nth).locator('.cm-content');
    const edited = (on = page) => texts('.cell[data-edited] .cm-content', on);
    await code(1).click();
    await page.keyboard.press('End');
    await page.keyboard.type('  # one');
    await becomes(() => edited(other), ['y = x  # one']);
    await code(1, other).click();
    await other.keyboard.press('Home');
    await other.keyboard.type('z = ');
    const both = ['z = y = x  # one'];
    await becomes(edited, both);
    await becomes(() => edited(other), both);
    await other.close();
    await page.close();
    const again = await open(server.url);
    await becomes(() => edited(again), both);
    await again.locator('.cell').first().locator('.cm-content').click();
    await again.keyboard.press('End');
    await again.keyboard.type('0');
    await again.keyboard.press('Control+Enter');
    await becomes(
        () => texts('.cell[data-kind="draft"]:not([data-fresh]) .source > .editor', again),
        [both[0], 'print(y)'],
    );
});

test('each person sees the other’s caret, with its colour and name', nightly(), async () => {
    await page.setViewportSize({ width: 916, height: 720 });
    const other = await guestBy('run', { viewport: { width: 916, height: 720 } });
    await callMe('Ada Lovelace', page);
    await page.locator('.cell').first().locator('.cm-content').click();
    await page.keyboard.insertText('alpha = 1\nbeta = 2');
    await sees('beta = 2', other);
    await other.locator('.cell').first().locator('.cm-content').click();
    await focused([0, 'editor'], other);
    await other.keyboard.press('Control+Home');
    /** The text before the other user's caret in its line. */
    const before = (on) =>
        on.evaluate(() => {
            const caret = document.querySelector('.remote-caret');
            const line = caret?.closest('.cm-line');
            if (!caret || !line) return null;
            const range = document.createRange();
            range.setStart(line, 0);
            range.setEndBefore(caret);
            return `${caret.dataset.name}: ${range.toString()}`;
        });
    await becomes(() => before(other), 'Ada Lovelace: beta = 2');
    await becomes(async () => (await before(page))?.replace(/Guest \d/, 'Guest'), 'Guest: ');
    const colour = (on, what) => on.locator(what).first().getAttribute('data-colour');
    assert.equal(await colour(other, '.remote-caret'), await colour(other, '.avatars > .avatar'));
    await shotOfBoth(page, other, 'carets');
});

test('when two people type at the same place, the words of both stay whole', nightly(), async () => {
    const other = await guestBy('run');
    await focused([0, 'editor']);
    await page.keyboard.insertText('# ');
    await sees('#', other);
    await other.locator('.cell').first().locator('.cm-content').click();
    await other.keyboard.press('Control+End');
    const words = ['theQuickBrownFoxJumps', 'IMPORT_PANDAS_AS_PD'];
    await Promise.all([
        page.keyboard.type(words[0], { delay: 40 }),
        other.keyboard.type(words[1], { delay: 40 }),
    ]);
    const length = 2 + words.join('').length;
    for (const one of [page, other])
        await one.waitForFunction(
            (n) => document.querySelector('.cell .cm-content').innerText.trim().length === n,
            length,
        );
    const text = await body(page);
    assert.equal(await body(other), text);
    assert.deepEqual([...text].sort(), [...`# ${words.join('')}`].sort());
    for (const word of words) assert.ok(text.includes(word), text);
});

test('an address that names no state opens the newest one, and says so', async () => {
    await run('x = 1');
    await ran(1);
    for (const address of ['%E0%A4%A', 'gone']) {
        const other = await open(`${server.url}#${address}`);
        await ran(1, other);
        const said = other.locator('.notice', { hasText: 'The state of this address was deleted' });
        if (address === 'gone') await said.waitFor();
    }
});

testOnOwnServer(
    'a state has one name: in the graph, tabs, Next, Compare, the table, a share link and presence',
    async () => {
        await run('data = [3, 1, 2]');
        await ran(1);
        for (const kind of ['min', 'max']) {
            await page.locator('.row').nth(1).click();
            await ran(1);
            await run(`result = ${kind}(data)`);
            await ran(2);
        }
        const name = 'result = max(data)';
        const isNamed = (selector) => page.locator(selector, { hasText: name }).first().waitFor();
        await isNamed('.row[data-here] .what');
        await isNamed('.branch-tab[aria-selected="true"]');
        const guest = await guestBy('view');
        await guest.locator('.row', { hasText: name }).click();
        await avatar(page, `is at cell 2, “${name}”`).waitFor();
        await page.getByRole('button', { name: 'Share' }).click();
        await page.getByText(`The link opens at cell 2, “${name}”.`).waitFor();
        await page.keyboard.press('Escape');
        await page.getByRole('button', { name: 'Compare', exact: true }).click();
        await isNamed('.side-card[data-side="b"] .card-code');
        await page.keyboard.press('Escape');
        await page.getByRole('button', { name: 'Table of branches' }).click();
        await isNamed('.branch-name');
        await page.keyboard.press('Escape');
        await page.locator('.row').nth(1).click();
        await isNamed('.after button');

        // A guest who may only view sees variables in the table, and no expressions.
        await guest.evaluate(() => (location.hash = 'branches?column=result&column=result%2B1'));
        const value = (text) => guest.locator('.branches [data-value]', { hasText: text });
        for (const text of ['3', '1']) await value(new RegExp(`^${text}$`)).waitFor();
        await guest
            .locator('.branches .pending', { hasText: 'Only people who may run cells' })
            .first()
            .waitFor();
    },
);

testOnOwnServer('a link can be created, copied, used and revoked; its users then lose access', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await three();
    await page.getByRole('button', { name: 'Share' }).click();
    await page.getByRole('radio', { name: /can run/ }).check();
    await page.getByText(/Runs code on this machine/).waitFor();
    await shot(page, 'share-run');
    await page.getByText('Only this machine can open the link, because its address is 127.0.0.1').waitFor();
    await page.getByText('How others can open it').click();
    await page.getByRole('button', { name: 'Copy: SSH tunnel command' }).click();
    await page.getByRole('button', { name: 'Copied: SSH tunnel command' }).waitFor();
    const { port } = new URL(page.url());
    assert.equal(
        await page.evaluate(() => navigator.clipboard.readText()),
        `ssh -N -L ${port}:127.0.0.1:${port} USER@HOST`,
    );
    await shot(page, 'share-reach');
    await page.getByRole('radio', { name: /can view/ }).check();
    await page.getByText('The link opens at cell 3, “x = x + 1”.').waitFor();
    await page.getByLabel('Valid for').selectOption({ label: '1 day' });
    await page.getByRole('textbox', { name: 'Note' }).fill('for Grace');
    await page.keyboard.press('Enter');
    await page.getByText('The link is copied. It will not be shown again.').waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(await page.getByLabel('Link', { exact: true }).inputValue(), link);
    await page.locator('dialog li', { hasText: /can view for Grace.*valid until.*never used/ }).waitFor();
    await shot(page, 'share-made');
    const guest = await open(link);
    await ran(3, guest);
    await avatar(page, 'Guest 1 is at cell 3').waitFor({ state: 'attached' });
    await page.setViewportSize({ width: 360, height: 740 });
    await shot(page, 'share-360');
    assert.ok(await page.evaluate(() => document.querySelector('dialog').scrollWidth <= 360));
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 1000, height: 820 });
    await shot(page, 'share-dark');
    await page.getByRole('button', { name: 'Revoke: can view, for Grace' }).click();
    await page.getByText('Link revoked. Its users are disconnected.').waitFor();
    if (!isReal) return;
    await guest.locator('.banner', { hasText: 'access to this notebook has ended' }).waitFor();
    await page.waitForSelector('.avatars', { state: 'detached' });
    await shot(guest, 'revoked');
    forgive(guest, /WebSocket|status of 401/);
});

/**
 * The names of all visible controls. Menus and panels contain more controls, visible once opened.
 */
const pressable = (on) =>
    on.$$eval('button:not(:disabled), [role="menuitem"], summary', (all) =>
        all
            .filter((one) => one.checkVisibility())
            .map((one) => one.getAttribute('aria-label') ?? one.textContent.trim()),
    );

test('a viewer has no control that does not work', nightly(), async () => {
    await run('x = 1\nprint("one")');
    await ran(1);
    await run('1/0');
    await page.waitForSelector('[data-status="error"]');
    const guest = await guestBy('view');
    await guest.context().grantPermissions(['notifications']);
    await guest.locator('.row').nth(1).click();
    await ran(1, guest);
    await allParts(guest);
    const pressed = new Set();
    const refused = () => guest.locator('.notice[data-bad]').count();
    for (let rounds = 0; rounds < 60; rounds += 1) {
        const next = (await pressable(guest)).find((name) => !pressed.has(name) && name !== 'Ratoon');
        if (next === undefined) {
            // Search once more: closed menus may contain controls that were not pressed.
            if (rounds > 0 && pressed.has('again')) break;
            pressed.add('again');
            continue;
        }
        pressed.add(next);
        const found = await guest.evaluateHandle(
            (name) =>
                [...document.querySelectorAll('button:not(:disabled), [role="menuitem"], summary')].find(
                    (one) =>
                        one.checkVisibility() &&
                        (one.getAttribute('aria-label') ?? one.textContent.trim()) === name,
                ),
            next,
        );
        // Also press controls that are visible only under the pointer.
        await found.evaluate((one) => one?.click());
        // Wait until a menu or panel has opened.
        await guest.evaluate(
            () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
        );
        assert.equal(await refused(), 0, next);
        await guest.keyboard.press('Escape');
        if (/More|others/.test(next)) {
            for (const item of await openMenu(guest, next)) {
                await guest.getByRole('menuitem', { name: item }).first().click();
                await guest.keyboard.press('Escape');
                assert.equal(await refused(), 0, item);
                await openMenu(guest, next);
            }
            await guest.keyboard.press('Escape');
        }
    }
    assert.ok(pressed.size >= 4, [...pressed].join());
    for (const bad of [/delete/i, /^run/i, /share/i, /reset/i, /remove/i, /label/i, /unload/i, /undo/i]) {
        assert.deepEqual(
            [...pressed].filter((name) => bad.test(name)),
            [],
            'no control for an action that viewers may not perform',
        );
    }
    // The palette offers nothing else.
    const at = guest.url();
    const palette = async () => {
        // Close what the previous entry opened, and return from where it navigated.
        await guest.keyboard.press('Escape');
        if (guest.url() !== at) {
            await guest.goto('about:blank');
            await guest.goto(at);
            await ran(1, guest);
            await allParts(guest);
        }
        await guest.locator('.cell').first().focus();
        await guest.keyboard.press('F1');
        await guest.locator('#commands').waitFor();
        return texts('#commands .title', guest);
    };
    for (const title of new Set(await palette())) {
        assert.doesNotMatch(title, /delete|^run|insert|remove|\bcut\b|paste|replace|reset|convert|heading/i);
        await guest.locator('#commands .title', { hasText: title }).first().click();
        await guest.keyboard.press('Escape');
        assert.equal(await refused(), 0, title);
        await palette();
    }
    await guest.keyboard.press('Escape');
    // Keys, on cells and on the graph.
    if (!(await guest.locator('#graph').count())) await guest.getByTitle('Graph of states').click();
    for (const place of ['.cell', '#graph']) {
        await guest.locator(place).first().focus();
        for (const key of [
            'a',
            'b',
            'x',
            'c',
            'v',
            'z',
            'm',
            'y',
            'd',
            'd',
            'Delete',
            'Backspace',
            'Shift+Enter',
            'Control+Enter',
            'Control+.',
            'Control+s',
            'Enter',
            'Escape',
            'ArrowDown',
            'ArrowUp',
            'g',
            '0',
            '0',
            'i',
            'i',
            '?',
        ]) {
            await guest.keyboard.press(key);
            assert.equal(await refused(), 0, `${place} ${key}`);
        }
        await guest.keyboard.press('Escape');
    }
    assert.deepEqual(await rows(guest), await rows(page), 'nothing has changed');
    assert.equal(
        await page.locator('.cell[data-kind="draft"]').count(),
        (await page.locator('.cell[data-fresh]').count()) + 1,
        'only the failed draft and the empty cell',
    );
});

async function openMenu(on, name) {
    const button = on.getByRole('button', { name, exact: true });
    if ((await button.getAttribute('aria-expanded')) !== 'true') await button.click();
    // The menu may still be loading.
    await on.getByRole('menuitem').first().waitFor();
    return texts('[role="menuitem"]', on);
}

test('a user who may only run cells is not offered the owner’s actions', nightly(), async () => {
    await run('x = 1');
    await ran(1);
    await run('1/0');
    await page.waitForSelector('[data-status="error"]');
    const guest = await guestBy('run');
    await guest.locator('.row').nth(1).click();
    await ran(1, guest);
    const items = await openMenu(guest, 'More');
    assert.ok(items.includes('Your name…') && !items.some((one) => /Reset/.test(one)), items.join());
    await guest.keyboard.press('Escape');
    const cells = await guest.locator('.cell').count();
    for (let cell = 0; cell < cells; cell += 1) {
        const menu = guest.locator('.cell').nth(cell).getByLabel('Cell actions');
        if (!(await menu.count())) continue;
        await guest.locator('.cell').nth(cell).hover();
        await menu.click();
        await guest.getByRole('menuitem').first().waitFor();
        assert.deepEqual(
            (await texts('[role="menuitem"]', guest)).filter((one) => /Delete(?! draft)|Reset/.test(one)),
            [],
        );
        await guest.keyboard.press('Escape');
    }
});

test('a deletion of states can be undone; a subtree is deleted as a whole', async () => {
    await three();
    await choose(1, 'Delete this state and the one below');
    await page.locator('.notice', { hasText: 'Deleted 2 states.' }).waitFor();
    await ran(1);
    await shot(page, 'deleted');
    await page.getByRole('button', { name: 'Undo' }).click();
    await ran(3);
    assert.equal((await rows()).length, 4);
    await choose(2, 'Delete this state');
    await ran(2);
    await choose(0, 'Delete this state and the one below');
    await page.waitForFunction(() => document.querySelectorAll('.cell[data-kind="ran"]').length === 0);
    // Leaving the page before the time for Undo is over completes the deletion.
    await page.reload();
    await page.waitForSelector('.notebook[aria-busy="false"]');
    await page.waitForFunction(() => document.querySelectorAll('.row').length === 1);
});

test('Ctrl-Z where nothing can be typed undoes a deletion, and changes no editor', async () => {
    await three();
    const codes = await texts('.cell .cm-content');
    // The browser would undo what was typed last.
    await page.locator('.cell[data-fresh] .cm-content').click();
    await page.keyboard.type('typed = 1');
    await page.locator('.row').nth(1).click({ button: 'right' });
    await page.getByRole('menuitem', { name: 'Delete this state' }).first().click();
    await page.locator('.notice', { hasText: 'Deleted 1 state.' }).waitFor();
    const left = (await rows()).length;
    // Others continue from the cell, so it stays on the page, marked.
    await page.locator('.cell[data-deleted]', { hasText: 'Deleted. The cells below' }).waitFor();
    await page.locator('#graph').focus();
    await page.keyboard.press('Control+z');
    await page.waitForFunction((n) => document.querySelectorAll('.row').length === n, left + 1);
    await page.locator('.cell[data-deleted]').waitFor({ state: 'detached' });
    await page.locator('header h1').click();
    for (const key of ['Control+z', 'Control+Shift+z', 'Control+y']) await page.keyboard.press(key);
    assert.deepEqual(await texts('.cell .cm-content'), [...codes.slice(0, 3), 'typed = 1', codes[3]]);
});

test('a failed attempt returns to the graph with the state that it ran on', { skip: !isReal }, async () => {
    await three();
    await run('1 / 0');
    await page.locator('.row', { hasText: '1 / 0' }).waitFor();
    const all = await rows();
    await choose(1, 'Delete this state and the one below');
    await ran(1);
    await page.evaluate(() => dispatchEvent(new Event('beforeunload')));
    await page.locator('.notice[data-open]').waitFor({ state: 'detached' });
    await page.locator('.cell').first().focus();
    await page.keyboard.press('z');
    await ran(3);
    await becomes(rows, all);
});

test(
    'a deletion is undone by a key when its notice is gone, also in the graph, or from the list of deleted states',
    nightly({
        skip: !isReal,
    }),
    async () => {
        await three();
        const commit = async () => {
            await page.locator('.notice[data-open]').waitFor();
            await page.evaluate(() => dispatchEvent(new Event('beforeunload')));
            await page.locator('.notice[data-open]').waitFor({ state: 'detached' });
        };
        await choose(1, 'Delete this state and the one below');
        await ran(1);
        await commit();
        await page.locator('.cell').first().focus();
        await page.keyboard.press('z');
        await ran(3);
        // Shift-z deletes them again, as the step that it was.
        await page.keyboard.press('Shift+Z');
        await page.locator('.notice[data-open]', { hasText: 'Deleted 2 states.' }).waitFor();
        await ran(1);
        await page.locator('.cell').first().focus();
        await page.keyboard.press('z');
        await ran(3);
        await page.locator('#graph').focus();
        await page.keyboard.press('Delete');
        await ran(2);
        await commit();
        await page.keyboard.press('z');
        await ran(3);
        await choose(1, 'Delete this state and the one below');
        await ran(1);
        await page.getByRole('button', { name: 'More', exact: true }).click();
        await page.getByRole('menuitem', { name: 'Deleted states…' }).click();
        const list = page.getByRole('dialog');
        await list.getByText('2 states').waitFor();
        await shot(page, 'deleted-states');
        await list.getByRole('button', { name: /^Restore 2 states/ }).click();
        // The dialog stays, for another restore, and so does the page.
        await list.getByText('Restored.').waitFor();
        await ran(1);
        await becomes(async () => (await rows()).length, 4);
        await list.getByRole('button', { name: /^Go to 2 states/ }).click();
        await list.waitFor({ state: 'detached' });
        await ran(3);
    },
);

test('commands sent just before the page closes are carried out, even if the connection loses them', {
    skip: !isReal,
}, async () => {
    await three();
    const other = await open('about:blank', {}, false);
    let isDeaf = false;
    await other.routeWebSocket(/\/ws\//, (socket) => {
        const line = socket.connectToServer();
        socket.onMessage((message) => isDeaf || line.send(message));
    });
    await other.goto(server.url);
    await other.waitForSelector('.notebook[aria-busy="false"]');
    await ran(3, other);
    isDeaf = true;
    await choose(0, 'Delete this state and the 2 below', other);
    await ran(0, other);
    await other.locator('.cell[data-fresh] .editor').click();
    await other.keyboard.type('the last words');
    await other.goto('about:blank');
    await page.waitForFunction(() => document.querySelectorAll('.row').length === 1);
    await sees('the last words');
});

test(
    'a link shows its state in the viewport, even if the outputs above it get their height late',
    nightly({
        skip: !isReal,
    }),
    async () => {
        await run('from IPython.display import HTML\nHTML("<p style=\'height:900px\'>tall</p>")');
        await ran(1);
        // Use keys: just after scrolling, Chromium may send a click to the frame that was at that
        // point before.
        await page.keyboard.insertText('print("the end of the link")');
        await page.keyboard.press('Shift+Enter');
        await ran(2);
        const other = await open(`${server.url}${new URL(page.url()).hash}`, {
            viewport: { width: 900, height: 600 },
        });
        await prints('the end of the link', other);
        await other.waitForFunction(() => document.querySelector('main').scrollHeight > 1000);
        await other.waitForFunction(() => {
            const box = [...document.querySelectorAll('.stream')].at(-1).getBoundingClientRect();
            return box.bottom <= innerHeight && box.top > 0;
        });
    },
);

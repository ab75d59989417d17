// The graph in a real browser: on the stand-in, which can hold any notebook, and also on the binary
// if RATOON_BIN names one.

import assert from 'node:assert/strict';
import { becomes, nightly } from './browser.mjs';
import { afternoon, notebook, short, tenThousand, thousand } from './graph-fixture.mjs';
import { focused, open, page, ran, rows, run, test, testWithoutPage, texts } from './harness.mjs';
import { start } from './mock.mjs';

/** Opens a page on a notebook of the stand-in, at one of its states. */
async function at(fixture, state, t, options, change) {
    const other = await start(0, fixture);
    t.after(() => other.stop());
    change?.(other.notebook);
    const one = await open(`${other.url}#${state}`, options);
    await one.waitForSelector(`.row[data-node="${state}"][data-here]`);
    return Object.assign(one, { server: other });
}

const row = (id, on) => on.locator(`.row[data-node="${id}"]`);
const here = (id, on) => on.waitForSelector(`.row[data-node="${id}"][data-here]`);
const cursor = (on) =>
    on.$eval(
        '#graph',
        (graph) => document.getElementById(graph.getAttribute('aria-activedescendant'))?.dataset.node ?? null,
    );
const walk = async (on, key, id) => {
    await on.keyboard.press(key);
    await on.waitForFunction(
        (wanted) =>
            document.getElementById(document.getElementById('graph').getAttribute('aria-activedescendant'))
                ?.dataset.node === wanted,
        id,
    );
};

testWithoutPage(
    'the card beside the graph describes a state, and stays while the pointer is in it',
    async (t) => {
        const one = await at(short(), 'f', t);
        await row('j', one).hover();
        await one.waitForSelector('.node-card');
        const text = await one.locator('.node-card').textContent();
        for (const word of [
            'Cell 5',
            'model = fit(df, depth=9)',
            '+new: model',
            '2 min 11 s',
            'minutes ago',
            'In memory · 1.8 GB',
            'holds a live thread',
        ])
            assert.ok(text.includes(word), `${word} in ${text}`);
        assert.ok(await one.locator('.node-card [data-code="number"]', { hasText: '9' }).count());
        const [card, graph] = await Promise.all(
            ['.node-card', '#graph'].map((name) => one.locator(name).boundingBox()),
        );
        assert.ok(card.x >= graph.x + graph.width, 'it does not cover the graph');
        await one.locator('.node-code').hover();
        await row('j', one).hover();
        await one.locator('.node-code').hover();
        assert.equal(await one.locator('.node-card').count(), 1);
        await row('b', one).hover();
        await one.waitForFunction(() =>
            document.querySelector('.node-card')?.textContent.includes('read_csv'),
        );
        await one.locator('main').hover({ position: { x: 800, y: 600 } });
        await one.waitForSelector('.node-card', { state: 'detached' });
    },
);

testWithoutPage(
    'what is typed after a click on a state is code in the empty cell, also after “New branch from here”',
    async (t) => {
        const one = await at(short(), 'f', t);
        await row('i', one).click();
        await here('i', one);
        // `p`, `l`, `t` and `f` are shortcuts while the graph has the focus.
        await one.keyboard.type('plt.title("f")');
        await becomes(
            () => texts('.cell[data-kind="draft"]:not([data-fresh]) .cm-content', one),
            ['plt.title("f")'],
        );
        await row('j', one).hover();
        await one.locator('.node-card').getByRole('button', { name: 'New branch from here' }).click();
        await here('j', one);
        await focused([5, 'editor'], one);
        assert.equal(await one.locator('.node-card').count(), 0);
        await row('e', one).dblclick();
        await here('e', one);
        await focused([5, 'editor'], one);
        assert.equal(await one.locator('.cell[data-kind="ran"]').count(), 5, 'nothing has run');
    },
);

testWithoutPage('the card of a failed attempt shows its error and can delete it', nightly(), async (t) => {
    const one = await at(short(), 'f', t);
    await one.clock.install();
    const attempt = one.locator('.row[data-status="error"]');
    await attempt.hover();
    await one.waitForSelector('.node-card');
    const text = await one.locator('.node-card').textContent();
    assert.match(text, /Attempt.*failed.*depth=\).*ValueError: could not convert/s);
    assert.doesNotMatch(text, /New branch/);
    await one.locator('.node-card').getByRole('button', { name: 'Delete failed attempt' }).click();
    await attempt.waitFor({ state: 'detached' });
});

testWithoutPage('a card that a key opens has the focus, however long it takes to load', async (t) => {
    const other = await start(0, short());
    t.after(() => other.stop());
    const one = await open('about:blank', {}, false);
    /** @type {(value?: any) => void} */
    let release = () => {};
    const held = new Promise((done) => (release = done));
    await one.route('**/notebook-later.js', async (route) => (await held, route.continue()));
    await one.goto(`${other.url}#f`);
    await here('f', one);
    await one.locator('#graph').focus();
    const asked = one.waitForRequest('**/notebook-later.js');
    await one.keyboard.press('Space');
    await asked;
    // The graph paints again while the card loads.
    await one.setViewportSize({ width: 1270, height: 790 });
    await one.waitForFunction(() => new Promise((done) => requestAnimationFrame(() => done(true))));
    release();
    await one.waitForFunction(() => document.activeElement?.closest('.node-card'));
});

testWithoutPage(
    'keys move through the graph, go to a state, continue there, and open its card and menu',
    async (t) => {
        const one = await at(short(), 'f', t);
        await one.locator('#graph').focus();
        assert.equal(await cursor(one), 'f');
        await walk(one, 'ArrowUp', 'e');
        await walk(one, 'Home', 'initial');
        await walk(one, 'ArrowRight', 'a');
        await walk(one, 'End', 'f');
        for (const id of ['e', 'd']) await walk(one, 'ArrowLeft', id);
        await walk(one, ']', 'g');
        await walk(one, 'ArrowDown', 'run-g2');
        await walk(one, ']', 'h');
        await walk(one, ']', 'j');
        await walk(one, '[', 'h');
        await walk(one, 'Alt+ArrowDown', 'j');
        await walk(one, 'Alt+ArrowUp', 'h');
        await one.keyboard.press('Enter');
        await here('h', one);
        await one.keyboard.press('Space');
        await one.waitForFunction(() => document.activeElement.closest('.node-card'));
        await one.keyboard.press('Escape');
        await one.waitForSelector('.node-card', { state: 'detached' });
        assert.equal(await one.evaluate(() => document.activeElement.id), 'graph');
        await one.keyboard.press('p');
        await row('h', one).locator('.pinned').waitFor();
        await one.keyboard.press('l');
        await one.locator('dialog input').fill('three');
        await one.keyboard.press('Enter');
        await row('h', one).locator('.what', { hasText: 'three' }).waitFor();
        await one.waitForSelector('dialog', { state: 'detached' });
        await one.locator('#graph').focus();
        await one.keyboard.press('Shift+F10');
        await one.getByRole('menu').waitFor();
        assert.deepEqual(
            (await texts('.graph-menu [role="menuitem"]', one))
                .map((text) => text.replace(/\s*Go to this state and.*/, ''))
                .slice(0, 2),
            ['New branch from here', 'Label…'],
        );
        await one.keyboard.press('Escape');
        assert.equal(await one.getByRole('menu').count(), 0);
        await one.keyboard.press('Enter');
        await focused([5, 'editor'], one);
    },
);

testWithoutPage('a right click opens the menu at the pointer, within the window', async (t) => {
    const one = await at(short(), 'f', t, { viewport: { width: 1000, height: 500 } });
    await row('i', one).click({ button: 'right' });
    const box = await one.getByRole('menu').boundingBox();
    assert.ok(box.y + box.height <= 500);
    await one.getByRole('menuitem', { name: 'Delete this state' }).click();
    // The page either asks first, or offers Undo in a notice.
    await one.waitForFunction(
        () => document.querySelector('dialog[open]') || document.querySelector('.notice[data-open]'),
    );
});

testWithoutPage(
    'a search finds the cell that changed a variable, and shows only what it finds',
    async (t) => {
        const one = await at(afternoon(), 'note2', t);
        assert.equal(await row('cols', one).count(), 0, 'folded');
        await one.locator('#graph').focus();
        await one.keyboard.press('/');
        await one.keyboard.insertText('var:cols');
        await row('cols', one).locator('.changes', { hasText: 'changes cols' }).waitFor();
        assert.equal(await one.locator('.graph-found').textContent(), '1 of 1');
        assert.equal(await row('cols', one).getAttribute('data-dim'), null);
        assert.deepEqual(
            await one.$$eval('.row', (all) => all.map(({ dataset }) => [dataset.node, dataset.dim])),
            [
                ['initial', ''],
                ['cols', undefined],
                ['note2', ''],
            ],
            'the start and the current state stay, dimmed',
        );
        await one.keyboard.press('Escape');
        await row('cols', one).waitFor({ state: 'detached' });
        await one.keyboard.insertText('df');
        await one.waitForSelector('.row[data-cursor][data-node="log"]');
        await one.keyboard.press('Enter');
        await one.waitForSelector('.row[data-cursor][data-node="clean"]');
        await one.keyboard.press('Shift+Enter');
        await one.waitForSelector('.row[data-cursor][data-node="log"]');
        await one.keyboard.press('Escape');
        await one.keyboard.insertText('failed');
        await one.waitForFunction(() => document.querySelector('.graph-found')?.textContent === '1 of 5');
        await one.keyboard.press('Escape');
        await one.keyboard.press('Escape');
        assert.equal(await one.evaluate(() => document.activeElement.id), 'graph');
    },
);

testWithoutPage(
    'a long linear section is one row until it is unfolded, and the tab remembers it',
    async (t) => {
        const one = await at(afternoon(), 'note2', t);
        const before = (await rows(one)).length;
        assert.deepEqual(await texts('.row[data-fold]', one), ['6 cells', '4 cells']);
        await one.locator('.row[data-fold]').first().click();
        await row('head', one).waitFor();
        assert.equal((await rows(one)).length, before + 5);
        await one.reload();
        await row('head', one).waitFor();
        await one.getByRole('button', { name: 'Unfold all' }).click();
        await one.waitForFunction(() => !document.querySelector('.row[data-fold]'));
        await one.getByRole('button', { name: 'Fold unbranched cells' }).click();
        await one.waitForFunction(() => document.querySelectorAll('.row[data-fold]').length === 2);
        await one.locator('#graph').focus();
        await one.keyboard.press('Home');
        for (let i = 0; i < 4; i += 1) await one.keyboard.press('ArrowDown');
        await one.keyboard.press('Enter');
        await row('head', one).waitFor();
    },
);

test('after a reload the graph shows the same rows in the same places', async () => {
    await page.setViewportSize({ width: 1280, height: 520 });
    for (let i = 1; i <= 30; i += 1) await run(`x = ${i}`);
    await ran(30);
    const seen = () =>
        page.$eval('#graph', (graph) => {
            const [box, rows] = [graph.getBoundingClientRect(), [...graph.querySelectorAll('.row')]];
            return rows
                .map((one) => ({ one, edge: one.getBoundingClientRect() }))
                .filter(({ edge }) => edge.bottom > box.top && edge.top < box.bottom)
                .map(({ one, edge }) => `${one.dataset.node} at ${Math.round(edge.top)}`);
        });
    await page.locator('#graph').hover();
    // To rows that only stay unfolded because they are in sight, and far from the current state.
    await page.mouse.wheel(0, -10_000);
    await becomes(() => page.$eval('#graph', (graph) => graph.scrollTop), 0);
    await page.mouse.wheel(0, 46);
    await becomes(() => page.$eval('#graph', (graph) => graph.scrollTop), 46);
    const before = await seen();
    await page.reload();
    await becomes(seen, before);
});

testWithoutPage('going to another branch moves no node; its line becomes broad', async (t) => {
    const one = await at(afternoon(), 'note2', t);
    const places = () =>
        one.$$eval('.row', (all) =>
            all.map(({ dataset, style }) => [dataset.node, style.top, style.paddingLeft]),
        );
    const before = await places();
    assert.equal(await row('rep', one).getAttribute('data-line'), null);
    await row('rep', one).click();
    await here('rep', one);
    assert.notEqual(await row('rep', one).getAttribute('data-line'), null);
    assert.deepEqual(await places(), before);
});

testWithoutPage(
    'what is below a state can be hidden by mouse, key and menu, and stays so',
    nightly(),
    async (t) => {
        const one = await at(afternoon(), 'note2', t);
        const isShown = (id) => row(id, one).count();
        await row('tree9', one).hover();
        await row('tree9', one).locator('.twist').click();
        await row('tree9s', one).waitFor({ state: 'detached' });
        assert.equal(await row('tree9', one).locator('.twist').textContent(), '8');
        await here('tree9', one).catch(() =>
            assert.fail('the row that hides the current state stands for it'),
        );
        assert.match(await row('tree9', one).getAttribute('aria-label'), /8 cells below hidden/);
        await one.reload();
        await row('tree9', one).waitFor();
        assert.equal(await isShown('tree9s'), 0, 'after a reload');
        await one.locator('#graph').focus();
        await one.keyboard.press('f');
        await row('tree9s', one).waitFor();
        await one.keyboard.press('f');
        await row('tree9s', one).waitFor({ state: 'detached' });
        await one.keyboard.press('ArrowRight');
        await row('tree9s', one).waitFor();
        await row('clean', one).click({ button: 'right' });
        await one.getByRole('menuitem', { name: 'Hide everything below' }).click();
        await row('feat', one).waitFor({ state: 'detached' });
        await one.getByRole('button', { name: 'Unfold all' }).click();
        await row('feat', one).waitFor();
        assert.equal(await isShown('tree9s'), 1);
    },
);

testWithoutPage(
    'a graph of many nested branches scrolls sideways, and shows the current state',
    async (t) => {
        const lines = [['n0', 'initial', 'x = 0']];
        for (let i = 1; i < 40; i += 1) {
            lines.push([`a${i}`, `n${i - 1}`, `x = ${i}`]);
            lines.push([`n${i}`, `n${i - 1}`, `y = ${i}`]);
        }
        const one = await at(notebook(lines), 'n39', t);
        const box = await one.locator('#graph').boundingBox();
        const what = await row('n39', one).locator('.what').boundingBox();
        assert.ok(what.x > box.x && what.x + 40 < box.x + box.width, `${what.x} in ${box.x}, ${box.width}`);
        assert.ok(await one.$eval('#graph', (graph) => graph.scrollLeft > 100));
        // The map shows all of it, with a frame around what the pane shows, and moves the pane.
        const map = one.locator('.minimap');
        await map.waitFor();
        const frame = () =>
            map.evaluate((element) => {
                const [all, part] = [element, element.querySelector('i')].map((one) =>
                    one.getBoundingClientRect(),
                );
                return [(part.left - all.left) / all.width, part.width / all.width].map((x) => x.toFixed(1));
            });
        const [left, width] = await frame();
        assert.ok(
            Number(left) + Number(width) >= 0.9,
            `the current state is at the right: ${left}, ${width}`,
        );
        if (process.env.SHOTS) await one.screenshot({ path: `${process.env.SHOTS}/minimap.png` });
        const { x, y, height } = await map.boundingBox();
        await one.mouse.move(x + 4, y + 4);
        await one.mouse.down();
        await one.waitForFunction(() => {
            const { scrollLeft, scrollTop } = document.getElementById('graph');
            return scrollLeft === 0 && scrollTop === 0;
        });
        await becomes(async () => (await frame())[0], '0.0');
        await one.mouse.move(x + 4, y + height - 4);
        await one.waitForFunction(() => document.getElementById('graph').scrollTop > 500);
        await one.mouse.up();
        await row('n39', one).hover();
        await one.mouse.wheel(-5000, 0);
        await one.waitForFunction(() => document.getElementById('graph').scrollLeft === 0);
    },
);

testWithoutPage('a warning that holds for a whole line is marked where it begins', nightly(), async (t) => {
    const one = await at(short(), 'f', t, {}, ({ states }) => {
        for (const id of ['j', 'k']) states.get(id).warnings = ['holds a live thread'];
    });
    await row('j', one).locator('.warned').waitFor();
    assert.equal(await row('k', one).locator('.warned').count(), 0);
    assert.match(await row('j', one).getAttribute('aria-label'), /has a warning/);
    assert.doesNotMatch(await row('k', one).getAttribute('aria-label'), /has a warning/);
});

testWithoutPage('a state with a plot shows a thumbnail', nightly(), async (t) => {
    const one = await at(short(), 'f', t);
    for (const id of ['d', 'k']) {
        await row(id, one).locator('.thumb').waitFor();
        const { width, height, source } = await row(id, one)
            .locator('.thumb')
            .evaluate((image) => ({
                width: image.naturalWidth,
                height: image.naturalHeight,
                source: image.src,
            }));
        assert.ok(width <= 80 && height <= 44 && width > 20, `${width} × ${height}`);
        assert.ok(source.startsWith('data:image/png') && source.length < 8000, `${source.length}`);
    }
    assert.equal(await one.locator('.thumb').count(), 2);
});

testWithoutPage('the graph shows who is at which state', async (t) => {
    const one = await at(short(), 'f', t, {}, (notebook) => {
        notebook.people = [
            { id: 'p1', number: 2, name: 'Ada', scope: 'run', state: 'h' },
            { id: 'p2', number: 1, name: null, scope: 'view', state: 'h' },
        ];
    });
    await row('h', one).locator('.standing i').nth(1).waitFor();
    assert.deepEqual(await texts('.row[data-node="h"] .standing i', one), ['A', 'G1']);
    assert.match(await row('h', one).getAttribute('aria-label'), /here: Ada, Guest 1/);
    while (!one.server.notebook.people.some(({ state }) => state === 'f')) await one.waitForTimeout(20);
    // The tab's own user is not listed among the others.
    await row('f', one).locator('.standing').waitFor({ state: 'detached' });
});

testWithoutPage('choosing a state to compare with marks both, and the current state stays', async (t) => {
    const one = await at(short(), 'f', t);
    await row('j', one).click({ modifiers: ['Shift'] });
    await one.waitForSelector('.row[data-compared][data-node="j"]');
    assert.deepEqual(await one.$$eval('.row[data-compared]', (all) => all.map((one) => one.dataset.node)), [
        'j',
        'f',
    ]);
    assert.match(await row('j', one).getAttribute('aria-label'), /compared/);
    await here('f', one);
    // The comparison view is loaded first and then takes the focus.
    await one.waitForFunction(() => document.activeElement.closest('.compare'));
    await one.locator('#graph').focus();
    await walk(one, 'ArrowUp', 'e');
    await one.keyboard.press('Shift+Enter');
    await one.waitForSelector('.row[data-compared][data-node="e"]');
    assert.deepEqual(await one.$$eval('.row[data-compared]', (all) => all.map((one) => one.dataset.node)), [
        'e',
        'f',
    ]);
});

testWithoutPage(
    'a deleted state has no row, and has it again when the deletion is undone',
    nightly(),
    async (t) => {
        const one = await at(short(), 'f', t);
        await one.locator('#graph').focus();
        await walk(one, 'Home', 'initial');
        await row('k', one).click();
        await here('k', one);
        await one.locator('#graph').focus();
        await one.keyboard.press('Delete');
        await row('k', one).waitFor({ state: 'detached' });
        await one.getByRole('button', { name: 'Undo' }).click();
        await row('k', one).waitFor();
    },
);

testWithoutPage('the width of the graph can be changed, and stays after a reload', nightly(), async (t) => {
    const one = await at(short(), 'f', t);
    const width = () => one.$eval('.graph-pane', (side) => side.offsetWidth);
    const before = await width();
    const grip = one.getByRole('separator', { name: 'Width of the graph' });
    await grip.focus();
    await one.keyboard.press('ArrowRight');
    assert.equal(await width(), before + 16);
    const box = await grip.boundingBox();
    await one.mouse.move(box.x + 3, 300);
    await one.mouse.down();
    await one.mouse.move(500, 300);
    await one.mouse.up();
    assert.ok(Math.abs((await width()) - 500) < 5);
    await one.reload();
    await one.waitForSelector('.row');
    assert.ok(Math.abs((await width()) - 500) < 5);
    await grip.dblclick();
    assert.equal(await width(), before);
});

testWithoutPage('on a phone a long press opens the card as a sheet', nightly(), async (t) => {
    const other = await start(0, short());
    t.after(() => other.stop());
    const one = await open(`${other.url}#f`, { viewport: { width: 360, height: 740 }, hasTouch: true });
    await one.getByTitle('Graph of states').tap();
    const { x, y } = await row('e', one).boundingBox();
    const touch = await one.context().newCDPSession(one);
    await touch.send('Input.dispatchTouchEvent', {
        type: 'touchStart',
        touchPoints: [{ x: x + 150, y: y + 15 }],
    });
    await one.waitForSelector('.node-card[data-sheet]');
    await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    const box = await one.locator('.node-card').boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 360 && box.y + box.height <= 740);
    await here('f', one);
    await one.locator('.node-card').getByRole('button', { name: 'Go to this state' }).tap();
    await one.waitForFunction(() => location.hash === '#e');
    await one.waitForSelector('.graph-pane', { state: 'detached' });
    assert.equal(await one.locator('.node-card').count(), 0);
});

testWithoutPage(
    'in a graph of a thousand states, a new state is scrolled into view, unless the user has scrolled away',
    nightly(),
    async (t) => {
        const one = await at(thousand(), 'n999', t);
        assert.ok((await one.locator('.row').count()) < 90, 'only rows near the screen are rendered');
        const isSeen = () =>
            one.evaluate(() => {
                const row = document.querySelector('.row[data-here]')?.getBoundingClientRect();
                const box = document.getElementById('graph').getBoundingClientRect();
                return row !== undefined && row.top >= box.top && row.bottom <= box.bottom;
            });
        assert.ok(await isSeen());
        await run('x = 1', 'Shift+Enter', one);
        await one.waitForFunction(
            () => document.querySelector('.row[data-here] .what')?.textContent === 'x = 1',
        );
        assert.ok(await isSeen());

        // A search that was left open has scrolled away, not the user.
        await one.locator('.graph-search input').fill('step_');
        await one.waitForFunction(() => document.querySelector('.graph-found')?.textContent.includes(' of '));
        await one.$eval('#graph', (box) => {
            box.scrollTop = 3000;
        });
        await one.waitForFunction(() => Number(document.querySelector('.row')?.dataset.row) > 20);
        await run('x = "searched"', 'Shift+Enter', one);
        await one.waitForFunction(
            () => document.querySelector('.row[data-here] .what')?.textContent === 'x = "searched"',
        );
        assert.ok(await isSeen());
        await one.locator('.graph-search input').fill('');
        await one.waitForFunction(() => !document.querySelector('.graph-found'));

        await one.$eval('#graph', (box) => {
            box.scrollTop = 300;
        });
        await one.waitForFunction(() => Number(document.querySelector('.row')?.dataset.row) < 5);
        await run('x = 2', 'Shift+Enter', one);
        await one.waitForFunction(
            () =>
                document.querySelector('.notebook').textContent.includes('x = 2') &&
                !document.querySelector('.cell[data-status="running"], .cell[data-status="queued"]'),
        );
        assert.equal(await one.$eval('#graph', (box) => box.scrollTop), 300, 'the scroll position stays');
    },
);

testWithoutPage('scrolling through ten thousand states shows no gap', nightly(), async (t) => {
    const one = await at(tenThousand(), 'n40', t);
    assert.ok(one, 'the page is open');
    await one.getByRole('button', { name: 'Unfold all' }).click();
    await one.waitForFunction(() => document.querySelector('.rows').style.height === `${10_000 * 30}px`);
    const { frames, long, blank } = await one.evaluate(async () => {
        const box = document.getElementById('graph');
        const times = [];
        let blank = 0;
        let before = performance.now();
        for (let i = 0; i < 180; i += 1) {
            await new Promise((done) => requestAnimationFrame(done));
            const now = performance.now();
            times.push(now - before);
            before = now;
            box.scrollTop -= 90;
            const edge = box.getBoundingClientRect();
            if (!document.elementFromPoint(edge.left + 150, edge.top + edge.height / 2)?.closest('.row'))
                blank += 1;
        }
        times.sort((a, b) => a - b);
        return { frames: times, long: times.filter((time) => time > 50).length, blank };
    });
    t.diagnostic(
        `frames: median ${frames[90].toFixed(1)} ms, 95 of 100 in ${frames[171].toFixed(1)} ms, longer than 50 ms: ${long} of 180`,
    );
    assert.equal(blank, 0, 'no gap is visible');
});

test('a new branch is announced, stands by its fork, and no other lane changes', async () => {
    await run('x = 1');
    await ran(1);
    await run('x = x + 1');
    await ran(2);
    await page.locator('.row').nth(1).click();
    await ran(1);
    const lanes = () =>
        page.$$eval('.row', (all) =>
            // A row also says how far its state is saved, which depends on the time.
            all.map((one) => [
                one.querySelector('.what').textContent,
                Number.parseFloat(one.style.paddingLeft),
            ]),
        );
    const before = await lanes();
    await run('x = 100');
    await ran(2);
    assert.deepEqual(await rows(), ['Start', 'x = 1', 'x = 100', 'x = x + 1']);
    const after = await lanes();
    assert.deepEqual(after.toSpliced(2, 1), before);
    assert.ok(after[2][1] > before[2][1], 'the branch has a lane of its own');
    await page.waitForFunction(() =>
        [...document.querySelectorAll('.graph-pane [role="status"]')].some(
            (one) => one.textContent === 'Cell 2 branches from cell 1.',
        ),
    );
});

test('a branch is kept and those beside it are deleted as one, by menu, key or palette; one Undo restores them', async () => {
    const grow = async (code) => {
        if ((await rows()).length > 2) {
            await page.locator('.row', { hasText: 'x = 1' }).click();
            await ran(1);
        }
        await run(code);
        await ran(2);
    };
    await run('x = 1');
    await ran(1);
    for (const code of ['y = 1', 'y = 2', '1 / 0', 'y = 3']) {
        if (code === '1 / 0') {
            await page.locator('.row', { hasText: 'x = 1' }).click();
            await ran(1);
            await run(code);
            await page.locator('.cell[data-status="error"]').waitFor();
            await page.locator('.row', { hasText: 'y = 2' }).click();
            await ran(2);
        } else await grow(code);
    }
    const all = (await rows()).toSorted();
    const cell = page.locator('.cell', { hasText: 'y = 3' });
    await cell.hover();
    await cell.getByRole('button', { name: 'Cell actions' }).click();
    const keep = page.getByRole('menuitem', { name: /^Keep this branch, delete 3 others/ });
    assert.match(await keep.textContent(), /Deletes 2 states.* Undo for 30 days\./);
    await keep.click();
    await page.locator('.notice', { hasText: 'Kept this branch, deleted 3 others.' }).waitFor();
    assert.deepEqual(await rows(), ['Start', 'x = 1', 'y = 3']);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.waitForFunction((n) => document.querySelectorAll('.row').length === n, all.length);
    assert.deepEqual((await rows()).toSorted(), all);

    // The key keeps the branch under the cursor. The page then shows it.
    await page.locator('.row', { hasText: 'y = 2' }).click();
    await ran(2);
    await page.locator('.row', { hasText: 'y = 3' }).click();
    await page.locator('.cell', { hasText: 'y = 3' }).waitFor();
    await page.locator('#graph').focus();
    for (const above of ['1 / 0', 'y = 2'])
        await walk(page, 'ArrowUp', await page.locator('.row', { hasText: above }).getAttribute('data-node'));
    await page.keyboard.press('k');
    await page.waitForFunction(() => document.querySelectorAll('.row').length === 3);
    assert.deepEqual(await rows(), ['Start', 'x = 1', 'y = 2']);
    // The page shows the branch that is kept.
    await becomes(() => texts('.cell[data-kind="ran"] .cm-content'), ['x = 1', 'y = 2']);
    // The deletion is sent when the page closes; the undo of the next page asks the server.
    await page.reload();
    await page.waitForSelector('.notebook[aria-busy="false"]');
    assert.deepEqual(await rows(), ['Start', 'x = 1', 'y = 2']);
    // The palette offers it where branches are.
    const found = async (word) => {
        await page.keyboard.press('Control+Shift+p');
        await page.keyboard.type(word);
        // Before the palette is open, it has not got the keys.
        await becomes(() => page.getByRole('combobox').inputValue(), word);
        const all = await page.locator('dialog [role="option"]').allTextContents();
        await page.keyboard.press('Escape');
        return all;
    };
    assert.ok(!(await found('prune')).some((text) => text.startsWith('Keep this branch')));
    for (const [word, text] of [
        ['fork', 'New branch from here'],
        ['experiment', 'Try variants'],
        ['go back', 'Go back to before this cell'],
        ['undo', 'Go back to before this cell'],
    ])
        assert.ok(
            (await found(word)).some((one) => one.startsWith(text)),
            word,
        );
});

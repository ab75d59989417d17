// The graph in a real browser: on the stand-in, which can hold any notebook, and also on the binary
// if RATOON_BIN names one.

import assert from 'node:assert/strict';
import { UNDO_MS } from '../../web/notebook/deletion.js';
import { afternoon, short, tenThousand, thousand } from './graph-fixture.mjs';
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
    'the card tells what a state is, beside the graph, and stays while the pointer is in it',
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
        assert.ok(card.x >= graph.x + graph.width, 'it covers nothing of the graph');
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
    'to look is not to continue: a click stays in the graph, “Continue here” leads to the empty cell',
    async (t) => {
        const one = await at(short(), 'f', t);
        await row('i', one).click();
        await here('i', one);
        assert.equal(await one.evaluate(() => document.activeElement.id), 'graph');
        await row('j', one).hover();
        await one.locator('.node-card').getByRole('button', { name: 'Continue here' }).click();
        await here('j', one);
        await focused([5, 'editor'], one);
        assert.equal(await one.locator('.node-card').count(), 0);
        await row('e', one).dblclick();
        await here('e', one);
        await focused([5, 'editor'], one);
        assert.equal(await one.locator('.cell[data-kind="ran"]').count(), 5, 'nothing has run');
    },
);

testWithoutPage('a failed attempt: its error, and that it can be forgotten', async (t) => {
    const one = await at(short(), 'f', t);
    await one.clock.install();
    const attempt = one.locator('.row[data-status="error"]');
    await attempt.hover();
    await one.waitForSelector('.node-card');
    const text = await one.locator('.node-card').textContent();
    assert.match(text, /Attempt.*failed.*depth=\).*ValueError: could not convert/s);
    assert.doesNotMatch(text, /Continue here/);
    await one.locator('.node-card').getByRole('button', { name: 'Delete this attempt' }).click();
    await one.waitForSelector('.row[data-going]');
    await one.clock.fastForward(UNDO_MS);
    await attempt.waitFor({ state: 'detached' });
});

testWithoutPage('the keyboard walks the tree, stands, continues, opens the card and the menu', async (t) => {
    const one = await at(short(), 'f', t);
    await one.locator('#graph').focus();
    assert.equal(await cursor(one), 'f');
    await walk(one, 'ArrowUp', 'e');
    await walk(one, 'Home', 'initial');
    await walk(one, 'ArrowRight', 'a');
    await walk(one, 'End', 'k');
    await walk(one, 'ArrowLeft', 'j');
    await walk(one, '[', 'h');
    await walk(one, ']', 'j');
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
            .map((text) => text.replace(/Goes to this state.*/, ''))
            .slice(0, 2),
        ['Continue here', 'Label…'],
    );
    await one.keyboard.press('Escape');
    assert.equal(await one.getByRole('menu').count(), 0);
    await one.keyboard.press('Enter');
    await focused([5, 'editor'], one);
});

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
    '“where did it last change?”: the search leads there, dims the rest, and opens what was folded',
    async (t) => {
        const one = await at(afternoon(), 'note2', t);
        assert.equal(await row('cols', one).count(), 0, 'folded');
        await one.locator('#graph').focus();
        await one.keyboard.press('/');
        await one.keyboard.insertText('var:cols');
        await row('cols', one).locator('.changes', { hasText: 'changes cols' }).waitFor();
        assert.equal(await one.locator('.graph-found').textContent(), '1 of 1');
        assert.equal(await row('cols', one).getAttribute('data-dim'), null);
        assert.notEqual(await row('load', one).getAttribute('data-dim'), null);
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

testWithoutPage('a long plain line is one row until it is asked for; this tab remembers', async (t) => {
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
    await one.getByRole('button', { name: 'Fold linear sections' }).click();
    await one.waitForFunction(() => document.querySelectorAll('.row[data-fold]').length === 2);
    await one.locator('#graph').focus();
    await one.keyboard.press('Home');
    for (let i = 0; i < 3; i += 1) await one.keyboard.press('ArrowDown');
    await one.keyboard.press('Enter');
    await row('head', one).waitFor();
});

testWithoutPage('another line becomes straight, and no row goes up or down', async (t) => {
    const one = await at(afternoon(), 'note2', t);
    const lefts = () =>
        one.$$eval('.mark[data-line]', (all) => [
            ...new Set(all.map((mark) => new DOMMatrix(getComputedStyle(mark).transform).e)),
        ]);
    assert.equal((await lefts()).length, 1);
    await row('rep', one).scrollIntoViewIfNeeded();
    const before = await one.$$eval('.row', (all) => all.map((one) => [one.dataset.node, one.style.top]));
    await row('rep', one).click();
    await here('rep', one);
    await one.waitForFunction(
        () =>
            new Set(
                [...document.querySelectorAll('.mark[data-line]')].map(
                    (mark) => new DOMMatrix(getComputedStyle(mark).transform).e,
                ),
            ).size === 1,
    );
    assert.deepEqual(
        await one.$$eval('.row', (all) => all.map((one) => [one.dataset.node, one.style.top])),
        before,
    );
});

testWithoutPage('a state with a picture shows it small', async (t) => {
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
            { id: 'p1', name: 'Ada', scope: 'run', state: 'h' },
            { id: 'p2', name: null, scope: 'view', state: 'h' },
        ];
    });
    await row('h', one).locator('.standing i').nth(1).waitFor();
    assert.deepEqual(await texts('.row[data-node="h"] .standing i', one), ['A', 'G1']);
    assert.match(await row('h', one).getAttribute('aria-label'), /here: Ada, Guest 1/);
    while (!one.server.notebook.people.some(({ state }) => state === 'f')) await one.waitForTimeout(20);
    // The tab's own user is not listed among the others.
    await row('f', one).locator('.standing').waitFor({ state: 'detached' });
});

testWithoutPage(
    'a second state is chosen to be compared: both are marked, and we stand where we stood',
    async (t) => {
        const one = await at(short(), 'f', t);
        await row('j', one).click({ modifiers: ['Shift'] });
        await one.waitForSelector('.row[data-compared][data-node="j"]');
        assert.deepEqual(
            await one.$$eval('.row[data-compared]', (all) => all.map((one) => one.dataset.node)),
            ['f', 'j'],
        );
        assert.match(await row('j', one).getAttribute('aria-label'), /compared/);
        await here('f', one);
        // The comparison view is loaded first and then takes the focus.
        await one.waitForFunction(() => document.activeElement.closest('.compare'));
        await one.locator('#graph').focus();
        await walk(one, 'ArrowUp', 'e');
        await one.keyboard.press('Shift+Enter');
        await one.waitForSelector('.row[data-compared][data-node="e"]');
        assert.deepEqual(
            await one.$$eval('.row[data-compared]', (all) => all.map((one) => one.dataset.node)),
            ['e', 'f'],
        );
    },
);

testWithoutPage('what is being deleted is struck out until it is gone, or taken back', async (t) => {
    const one = await at(short(), 'f', t);
    await one.locator('#graph').focus();
    await walk(one, 'End', 'k');
    await one.keyboard.press('Delete');
    await one.waitForSelector('.row[data-going][data-node="k"]');
    await one.getByRole('button', { name: 'Undo' }).click();
    await one.waitForFunction(() => !document.querySelector('.row[data-going]'));
    assert.equal(await row('k', one).count(), 1);
});

testWithoutPage('the graph is as wide as one likes, and stays so', async (t) => {
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

testWithoutPage('on a phone a finger that is held opens the card as a sheet', async (t) => {
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
    await here('e', one);
    assert.equal(await one.locator('.node-card').count(), 0);
});

testWithoutPage('a thousand states: a branch, and a line that goes on in sight', async (t) => {
    const one = await at(thousand(), 'n999', t);
    assert.ok((await one.locator('.row').count()) < 90, 'only what is near the screen is painted');
    const last = () =>
        one.$eval('#graph', (box) => Math.round(box.scrollHeight - box.scrollTop - box.clientHeight));
    assert.ok((await last()) < 20);
    await run('x = 1', 'Shift+Enter', one);
    await one.waitForFunction(() => document.querySelector('.row[data-here] .what')?.textContent === 'x = 1');
    await one.waitForFunction(() => {
        const box = document.getElementById('graph');
        return box.scrollHeight - box.scrollTop - box.clientHeight < 20;
    });
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
    assert.equal(await one.$eval('#graph', (box) => box.scrollTop), 300, 'who looks elsewhere is left there');
});

testWithoutPage('ten thousand states are scrolled through', async (t) => {
    const one = await at(tenThousand(), 'n40', t);
    assert.ok(one, 'it is there');
    await one.getByRole('button', { name: 'Unfold all' }).click();
    await one.waitForFunction(() => document.querySelector('.row')?.getAttribute('aria-setsize') === '10000');
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
    assert.equal(blank, 0, 'no gap is ever seen');
});

test('a branch grows in sight and is announced; nothing else moves', async () => {
    await run('x = 1');
    await ran(1);
    await run('x = x + 1');
    await ran(2);
    await page.locator('.row').nth(1).click();
    await ran(1);
    const before = await page.$$eval('.mark', (all) => all.map((one) => one.style.transform));
    await run('x = 100');
    await ran(2);
    assert.deepEqual(await rows(), ['Start', 'x = 1', 'x = x + 1', 'x = 100']);
    assert.deepEqual(
        (await page.$$eval('.mark', (all) => all.map((one) => one.style.transform))).slice(0, 3),
        before,
    );
    await page.waitForFunction(() =>
        [...document.querySelectorAll('.graph-pane [role="status"]')].some(
            (one) => one.textContent === 'Cell 2 branches from cell 1.',
        ),
    );
});

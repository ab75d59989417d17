// From a phone to a large screen: nothing is cut off, lines stay readable, touch targets are large
// enough, and the cursor stays visible above an on-screen keyboard. On the stand-in.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { nightly, openBrowser } from './browser.mjs';
import { branches } from './fixture.mjs';
import { notebook } from './graph-fixture.mjs';
import { start } from './mock.mjs';
import { openPage } from './pages.mjs';

const WIDTHS = { 360: 740, 600: 900, 768: 1024, 1024: 768, 1440: 900, 2560: 1440, 3840: 2160 };

let browser;
before(async () => (browser = await openBrowser()));
after(() => browser?.close());

/** @param {Parameters<typeof start>[1]} of */
async function open(t, options, hash = '', of = branches()) {
    const server = await start(0, of);
    t.after(() => server.stop());
    const page = await openPage(browser, options);
    t.after(() => page.context().close());
    await page.goto(server.url);
    await page.waitForSelector('.notebook[aria-busy="false"]');
    if (hash) {
        await page.evaluate((to) => (location.hash = to), hash);
        await page.waitForSelector('.compare');
    }
    return page;
}

/** Opens or closes the two panes. @param {any} page @param {boolean} isOpen */
async function panes(page, isOpen) {
    for (const [title, place] of [
        ['Graph of states', '.graph-pane'],
        ['Variables', '.variables-pane'],
    ]) {
        if ((await page.locator(place).count()) > 0 === isOpen) continue;
        await page.locator(`.buttons button[title="${title}"]`).click();
        await page.waitForSelector(place, { state: isOpen ? 'attached' : 'detached' });
    }
    if (isOpen) await page.waitForSelector('.variables-pane tbody tr');
}

/**
 * Measures which elements extend beyond the window or their own box, and how wide lines of text
 * are.
 */
const measure = (page) =>
    page.evaluate(() => {
        const out = [
            ...document.querySelectorAll(
                '.top *, .side, main, .notebook, .cell, .source, .outputs, .compare-page > *, .side-card',
            ),
        ]
            .filter((one) => {
                const { left, right, width } = one.getBoundingClientRect();
                return (
                    width > 0 &&
                    getComputedStyle(one).visibility === 'visible' &&
                    (left < -1 || right > innerWidth + 1)
                );
            })
            .map((one) => one.className || one.tagName);
        const main = document.querySelector('main');
        return {
            out,
            scrolls: document.documentElement.scrollWidth > innerWidth || main.scrollWidth > main.clientWidth,
            line: document.querySelector('.notebook').getBoundingClientRect().width,
        };
    });

for (const [width, height] of Object.entries(WIDTHS)) {
    const options = width === '360' || width === '1440' ? {} : nightly();
    test(`at a width of ${width} px nothing is cut off, with panes and without`, options, async (t) => {
        const page = await open(t, { viewport: { width: Number(width), height } });
        for (const isOpen of [false, true]) {
            await panes(page, isOpen);
            const { out, scrolls, line } = await measure(page);
            assert.deepEqual([out, scrolls], [[], false], `open: ${isOpen}`);
            assert.ok(line <= 84 * 16 && line >= Math.min(340, Number(width)), `a line of ${line} px`);
            const main = await page.locator('main').boundingBox();
            assert.ok(main.height > height / 2, 'the cells have most of the height');
        }
    });
}

test('a comparison fits on a phone and on a large screen', nightly(), async (t) => {
    for (const width of [360, 3840]) {
        const page = await open(t, { viewport: { width, height: 900 } }, 'compare=a2..b3');
        await page.waitForSelector('.compare-value');
        assert.deepEqual(await measure(page).then(({ out, scrolls }) => [out, scrolls]), [[], false]);
        const [a, b] = await page.$$eval('.side-card', (cards) =>
            cards.map((card) => card.getBoundingClientRect().top),
        );
        assert.equal(a < b, width === 360, 'one below the other only on the phone');
    }
});

test('on a touch screen controls are at least 44 px, and a tap on a cell shows its tools', async (t) => {
    const page = await open(t, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    const cell = page.locator('.cell').nth(1);
    assert.equal(await cell.locator('.tools').isVisible(), false);
    await cell.locator('.rail').tap();
    await cell.locator('.tools').waitFor();
    const small = await page.$$eval('.top button, .tools button, .notes button', (all) =>
        all
            .filter((one) => one.checkVisibility({ visibilityProperty: true }))
            .map((one) => {
                const { width, height } = one.getBoundingClientRect();
                return [one.title || one.textContent, Math.round(width), Math.round(height)];
            })
            .filter(([name, width, height]) => height < 44 || (width < 44 && !/version/.test(name)))
            .filter(([name]) => !/Ready/.test(name)),
    );
    assert.deepEqual(small, []);
    await cell.getByLabel('Cell actions').tap();
    assert.ok((await page.locator('[role="menuitem"]').first().boundingBox()).height >= 44);
});

test('the tools of a cell cover neither its tabs nor the button beside them', async (t) => {
    const versions = [1, 2, 3, 4, 5, 6].map((n) => [`s${n}`, 'base', `model = fit(depth=${n})`]);
    const of = notebook([['base', 'initial', 'x = 1'], ...versions]);
    for (const options of [
        { viewport: { width: 1024, height: 768 } },
        { viewport: { width: 390, height: 740 } },
        { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true },
    ]) {
        const page = await open(t, options, '', of);
        const cell = page.locator('.cell').nth(1);
        if (options.hasTouch) await cell.locator('.rail').tap();
        else await cell.hover();
        await cell.locator('.tools').waitFor();
        const covered = await cell.locator('.branch-tabs').evaluate((tabs) => {
            const tools = tabs.closest('.cell').querySelector('.tools').getBoundingClientRect();
            return [...tabs.querySelectorAll('[role="tablist"], .text-button')]
                .map((one) => [one.textContent, one.getBoundingClientRect()])
                .filter(
                    ([, one]) => one.right > tools.left && one.bottom > tools.top && one.top < tools.bottom,
                )
                .map(([text]) => text);
        });
        assert.deepEqual(covered, []);
    }
});

test('the tools of a cell cover neither its code nor the text above, also if code is large', async (t) => {
    const page = await open(t, { viewport: { width: 390, height: 1200 } });
    await page.evaluate(() => localStorage.setItem('ratoon.codeSize', '20'));
    await page.reload();
    await page.waitForSelector('.cm-line');
    const covering = await page.$$eval(
        '.cell',
        (cells) =>
            cells.filter((cell, i) => {
                const tools = cell.querySelector('.tools').getBoundingClientRect();
                const [line] = cell.querySelectorAll('.cm-line');
                const above = cells[i - 1]?.querySelector('.cell-body').lastElementChild;
                const text = above && parseFloat(getComputedStyle(above).paddingBottom);
                return (
                    tools.bottom > line?.getBoundingClientRect().top ||
                    tools.top < above?.getBoundingClientRect().bottom - text
                );
            }).length,
    );
    assert.equal(covering, 0);
});

test('tabs of equal code show their numbers, in one row with Compare', async (t) => {
    const code = 'result_of_the_model = fit_the_model(depth=max_depth, trees=number_of_trees)';
    const versions = [1, 2, 3].map((n) => [`s${n}`, 'base', code]);
    const page = await open(t, {}, '', notebook([['base', 'initial', 'x = 1'], ...versions]));
    for (const [width, height] of Object.entries(WIDTHS).slice(3, 5)) {
        await page.setViewportSize({ width: Number(width), height });
        const rows = await page
            .locator('.branch-tabs')
            .locator('.branch-tab, .text-button')
            .evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().bottom / 10)));
        assert.equal(new Set(rows).size, 1, `one row at ${width} px`);
        const numbers = await page.$$eval('.branch-tab', (tabs) =>
            tabs.map((tab) => {
                const [number] = tab.querySelectorAll(/** @type {'span'} */ ('.nth'));
                const isWhole =
                    number.getBoundingClientRect().right <= tab.getBoundingClientRect().right &&
                    number.scrollWidth <= number.clientWidth;
                return isWhole && number.textContent;
            }),
        );
        assert.deepEqual(numbers, [' (1)', ' (2)', ' (3)']);
    }
});

test('on a phone the tools of a cell cover neither each other nor the cell above', async (t) => {
    const page = await open(t, { viewport: { width: 320, height: 600 }, hasTouch: true, isMobile: true });
    const cell = page.locator('.cell[data-kind="ran"]').last();
    await cell.locator('.rail').tap();
    await cell.locator('.tools').waitFor();
    const found = await cell.evaluate((one) => {
        const inside = [...one.querySelectorAll('.tools > *')].map((tool) => tool.getBoundingClientRect());
        const above = one.previousElementSibling.getBoundingClientRect();
        return {
            cut: [...one.querySelectorAll('.tools > .tool')]
                .filter((tool) => tool.scrollWidth > tool.clientWidth)
                .map((tool) => tool.textContent),
            isApart: inside.every((tool, i) => i === 0 || tool.left >= inside[i - 1].right),
            isBelow: one.querySelector('.tools').getBoundingClientRect().top >= above.bottom,
        };
    });
    assert.deepEqual(found, { cut: [], isApart: true, isBelow: true });
});

test('on a phone a tapped line stays under the finger when the tools of its cell appear', async (t) => {
    const page = await open(t, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    // The tools of the cell that had the focus go, above the tapped cell or below.
    for (const nth of [1, 0, 2]) {
        const cell = page.locator('.cell[data-kind="ran"]').nth(nth);
        await cell.scrollIntoViewIfNeeded();
        const { x, y } = await cell.locator('.cm-line').first().boundingBox();
        await page.touchscreen.tap(x + 200, y + 9);
        await cell.locator('.tools .tool').first().waitFor();
        const after = await cell.locator('.cm-line').first().boundingBox();
        assert.ok(Math.abs(after.y - y) <= 1, `cell ${nth}: from ${y} to ${after.y}`);
    }
});

test('on a phone the fields and buttons of the find bar do not overlap', async (t) => {
    const page = await open(t, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    await page.locator('.cell').first().focus();
    await page.keyboard.press('Control+h');
    await page.waitForSelector('.find-by');
    const overlapping = await page.$$eval('.find-panel :is(input, button, .find-count)', (all) => {
        const boxes = all.map((one) => one.getBoundingClientRect());
        const meets = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
        return boxes.filter((a, i) => a.right > innerWidth || boxes.some((b, j) => i < j && meets(a, b)))
            .length;
    });
    assert.equal(overlapping, 0);
    assert.ok((await page.locator('.find-text').boundingBox()).width > 200);
});

test('the focus rings in Variables are whole', async (t) => {
    const page = await open(t, { viewport: { width: 1280, height: 800 } });
    await panes(page, true);
    await page.locator('.variables-pane tbody th button').first().click();
    await page.waitForSelector('.whole pre');
    // What lies outside the box of an ancestor that clips is not seen.
    const cut = (selector) =>
        page
            .locator(selector)
            .first()
            .evaluate((one) => {
                one.focus({ focusVisible: true });
                const { outlineOffset, outlineWidth } = getComputedStyle(one);
                const out = parseFloat(outlineOffset) + parseFloat(outlineWidth);
                const { left, right } = one.getBoundingClientRect();
                for (let above = one.parentElement; above; above = above.parentElement) {
                    if (getComputedStyle(above).overflowX === 'visible') continue;
                    const box = above.getBoundingClientRect();
                    if (left - out < box.left || right + out > box.right)
                        return above.className || above.tagName;
                }
                return null;
            });
    for (const one of ['.variables-list', '.whole pre', '.variables-pane tbody th button'])
        assert.equal(await cut(one), null, one);
    const offset = await page.$eval('.variables-list', (one) => {
        one.focus({ focusVisible: true });
        return parseFloat(getComputedStyle(one).outlineOffset);
    });
    assert.ok(offset >= 0, 'the head of the table covers a ring inside the list');
});

test('on a touch screen a cell can be inserted between two cells', nightly(), async (t) => {
    const page = await open(t, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    const before = await page.locator('.cell').count();
    const button = page.locator('.cell').nth(1).locator('.insert-button');
    const { width, height } = await button.boundingBox();
    assert.ok(width >= 24 && height >= 24);
    await button.tap();
    await page.waitForFunction((n) => document.querySelectorAll('.cell').length === n + 1, before);
    assert.equal(await page.locator('.cell').nth(1).getAttribute('data-kind'), 'draft');
});

test('with a mouse, targets are at least 24 px in both directions', async (t) => {
    const page = await open(t, { viewport: { width: 1280, height: 800 } });
    await panes(page, true);
    const small = await page.$$eval(
        '.top button, .tools button, .notes button, .variables-pane button, .variables-pane input',
        (all) =>
            all
                .map((one) => {
                    const { width, height } = one.getBoundingClientRect();
                    return [one.title || one.textContent, Math.round(width), Math.round(height)];
                })
                .filter(([, width, height]) => width > 0 && (width < 24 || height < 24)),
    );
    assert.deepEqual(
        small.filter(([name]) => !/^Show the value of/.test(name)),
        [],
        'except names in the table, whose rows are high enough',
    );
});

test('when an on-screen keyboard opens, the edited cell stays in sight', nightly(), async (t) => {
    const page = await open(t, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    await page.locator('.cell[data-fresh] .cm-content').tap();
    await page.setViewportSize({ width: 360, height: 380 });
    await page.waitForFunction(() => {
        const { top, bottom } = document.activeElement
            .closest('.cell')
            .querySelector('.cm-editor')
            .getBoundingClientRect();
        const main = document.querySelector('main').getBoundingClientRect();
        return top >= main.top && bottom <= Math.min(innerHeight, main.bottom);
    });
    // If the keyboard covers the page, the browser changes only the visual viewport.
    await page.evaluate(() => {
        Object.defineProperty(visualViewport, 'height', { value: 250, configurable: true });
        visualViewport.dispatchEvent(new Event('resize'));
    });
    assert.equal(await page.$eval('.app', (app) => app.clientHeight), 250);
    await page.waitForFunction(
        () =>
            document.activeElement.closest('.cell').querySelector('.cm-editor').getBoundingClientRect()
                .bottom <= 250,
    );
});

test('the variables pane keeps its width after a reload', nightly(), async (t) => {
    const page = await open(t, { viewport: { width: 1440, height: 900 } });
    await panes(page, true);
    const edge = page.getByRole('separator', { name: 'Width of the variables pane' });
    const width = () => page.$eval('.variables-pane', (one) => one.offsetWidth);
    const before = await width();
    const { x, y } = await edge.boundingBox();
    await page.mouse.move(x + 4, y + 200);
    await page.mouse.down();
    await page.mouse.move(x - 96, y + 220, { steps: 4 });
    await page.mouse.up();
    assert.ok(Math.abs((await width()) - before - 100) < 4, `${before} → ${await width()}`);
    await edge.focus();
    await page.keyboard.press('ArrowRight');
    const after = await width();
    assert.ok(Math.abs(after - before - 76) < 4);
    assert.equal(await edge.getAttribute('aria-valuenow'), String(after));
    await page.reload();
    await page.waitForSelector('.variables-pane tbody tr');
    assert.equal(await width(), after);
});

test('a printed notebook has no controls, and its outputs are whole', nightly(), async (t) => {
    const page = await open(t, { viewport: { width: 1024, height: 768 }, colorScheme: 'dark' });
    await page.locator('.cell[data-fresh] .editor').click();
    await page.keyboard.insertText('print("line")\n'.repeat(300));
    await page.keyboard.press('Shift+Enter');
    await page.waitForSelector('.stream[data-boxed]');
    await page.emulateMedia({ media: 'print' });
    assert.deepEqual(
        await page.$$eval('.top, .side, .tools, .notice, .banners', (all) =>
            all
                .filter((one) => one.offsetParent !== null || one.offsetHeight > 0)
                .map((one) => one.className),
        ),
        [],
    );
    assert.ok(
        await page.$eval(
            '.stream[data-boxed] .text',
            (one) => one.clientHeight >= 300 * 19 && one.scrollHeight <= one.clientHeight + 1,
        ),
    );
    assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), 'light');
    assert.ok(
        await page.evaluate(
            () =>
                document.querySelector('main').scrollHeight <=
                document.querySelector('main').clientHeight + 1,
        ),
    );
});

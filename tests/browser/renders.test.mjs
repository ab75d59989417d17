// The number of cells that the page renders again when one of many changes. Counted in the page.

import assert from 'node:assert/strict';
import { drafts, page, test } from './harness.mjs';

/** Counts rendered cells from now on. The real server bundles modules; the stand-in does not. */
const count = () =>
    page.evaluate(async () => {
        const entry = /** @type {HTMLScriptElement} */ (document.querySelector('script[type="module"]')).src;
        const joined = Object.values(await import(entry)).find((module) => module.Cell);
        const { Cell } = joined ?? (await import(new URL('cell/cell.js', entry).href));
        const { render } = Cell.prototype;
        window.rendered = [];
        Cell.prototype.render = function (...args) {
            window.rendered.push(this.props.cell.key);
            return render.apply(this, args);
        };
    });

test('a keystroke renders only the cell that it changes', async () => {
    await drafts(...Array.from({ length: 12 }, (_, i) => `x${i} = ${i}`));
    await count();
    const fifth = page.locator('.cell').nth(4);
    await fifth.locator('.cm-content').click();
    await page.evaluate(() => {
        window.rendered = [];
    });
    await page.keyboard.type('7');
    await page.waitForFunction(() => window.rendered.length > 0);
    const key = await fifth.getAttribute('data-cell');
    assert.deepEqual(await page.evaluate(() => [...new Set(window.rendered)]), [key]);
});

// Text in colours that programs choose is readable in both themes.

import assert from 'node:assert/strict';
import { page, run, sees, test } from './harness.mjs';

/**
 * For each piece of text in an error: the text, and its contrast with the background painted behind
 * it.
 */
const contrasts = () =>
    page.$$eval('.error-view :is(span, .title, .at, .line, .ansi-text)', (all) => {
        const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
        const paint = (colours) => {
            for (const colour of colours) {
                canvas.fillStyle = colour;
                canvas.fillRect(0, 0, 1, 1);
            }
            return [...canvas.getImageData(0, 0, 1, 1).data];
        };
        const light = (/** @type {number[]} */ colour) =>
            colour
                .slice(0, 3)
                .map((v) => v / 255)
                .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
                .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
        return all
            .filter((one) => one.textContent.trim())
            .map((one) => {
                const grounds = [];
                for (let at = one; at; at = at.parentElement)
                    grounds.unshift(getComputedStyle(at).backgroundColor);
                const [a, b] = [
                    light(paint(grounds)),
                    light(paint([...grounds, getComputedStyle(one).color])),
                ];
                return [one.textContent.slice(0, 30), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
            });
    });

test('every part of a traceback has enough contrast in the light and the dark theme', async () => {
    await run('def f(x):\n    return 1 / x  # a comment\nprint("text", f(0))', 'Control+Enter');
    await sees('ZeroDivisionError');
    for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme });
        const all = await contrasts();
        assert.ok(all.length > 5);
        for (const [text, contrast] of all)
            assert.ok(contrast >= 4.5, `${colorScheme}: ${JSON.stringify(text)} has ${contrast.toFixed(2)}`);
    }
});

// Terminals: the owner opens a shell in a tab of its own, which outlives the page.

import assert from 'node:assert/strict';
import { becomes } from './browser.mjs';
import { page, server, test } from './harness.mjs';

const isReal = Boolean(process.env.RATOON_BIN);

test('a terminal opens from the menu, shows what its shell writes, also after a reload, and ends', {
    skip: !isReal,
}, async () => {
    await page.getByRole('button', { name: 'More', exact: true }).click();
    const opened = page.waitForEvent('popup');
    await page.getByRole('menuitem', { name: 'New terminal' }).click();
    const shell = await opened;
    await shell.getByRole('heading', { name: 'Terminal 1' }).waitFor();
    await shell.getByRole('button', { name: 'Close terminal' }).waitFor();
    await shell.keyboard.type('printf "\\\\033[38;2;9;99;199mcolour %s\\\\033[0m" $((40+2))');
    await shell.keyboard.press('Enter');
    const colour = () =>
        shell.evaluate(() => {
            const found = [...document.querySelectorAll('.xterm-rows span')].find(({ textContent }) =>
                textContent?.includes('colour 42'),
            );
            return found && getComputedStyle(found).color;
        });
    await becomes(colour, 'rgb(9, 99, 199)');
    await shell.reload();
    await becomes(colour, 'rgb(9, 99, 199)');
    assert.match(shell.url(), /\/terminal#1$/);
    // At each of these heights, another part of a row is left over.
    for (const [width, height] of [
        [1440, 800],
        [390, 800],
        [390, 807],
    ]) {
        await shell.setViewportSize({ width, height });
        const spare = () =>
            shell.evaluate(() => {
                const rows = [...document.querySelectorAll('.xterm-rows > div')];
                const left = innerHeight - rows.at(-1).getBoundingClientRect().bottom;
                return left >= 0 && left < 8 + 2 * rows[0].clientHeight;
            });
        await becomes(spare, true);
    }

    await page.goto(new URL('/', server.url).href);
    await page.getByRole('link', { name: 'Terminal 1' }).click();
    await page.getByRole('button', { name: 'Close terminal' }).click();
    for (const one of [page, shell]) await one.getByText('The shell has ended.').waitFor();
});

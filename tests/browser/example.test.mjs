// The example of an empty notebook, and its guide, on the real server.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { exampleCells } from '../../web/example/example-cells.js';
import { startAlone } from './binary.mjs';
import { becomes } from './browser.mjs';
import { focused, open, page, ran, rows, server, test, testWithoutPage, texts } from './harness.mjs';

const DATA = fileURLToPath(new URL('../../web/example', import.meta.url));

const step = (nth, on = page) =>
    on.waitForFunction(
        (wanted) => document.querySelector('.guide .steps')?.textContent === wanted,
        `Step ${nth} of 7`,
    );
const press = (name, on = page) => on.getByRole('button', { name, exact: true }).click();

/** Changes the line with the features in the cell that has it, and runs the cell. */
async function choose(features, on) {
    // Not by a click: an output above may get its height between the aim and the press.
    await on.locator('.cell', { hasText: 'features = [' }).focus();
    await on.keyboard.press('Enter');
    await on.waitForFunction(() => document.activeElement?.closest('.cm-editor'));
    await on.keyboard.press('Control+Home');
    await on.keyboard.press('Shift+End');
    await on.keyboard.insertText(`features = ${JSON.stringify(features)}`);
    await on.keyboard.press('Shift+Enter');
}

testWithoutPage(
    'the guide of `ratoon demo` leads to three branches, compares them and goes back',
    async (t) => {
        const demo = await startAlone('demo');
        t.after(() => demo.stop());
        assert.match(demo.url, /\/n\/demo\?token=[\w-]+#example$/);
        const on = await open(demo.url);
        await step(1, on);
        await focused([1, 'editor'], on);
        await press('Run these 4 cells', on);
        await ran(4, on);
        await step(2, on);
        const [first] = await texts('.stream', on);
        assert.match(first, /^75% right, by flipper_length_mm and body_mass_g/);

        await choose(['bill_length_mm', 'bill_depth_mm'], on);
        await step(3, on);
        await press('Run 2 cells below', on);
        await ran(4, on);
        await step(4, on);
        assert.match((await texts('.stream', on))[0], /^96% right/);

        await choose(['bill_length_mm', 'bill_depth_mm', 'flipper_length_mm'], on);
        await step(3, on);
        await press('Run 2 cells below', on);
        await step(5, on);
        assert.match((await texts('.stream', on))[0], /^97% right/);
        // Each name shows what differs, in the graph and in the tabs.
        const tails = ['flipper_length_mm", "body_mass_g"]', '"bill_depth_mm"]'];
        for (const place of ['.row .tail', '.branch-tab .tail'])
            for (const tail of tails) assert.ok((await texts(place, on)).includes(tail), `${place}: ${tail}`);

        await press('Compare', on);
        await step(6, on);
        // It compares the ends of the branches, which have an accuracy.
        await on.locator('.compare', { hasText: 'accuracy' }).waitFor();
        // The guide survives a reload.
        await on.reload();
        await step(6, on);
        await on.waitForFunction(() => document.activeElement?.closest('.compare'));
        await on.keyboard.press('Escape');
        await on.getByRole('tab').first().click();
        await step(7, on);
        assert.deepEqual(await texts('.stream', on), [first]);
        await press('Close', on);
        await on.locator('.guide').waitFor({ state: 'detached' });

        await on.goto(demo.url);
        await ran(4, on);
        assert.equal(await on.locator('.guide').count(), 0, 'the example starts only in an empty notebook');
    },
);

test('an empty notebook offers the example, which never replaces a file', async () => {
    await page.locator('.example', { hasText: 'Four cells, real data' }).waitFor();
    await writeFile(join(server.dir, 'penguins.csv'), 'mine');
    await press('Start with an example');
    await step(1);
    assert.equal(await page.locator('.cell[data-kind="draft"]:not([data-fresh])').count(), 5);
    assert.deepEqual(await rows(), ['Start']);
    await becomes(() => page.locator('.example').count(), 0);
    await press('Run these 4 cells');
    await page.getByText('KeyError').first().waitFor();
    await step(1);
});

testWithoutPage('the cells of the example run in a Python without packages', async () => {
    const codes = exampleCells(new Set()).filter(({ kind }) => kind === 'code');
    const code = codes.map(({ source }) => source).join('\n');
    const python = process.env.RATOON_TEST_PYTHON ?? 'python3';
    const { stdout } = await promisify(execFile)(python, ['-I', '-c', code], { cwd: DATA });
    assert.match(stdout, /^75% right, by flipper_length_mm and body_mass_g/);
});

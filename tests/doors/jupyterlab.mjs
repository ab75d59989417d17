// Drives JupyterLab with the Ratoon kernel: runs three cells, changes the second one, and runs it
// and the third again. Prints the last outputs as JSON.
//
// usage: node jupyterlab.mjs ADDRESS      RATOON_SHOTS=DIR saves pictures
import { chromium } from 'playwright-core';

const LIMIT = 120_000;
const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
});

try {
    const page = await browser.newPage({ viewport: { width: 1200, height: 800 } });
    page.setDefaultTimeout(LIMIT);
    await page.goto(process.argv[2]);
    const cells = page.locator('.jp-Notebook .jp-CodeCell');
    await cells.nth(2).waitFor();
    await page.getByText('Python 3 (Ratoon)').first().waitFor();
    const said = [];

    /** Replaces the code of a cell. */
    const write = async (cell, code) => {
        await cells.nth(cell).locator('.cm-content').click();
        await page.keyboard.press('Control+A');
        await page.keyboard.insertText(code);
    };
    /** Runs a cell, and waits until it has ended with this number. */
    const run = async (cell, number) => {
        await cells.nth(cell).locator('.cm-content').click();
        await page.keyboard.press('Control+Enter');
        await cells
            .nth(cell)
            .locator('.jp-InputPrompt', { hasText: `[${number}]:` })
            .waitFor();
        await page.locator('[data-status="idle"]').first().waitFor();
    };
    const shows = async (cell, text) => {
        await cells.nth(cell).locator('.jp-OutputArea-output', { hasText: text }).waitFor();
        return text;
    };
    const shoot = async (name) => {
        const directory = process.env.RATOON_SHOTS;
        if (directory) await page.screenshot({ path: `${directory}/jupyterlab-${name}.png` });
    };

    // The notebook's first cell turns branching on, and is then replaced.
    await write(0, '%branching on');
    await page.keyboard.press('Control+Enter');
    const on = await shows(0, 'branching is on');
    await write(0, 'data = [1]');
    for (const [cell, number] of [
        [0, 1],
        [1, 2],
        [2, 3],
    ])
        await run(cell, number);
    said.push(await shows(2, '[1, 2, 3]'));
    await shoot('before');
    await write(1, 'data.append(20)');
    await run(1, 2);
    await run(2, 3);
    said.push(await shows(2, '[1, 20, 3]'), on);
    await shoot('after');
    await page.keyboard.press('Control+S');
    console.log(JSON.stringify(said));
} finally {
    await browser.close();
}

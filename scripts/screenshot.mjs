// Makes the pictures of the README and of docs/tour.md: a real server, a real browser, real cells. One minute.
//
// usage: RATOON_BIN=target/release/ratoon RATOON_TEST_PYTHON=PYTHON node scripts/screenshot.mjs [DIRECTORY, else docs]
// The environment of PYTHON needs pandas, matplotlib and scikit-learn (tests/run makes such an environment).

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openBrowser, startServer } from '../tests/browser/browser.mjs';
import { openPage } from '../tests/browser/pages.mjs';

const CELLS = [
    'import pandas as pd, matplotlib.pyplot as plt\nfrom sklearn.datasets import load_wine\nwine = load_wine(as_frame=True).frame\nwine.iloc[:3, :6]',
    'X, y = wine.drop(columns="target"), wine.target\nX = (X - X.mean()) / X.std()',
];
const BRANCHES = {
    PCA: 'from sklearn.decomposition import PCA\nZ = PCA(2).fit_transform(X)',
    Isomap: 'from sklearn.manifold import Isomap\nZ = Isomap(n_components=2).fit_transform(X)',
    LDA: 'from sklearn.discriminant_analysis import LinearDiscriminantAnalysis\nZ = LinearDiscriminantAnalysis().fit_transform(X, y)',
};
const PLOT = 'plt.figure(figsize=(6, 2.5), layout="tight")\nplt.scatter(*Z.T, c=y, s=16);';

const folder = process.argv[2] ?? 'docs';
const browser = await openBrowser();
const server = await startServer();
const page = await openPage(browser, { viewport: { width: 1280, height: 800 } });

const picture = (name) => page.screenshot({ path: join(folder, `${name}.png`) });

try {
    await page.goto(server.url);
    await page.waitForSelector('.notebook[aria-busy="false"]');
    let depth = 0;
    for (const cell of CELLS) await run(cell, ++depth);
    await label(depth, 'standardised');
    const fork = page.url();
    for (const [name, branch] of Object.entries(BRANCHES)) {
        await page.goto(fork);
        await ran(depth);
        await run(branch, depth + 1);
        await run(PLOT, depth + 2);
        await label(depth + 2, name);
    }
    await page.waitForFunction(
        (n) => document.querySelectorAll('.row img').length >= n,
        Object.keys(BRANCHES).length,
    );
    await still();
    await picture('screenshot');

    await page
        .locator('.row', { hasText: 'PCA' })
        .last()
        .click({ modifiers: ['Shift'] });
    // Before the page scrolls: it keeps its place when it is resized.
    await page.setViewportSize({ width: 1280, height: 600 });
    await page.waitForSelector('.compare .diff-line');
    await page.waitForFunction(
        () =>
            document.querySelector('.compare-value') &&
            [...document.querySelectorAll('.compare img')].filter(
                (/** @type {HTMLImageElement} */ one) => one.naturalWidth > 100,
            ).length >= 2,
    );
    await page
        .locator('.compare')
        .first()
        .evaluate((one) => (one.closest('main') ?? one).scrollTo(0, 1e6));
    await still();
    await picture('compare');

    await page.getByRole('button', { name: 'Close' }).click();
    await page.waitForSelector('.compare', { state: 'detached' });
    await ran(depth + 2);
    const phone = await openPage(browser, {
        viewport: { width: 360, height: 640 },
        hasTouch: true,
        isMobile: true,
        storageState: await page.context().storageState(),
    });
    await phone.goto(page.url());
    await ran(depth + 2, phone);
    if ((await phone.locator('#graph').count()) === 0) await phone.getByTitle('Graph of states').click();
    await phone.waitForFunction(() => document.querySelectorAll('.row img').length > 0);
    await phone.screenshot({ path: join(folder, 'phone.png') });
    await phone.context().close();

    // The example of docs/examples/sweep.ipynb.
    const example = JSON.parse(
        await readFile(new URL('../docs/examples/sweep.ipynb', import.meta.url), 'utf8'),
    );
    const code = example.cells
        .filter((cell) => cell.cell_type === 'code')
        .map((cell) => cell.source.join(''));
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.evaluate(() =>
        fetch('/api/notebooks', {
            method: 'POST',
            headers: { 'Content-Type': 'application/json' },
            body: '{"name": "digits"}',
        }),
    );
    await page.goto(`${new URL(server.url).origin}/n/digits`);
    await page.waitForSelector('.notebook[aria-busy="false"]');
    await run(code[0], 1);
    await run(code[1], 2);
    await page.locator('.cell[data-fresh] .editor').click();
    await page.keyboard.insertText(code[2]);
    await page.keyboard.press('Control+Alt+Shift+KeyS');
    await page.locator('.sweep-parameter').first().waitFor();
    const values = {
        kind: 'linear, network',
        rate: '0.001..0.1 log 3',
        alpha: '0.00001, 0.001',
        batch: '16, 64',
    };
    for (const [name, value] of Object.entries(values))
        await page.getByLabel(`Values of ${name}`).fill(value);
    await page.getByLabel('Metric', { exact: true }).fill('score');
    await page.keyboard.press('Control+Enter');
    await page.locator('.sweep-progress b', { hasText: 'Done' }).waitFor({ timeout: 300_000 });
    await still();
    await picture('sweep');
} finally {
    await browser.close();
    await server.stop();
}

async function run(code, count) {
    await page.locator('.cell[data-fresh] .editor').click();
    await page.keyboard.insertText(code);
    await page.keyboard.press('Shift+Enter');
    await ran(count);
}

async function ran(count, on = page) {
    await on.waitForFunction(
        (n) =>
            document.querySelectorAll('.cell[data-kind="ran"]').length === n &&
            !document.querySelector('[data-status="running"], [data-status="queued"]'),
        count,
        { timeout: 300_000 },
    );
}

/** Gives the state of a cell a name. */
async function label(count, name) {
    const cell = page.locator('.cell[data-kind="ran"]').nth(count - 1);
    await cell.hover();
    await cell.getByLabel('Cell actions').click();
    await page.getByRole('menuitem', { name: 'Label…' }).click();
    await page.locator('dialog input').fill(name);
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog', { state: 'detached' });
}

/** Nothing moves, nothing is pointed at, and frames have said how high they are. */
async function still() {
    await page.mouse.move(1279, 799);
    await page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement).blur());
    await page.waitForFunction(() =>
        [...document.querySelectorAll('iframe')].every((one) => one.clientHeight > 60),
    );
    await page.evaluate(() =>
        Promise.all(document.getAnimations().map(({ finished }) => finished.catch(() => {}))),
    );
}

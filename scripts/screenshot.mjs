// Makes the README's screenshot: a real server, a real browser, real cells.
//
// usage: RATOON_BIN=target/release/ratoon VIRTUAL_ENV=… node scripts/screenshot.mjs docs/screenshot.png
// The environment needs numpy, pandas, matplotlib and scikit-learn (tests/run makes such an environment).

import { openBrowser, openPage, startServer } from '../tests/browser/browser.mjs';

const CELLS = [
    'import numpy as np, pandas as pd, matplotlib.pyplot as plt\nfrom sklearn.datasets import load_wine\nwine = load_wine(as_frame=True).frame\nwine.iloc[:3, :6]',
    'X, y = wine.drop(columns="target"), wine.target\nX = (X - X.mean()) / X.std()',
];
const BRANCHES = [
    'from sklearn.decomposition import PCA\nZ = PCA(2).fit_transform(X)',
    'from sklearn.manifold import Isomap\nZ = Isomap(n_components=2).fit_transform(X)',
];
const PLOT = 'plt.figure(figsize=(6, 2.6))\nplt.scatter(*Z.T, c=y, s=18); plt.title(f"{len(Z)} wines in two dimensions");';

const browser = await openBrowser();
const server = await startServer();
const page = await openPage(browser, { viewport: { width: 1280, height: 860 }, deviceScaleFactor: 1 });
try {
    await page.goto(server.url);
    await page.waitForSelector('.notebook[aria-busy="false"]');
    let depth = 0;
    for (const cell of CELLS) await run(cell, ++depth);
    const fork = page.url();
    for (const branch of BRANCHES) {
        await page.goto(fork);
        await ran(depth);
        await run(branch, depth + 1);
        await run(PLOT, depth + 2);
    }
    await page.evaluate(() => document.querySelectorAll('*').forEach((one) => one.scrollTo(0, 0)));
    // The table stands in a frame of its own, which says its height when it is there.
    await page.waitForFunction(() => [...document.querySelectorAll('iframe')].every((one) => one.clientHeight > 60));
    await page.screenshot({ path: process.argv[2] ?? 'docs/screenshot.png' });
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

async function ran(count) {
    await page.waitForFunction(
        (n) =>
            document.querySelectorAll('.cell[data-kind="ran"]').length === n &&
            !document.querySelector('[data-status="running"], [data-status="queued"]'),
        count,
    );
}

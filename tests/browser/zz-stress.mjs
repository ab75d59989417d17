import { openBrowser, startServer } from '/work/h/ci/tests/browser/browser.mjs';
const LOAD =
    'import numpy as np, pandas as pd, matplotlib.pyplot as plt\nrng = np.random.default_rng(7)\ndf = pd.DataFrame({"x": np.linspace(0, 6, 80)})\ndf["y"] = np.sin(df.x) + rng.normal(0, 0.25, 80)\ndf.head(3)';
const fit = (degree) =>
    `degree = ${degree}\nfitted = np.polyval(np.polyfit(df.x, df.y, degree), df.x)\nprint(f"error {((df.y - fitted) ** 2).mean():.3f}")`;
const PLOT =
    'plt.figure(figsize=(5, 2.4))\nplt.plot(df.x, df.y, ".", df.x, fitted); plt.title(f"degree {degree}");';
const browser = await openBrowser();
const server = await startServer();
const base = new URL(server.url);
const rate = Number(process.argv[3] ?? 6);
for (let n = 0; n < Number(process.argv[2] ?? 10); n++) {
    await fetch(`${base.origin}/reset`, {
        method: 'POST',
        headers: { authorization: `Bearer ${base.searchParams.get('token')}` },
    });
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    context.setDefaultTimeout(15000);
    const page = await context.newPage();
    const cdp = await context.newCDPSession(page);
    await cdp.send('Emulation.setCPUThrottlingRate', { rate });
    await page.addInitScript(() => {
        window.log = [];
        const t = () => Math.round(performance.now());
        const where = (e) => {
            const c = e?.closest?.('.cell');
            return c
                ? `${[...document.querySelectorAll('.cell')].indexOf(c)}${c.dataset.fresh !== undefined ? 'fresh' : ''} ${e.className.slice(0, 20)}`
                : (e?.tagName ?? String(e));
        };
        for (const k of ['mousedown', 'mouseup', 'click', 'focusin', 'focusout', 'keydown', 'beforeinput'])
            addEventListener(
                k,
                (e) =>
                    window.log.push(
                        `${t()} ${k} ${where(e.target)} ${e.clientY ?? e.key ?? ''} ${e.relatedTarget ? '<-' + where(e.relatedTarget) : ''}`,
                    ),
                true,
            );
        new PerformanceObserver((l) => {
            for (const e of l.getEntries())
                window.log.push(
                    `${t()} SHIFT ${e.value.toFixed(4)} ${e.sources.map((s) => `${where(s.node)} ${s.previousRect.y}->${s.currentRect.y}`).join(' | ')}`,
                );
        }).observe({ type: 'layout-shift', buffered: true });
    });
    await page.goto(server.url);
    await page.waitForSelector('.notebook[aria-busy="false"]');
    const run = async (code) => {
        await page.evaluate(() => window.log.push('--- run'));
        await page.locator('.cell[data-fresh] .editor').click();
        const ok = await page.evaluate(
            () => document.activeElement?.closest('.cell[data-fresh] .editor') != null,
        );
        await page.evaluate((ok) => window.log.push(`clicked ${ok}`), ok);
        await page.keyboard.insertText(code);
        await page.keyboard.press('Shift+Enter');
        return ok;
    };
    const ran = (n) =>
        page.waitForFunction(
            (n) =>
                document.querySelectorAll('.cell[data-kind="ran"]').length === n &&
                !document.querySelector('[data-status="running"], [data-status="queued"]'),
            n,
        );
    let ok = true;
    try {
        for (const [i, c] of [LOAD, fit(1), PLOT].entries()) {
            ok = (await run(c)) && ok;
            await ran(i + 1);
        }
        await page.locator('.cell').nth(1).locator('.cm-content').click();
        await page.evaluate(() => window.log.push('--- change'));
        await page.keyboard.press('Control+A');
        await page.keyboard.insertText(fit(5));
        await page.keyboard.press('Shift+Enter');
        await ran(2);
        await page.getByRole('button', { name: /Replay the rest here/ }).click();
        await ran(3);
        console.log(n, 'ok', ok);
        if (!ok) console.log((await page.evaluate(() => window.log)).join('\n'));
        else if (process.argv[4])
            console.log(
                (await page.evaluate(() => window.log)).filter((l) => /SHIFT|---/.test(l)).join('\n'),
            );
    } catch (e) {
        console.log(n, 'FAILED', ok, e.message.split('\n')[0]);
        console.log((await page.evaluate(() => window.log)).join('\n'));
        console.log(
            await page.$$eval('.cell', (all) =>
                all.map(
                    (one) => `${one.dataset.kind} ${one.dataset.status}: ${one.textContent.slice(0, 300)}`,
                ),
            ),
        );
        await page.screenshot({ path: `/tmp/ci/fail-${n}.png` });
    }
    await context.close();
}
await browser.close();
await server.stop();

// Sweeps on the page: the dialog, the table that fills, the plot, the graph, collapse and undo.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { nightly } from './browser.mjs';
import { open, page, ran, release, run, server, test, texts, untilReleased } from './harness.mjs';

const skip = !process.env.RATOON_BIN && 'needs the real server';
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const CELL = `lr = 0.1
kind = 'adam'
total = 0
total = total + 1
if lr == 5:
    raise ValueError("lr is too large")
${untilReleased('rows')}
score = lr * base * (2 if kind == 'sgd' else 1)`;

/** Saves a picture if RATOON_SHOTS names a directory. */
const shot = async (name, on = page) =>
    process.env.RATOON_SHOTS && on.screenshot({ path: join(process.env.RATOON_SHOTS, `sweep-${name}.png`) });

/** The texts of a column of the table, by the visible rows from top to bottom. */
const column = (key, on = page) =>
    on.$$eval(`.sweep-cell[data-key="${key}"]`, (all) =>
        all
            .toSorted((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
            .map((one) => one.textContent.trim()),
    );
/** Waits until a column has these texts. */
async function shows(key, wanted, on = page) {
    await on
        .waitForFunction(
            ([name, all]) => {
                const cells = [...document.querySelectorAll(`.sweep-cell[data-key="${name}"]`)];
                const rows = cells.sort(
                    (a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top,
                );
                return JSON.stringify(rows.map((one) => one.textContent.trim())) === JSON.stringify(all);
            },
            [key, wanted],
        )
        .catch(async (error) => assert.deepEqual(await column(key, on), wanted, error.message));
}
const graphRows = () => texts('.row .what');

test('a sweep from the dialog to the collapse, by keyboard', nightly({ skip }), async () => {
    await run('base = 1');
    await ran(1);
    await page.locator('.cell[data-fresh] .editor').click();
    await page.keyboard.insertText(CELL);
    await page.keyboard.press('Control+Alt+Shift+KeyS');
    await page.locator('.sweep-parameter').first().waitFor();
    assert.deepEqual(await texts('.sweep-parameter label'), ['lr now 0.1', "kind now 'adam'"]);
    assert.match((await texts('.sweep-form .hint')).join(), /Not parameters: .*total \(is assigned/);
    assert.match((await texts('.sweep-sentence')).join(), /^Type values/);

    // A variable that the cell only reads can be added, and removed again.
    await page.getByLabel('Add a variable that the cell reads').selectOption('base');
    await page.waitForFunction(() => document.activeElement?.id === 'sweep-value-base');
    await page.getByRole('button', { name: 'Remove base' }).click();
    await page.getByLabel('Values of lr').focus();

    // An error stands at its field, and the dialog says what will happen.
    await page.keyboard.type('range(1, 8)');
    assert.match((await texts('.sweep-parameter .trouble')).join(), /write 1\.\.7 for range\(1, 8\)/);
    assert.deepEqual(await texts('.sweep-sentence'), ['Correct the marked fields.']);
    await shot('1-error');
    await page.keyboard.press('Control+a');
    await page.keyboard.type('0.5, 2, 5');
    await page.keyboard.press('Tab');
    await page.keyboard.type('adam, sgd');
    await page.getByLabel('Metric', { exact: true }).fill('scor');
    await page.getByLabel('At the same time').fill('3');
    assert.deepEqual(await texts('.sweep-sentence'), ['6 branches of this cell, three at a time.']);
    await shot('2-dialog');
    // The server refuses a value that Python cannot read.
    await page.getByLabel('Values of lr').fill('0.5, 02, 5');
    await page.getByLabel('Metric', { exact: true }).fill('score');
    await page.keyboard.press('Control+Enter');
    await page.waitForFunction(() => document.querySelector('.sweep-parameter .trouble')?.textContent);
    await shot('3-refused');
    await page.getByLabel('Values of lr').fill('0.5, 2, 5');
    await page.keyboard.press('Control+Enter');

    // The table fills while rows run.
    await page.waitForSelector('dialog[data-kind="sweep"] .sweep-row');
    await page.waitForFunction(
        () => document.querySelectorAll('.sweep-row[data-status="running"]').length === 3,
    );
    assert.equal(
        await page.locator('.cell[data-kind="attempt"]').count(),
        0,
        'rows are no cells of the state',
    );
    await shot('4-running');
    await release('rows');
    await shows('status', ['ok', 'ok', 'ok', 'ok', 'failed', 'failed']);
    await page.locator('.sweep-progress b', { hasText: 'Done' }).waitFor();
    await shows('metric', ['0.5', '1', '2', '4', '', '']);
    assert.deepEqual(await column('difference'), ['−3.5', '−3', '−2', 'best', '', '']);
    assert.match((await column('error'))[4], /lr is too large/);
    assert.deepEqual(await texts('.sweep-foot [role="status"]'), [
        'The sweep is done: 4 ok, 2 failed, best 4.',
    ]);
    assert.equal(await page.locator('.sweep-point').count(), 4);
    await shot('5-table');

    // Sorting by keyboard: up to the headers, right to the metric.
    const grid = page.getByRole('grid');
    await grid.focus();
    await page.keyboard.press('Control+Home');
    await page.keyboard.press('ArrowUp');
    for (let i = 0; i < 3; i += 1) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await shows('metric', ['4', '2', '1', '0.5', '', '']);
    assert.deepEqual(
        await page.$$eval('.sweep-head', (all) => all.map((one) => one.getAttribute('aria-sort'))),
        ['none', 'none', 'none', 'descending', 'none', 'none', 'none', 'none', 'none'].slice(
            0,
            await page.locator('.sweep-head').count(),
        ),
    );
    // A column can be hidden.
    await page.locator('.sweep-columns summary').click();
    await page.getByLabel('Time', { exact: true }).uncheck();
    // Escape closes the menu only.
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => document.activeElement?.matches('.sweep-columns:not([open]) summary'));
    assert.equal(await page.locator('.sweep-head', { hasText: 'Time' }).count(), 0);
    // The last column takes the room that is left.
    const edges = await page.$eval('.sweep-grid', (grid) => [
        grid.getBoundingClientRect().left + grid.clientWidth,
        grid.querySelector('.sweep-head:last-child')?.getBoundingClientRect().right ?? 0,
    ]);
    assert.ok(Math.abs(edges[0] - edges[1]) < 2, `${edges}`);
    // The pointer in the plot marks the row.
    const drawing = await page.locator('.sweep-drawing svg').boundingBox();
    const star = await page.locator('.sweep-point[data-best]').boundingBox();
    assert.ok(drawing && star);
    await page.mouse.move(star.x + star.width / 2, star.y + star.height / 2);
    await page.waitForSelector('.sweep-row[data-best][data-marked]');
    assert.match((await texts('.sweep-pointed')).join(), /^Row 4: lr = 2, metric 4$/);
    await page.mouse.move(0, 0);

    // Enter on the second row goes to its state; the graph has its node, and the cell says which.
    await grid.focus();
    await page.keyboard.press('Control+Home');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog', { state: 'detached' });
    await page.locator('.sweep-line-of').waitFor();
    assert.deepEqual(await texts('.sweep-line-of'), ["Row 3 of Sweep 1: lr = 2, kind = 'adam', metric 2"]);
    assert.match((await texts('.cell[data-kind="ran"] .cm-content')).join(), /lr = 2/);
    // Typing writes into the empty cell.
    assert.ok(await page.evaluate(() => document.activeElement?.closest('.cell[data-fresh] .cm-content')));
    await shot('6-row');

    // The graph: the sweep is short, so it is unfolded. Its node folds and unfolds by keyboard.
    const rows = await graphRows();
    assert.equal(rows.filter((name) => /^(★ )?row \d/.test(name)).length, 6);
    assert.ok(rows.includes('★ row 4: 2, sgd · 4'), rows.join('\n'));
    await page.locator('#graph').focus();
    await page.keyboard.press('Home');
    // The cell that released the rows is a branch of its own.
    for (let i = 0; i < 3; i += 1) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowLeft');
    await page.waitForFunction(() => document.querySelectorAll('.row').length === 5);
    assert.deepEqual((await graphRows()).slice(3), ['Sweep 1: lr × kind', 'row 3: 2, adam · 2']);
    assert.equal(await page.locator('.row[data-sweep]').getAttribute('aria-expanded'), 'false');
    await shot('7-folded');
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction(() => document.querySelectorAll('.row').length === 10);

    // The link below the cell leads back to the table; keep the best row.
    await page.locator('.sweep-line-of button').click();
    await page.waitForSelector('.sweep-row');
    const [csv] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download CSV' }).click(),
    ]);
    assert.equal(csv.suggestedFilename(), 'lr-kind.csv');
    const [head, first] = (await readFile(await csv.path(), 'utf8')).split('\r\n');
    assert.equal(head, 'row,lr,kind,score,status,seconds,memory_bytes,error,state');
    assert.match(first ?? '', /^1,0\.5,'adam',0\.5,ok,/);
    // The table is as it was left, and its cursor is at the row of the page.
    await shows('metric', ['4', '2', '1', '0.5', '', '']);
    assert.equal(await page.locator('.sweep-head', { hasText: 'Time' }).count(), 0);
    await page.getByRole('grid').focus();
    await page.locator('.sweep-row[data-row="2"] [data-active]').waitFor();
    // Rows are marked by Space, Ctrl-click and their boxes, and compared.
    await page.keyboard.press('Space');
    await page.locator('.sweep-row[data-row="3"] [data-key="metric"]').click({ modifiers: ['Control'] });
    await page.locator('.sweep-row[data-row="0"] .sweep-pick').click();
    await page.getByRole('button', { name: 'Compare (3)' }).waitFor();
    assert.equal(await page.locator('.sweep-row[aria-selected="true"] input:checked').count(), 3);
    await shot('7b-marked');
    await page.getByRole('button', { name: 'Compare (3)' }).click();
    await page.waitForFunction(() => /^#compare=.+\.\..+\.\./.test(location.hash));
    await page.locator('.compare').waitFor();
    await page.goBack();
    await page.locator('.sweep-line-of button').click();
    await page.waitForSelector('.sweep-row');
    // The best row is kept, or the one to which the cursor was moved.
    await page.getByRole('grid').focus();
    await page.keyboard.press('ArrowDown');
    await page.getByRole('button', { name: 'Keep one row…' }).click();
    assert.deepEqual(await texts('.sweep-kept label'), [
        "Row 4, the best: lr = 2, kind = 'sgd'",
        "Row 2: lr = 0.5, kind = 'sgd'",
    ]);
    await page.getByRole('radio', { name: 'Row 2:' }).check();
    await page.getByRole('button', { name: 'Keep row 2' }).waitFor();
    await page.getByRole('radio', { name: 'Row 4, the best' }).check();
    assert.match((await texts('dialog p')).join(), /The states of 3 other rows are deleted/);
    await shot('8-collapse');
    await page.getByRole('button', { name: 'Keep row 4' }).click();
    await page.getByText('Deleted the states of 3 rows.').first().waitFor();
    await shows('status', ['ok', 'deleted', 'deleted', 'deleted', 'failed', 'failed']);
    await shot('9-collapsed');
    await page.locator('.sweep-said').getByRole('button', { name: 'Undo' }).click();
    await shows('status', ['ok', 'ok', 'ok', 'ok', 'failed', 'failed']);
    await page.keyboard.press('Escape');

    // A phone: the dialog and the table fit, and axe finds nothing.
    const phone = await open(server.url, { viewport: { width: 360, height: 740 }, bypassCSP: true });
    await phone.keyboard.press('F1');
    await phone.waitForSelector('#commands li');
    await phone.keyboard.type('table of a sweep');
    await phone.keyboard.press('Enter');
    await phone.waitForSelector('.sweep-row');
    await phone.evaluate(axe);
    for (const theme of ['light', 'dark']) {
        await phone.emulateMedia({ colorScheme: /** @type {'light'} */ (theme) });
        const bad = await phone.evaluate(async () => {
            const { violations } = await /** @type {any} */ (window).axe.run('dialog');
            return violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html.slice(0, 200))]);
        });
        assert.deepEqual(bad, [], theme);
        await shot(`10-phone-${theme}`, phone);
    }
    const width = await phone.evaluate(() => document.querySelector('dialog')?.scrollWidth ?? 0);
    assert.ok(width <= 360, `${width} px`);
});

// A failed cell, and the variables that it set before the error: undone at first, and restored by a
// click. Only on the real server.

import assert from 'node:assert/strict';
import { before } from 'node:test';
import { nightly } from './browser.mjs';
import { open, page, prints, ran, rows, run, sees, server, test, texts } from './harness.mjs';

before(() => assert.ok(process.env.RATOON_BIN, 'this needs the real server: tests/run browser'));

const IMPORTS = 'import json\nx = 1\nimport no_such_module';
const offer = (on = page) => on.getByRole('button', { name: 'Keep its changes' });

test('one click keeps the variables that a failed cell set, and the next cell can read them', async () => {
    await run(IMPORTS);
    await sees('ModuleNotFoundError');
    await offer().waitFor();
    assert.deepEqual(await texts('.undone-changes'), [
        'The changes that this cell made to variables were undone. Keep its changes',
    ]);
    // The text about undone changes is below the error.
    const [error, line] = await Promise.all(
        ['.error-view', '.undone-changes'].map((one) => page.locator(one).boundingBox()),
    );
    assert.ok(line.y >= error.y + error.height);
    await offer().click();
    await ran(1);
    assert.equal(await offer().count(), 0);
    await sees('partial: the cell failed at line 3');
    await sees('ModuleNotFoundError');
    assert.deepEqual(await rows(), ['Start', 'x = 1']);
    assert.equal(await page.locator('.row[data-status="partial"] .said:not(.late)').textContent(), 'partial');
    await run('print(json.dumps([x]))');
    await prints('[1]');
    await ran(2);
    await page.locator('.row[data-status="partial"]').hover();
    await page.locator('.node-card', { hasText: 'partial: the cell failed at line 3' }).waitFor();
    await page.reload();
    await ran(2);
    await sees('partial: the cell failed at line 3');
});

test(
    'there is nothing to keep if a failed cell set no variable, or if the cell runs again',
    nightly(),
    async () => {
        await run('1 / 0');
        await sees('ZeroDivisionError');
        assert.equal(await offer().count(), 0);
        await page.locator('.cell').first().locator('.cm-content').click();
        await page.keyboard.press('Control+A');
        await page.keyboard.insertText('y = 1\nnobody');
        await page.keyboard.press('Shift+Enter');
        await offer().waitFor();
        await page.locator('.cell').first().locator('.cm-content').click();
        await page.keyboard.press('Control+A');
        await page.keyboard.insertText('y = 1');
        await page.keyboard.press('Shift+Enter');
        await ran(1);
        assert.equal(await offer().count(), 0);
    },
);

test('the changes of a stopped cell can be kept from another tab', nightly(), async () => {
    await run('steps = 0\nwhile True: steps += 1');
    await page.locator('[data-stop]').click();
    await offer().waitFor();
    const other = await open(server.url);
    await offer(other).waitFor();
    await offer(other).click();
    await ran(1, other);
    await sees('partial: the cell was stopped at line 2', other);
    await page.locator('.row[data-status="partial"]').click();
    await sees('partial: the cell was stopped at line 2');
    assert.equal(await offer().count(), 0);
});

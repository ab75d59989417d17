// The main job through the page, with the wheel's server: RATOON_BIN starts it.

import assert from 'node:assert/strict';
import { page, ran, rows, run, test, texts } from '../browser/harness.mjs';

test('the installed server shows its page, runs cells in its own Python, and branches', async () => {
    await run('import sys\nprint(sys.executable)');
    await ran(1);
    assert.deepEqual(await texts('.stream'), [process.env.RATOON_INSTALLED_PYTHON]);
    await run('print(6 * 7)');
    await ran(2);

    await page.locator('.row').nth(1).click();
    await ran(1);
    await run('print(6 * 8)');
    await ran(2);
    assert.equal((await texts('.stream')).at(-1), '48');
    assert.equal((await rows()).length, 4, 'the start, the first cell and two branches');
});

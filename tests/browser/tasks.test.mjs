// Counts the key presses and clicks of five tasks of every day. The table in docs/tour.md has the
// counts, beside those of JupyterLab (tests/bench/tasks-run.mjs): no task takes more in Ratoon.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { page, test } from './harness.mjs';
import { Hands, TASKS } from '../bench/tasks.mjs';

const tour = await readFile(new URL('../../docs/tour.md', import.meta.url), 'utf8');
const rows = [...tour.matchAll(/^\| (.+?) \| (\d+): .+? \| (\d+): .+? \|$/gm)].map(
    ([, name, ratoon, lab]) => ({ name, ratoon: Number(ratoon), lab: Number(lab) }),
);

for (const { name, ratoon } of TASKS) {
    test(`${name}: as few keys and clicks as the tour says, and no more than in JupyterLab`, {
        skip: !process.env.RATOON_BIN,
    }, async () => {
        const hands = new Hands(page);
        await ratoon(hands);
        const row = rows.find((one) => one.name === name);
        assert.equal(hands.count, row?.ratoon);
        assert.ok(hands.count <= row.lab);
    });
}

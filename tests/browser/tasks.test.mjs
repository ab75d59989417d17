// Counts the key presses and clicks of tasks of every day. The tables in docs/tour.md have the
// counts, beside those of JupyterLab (tests/bench/tasks-run.mjs).

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { nightly } from './browser.mjs';
import { page, test, testOnOwnServer, testWithoutPage } from './harness.mjs';
import { GUIDE_TASKS } from '../bench/guide-tasks.mjs';
import { Hands, TASKS } from '../bench/tasks.mjs';

const tour = await readFile(new URL('../../docs/tour.md', import.meta.url), 'utf8');
const rows = [...tour.matchAll(/^\| (.+?) \| (\d+|–): .+? \| (\d+): .+? \|$/gm)].map(
    ([, name, ratoon, lab]) => ({ name, ratoon: ratoon === '–' ? null : Number(ratoon), lab: Number(lab) }),
);
const rowOf = (task) => rows.find((one) => one.name === task.name);
const real = { skip: !process.env.RATOON_BIN };

/** Does a task in Ratoon and compares the count with the tour. */
async function counted(task) {
    const hands = new Hands(page);
    await task.ratoon(hands);
    assert.equal(hands.count, rowOf(task)?.ratoon);
}

for (const task of TASKS) {
    test(
        `${task.name}: as few keys and clicks as the tour says, and no more than in JupyterLab`,
        real,
        async () => {
            await counted(task);
            assert.ok(rowOf(task).ratoon <= rowOf(task).lab);
        },
    );
}

for (const task of GUIDE_TASKS.filter(({ ratoon }) => ratoon))
    testOnOwnServer(`${task.name}: as few keys and clicks as the tour says`, nightly(real), () =>
        counted(task),
    );

testWithoutPage('the tour has all tasks of the guide, and says which Ratoon cannot do', () => {
    assert.equal(GUIDE_TASKS.length, 20);
    for (const task of GUIDE_TASKS)
        assert.equal(rowOf(task)?.ratoon === null, task.ratoon === null, task.name);
});

// The choices of the dialog that takes variables of another state.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupsOf, resolveOf, shownValue, takenCount, undecided } from '../../web/take/take-plan.js';
import { variable } from './records.mjs';

const plan = (groups, conflicts = []) => ({
    groups,
    conflicts,
    take: [],
    delete: [],
    incomplete: [],
    warnings: [],
});

test('what only the other state has changed is taken, and conflicts wait for a choice', () => {
    const groups = groupsOf(plan([['a', 'b'], ['x'], ['y']], [['x']]), null);
    assert.deepEqual(
        groups.map(({ choice }) => choice),
        ['theirs', null, 'theirs'],
    );
    assert.deepEqual([undecided(groups), takenCount(groups)], [1, 3]);
    assert.deepEqual(resolveOf(groups), { a: 'theirs', y: 'theirs' });
    groups[1].choice = 'rename';
    groups[2].choice = 'ours';
    assert.deepEqual([undecided(groups), takenCount(groups)], [0, 3]);
    assert.deepEqual(resolveOf(groups), { a: 'theirs', x: 'rename', y: 'ours' });
});

test('a variable that the user points at is taken with its group, and nothing else', () => {
    const groups = groupsOf(plan([['a', 'b'], ['x']], [['a', 'b']]), 'b');
    assert.deepEqual(
        groups.map(({ choice }) => choice),
        ['theirs', 'ours'],
    );
    assert.equal(groups[0].isConflict, true);
});

test('a state without a variable shows no value', () => {
    const variables = [variable('x', 'int', '1')];
    assert.equal(shownValue('x', variables), '1');
    assert.equal(shownValue('y', variables), null);
    assert.equal(shownValue('y', null), null);
});

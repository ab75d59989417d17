// What is collapsed, as it is stored.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namesIn } from '../../web/cell/folds.js';

test('a stored list of what is collapsed is read; an invalid one is empty', () => {
    assert.deepEqual(namesIn('["a","b"]'), ['a', 'b']);
    assert.deepEqual(namesIn('["a",1,null,{"b":2}]'), ['a']);
    for (const bad of ['', '{', '"a"', '{"a":1}', 'null', '1']) assert.deepEqual(namesIn(bad), [], bad);
});

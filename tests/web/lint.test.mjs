// The problems in the code of cells, and the code that completion knows beside the cell's own.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeAbove } from '../../web/editor/code-assist.js';
import { caretAfter } from '../../web/lint/caret.js';
import { areSame, ofRuff, ofSyntax } from '../../web/lint/problems.js';

test("a problem's offsets are in UTF-16 units, and each problem is in its cell", () => {
    const cells = [
        { key: 'a', text: "'😀'; import os" },
        { key: 'b', text: 'x = 1' },
    ];
    const found = [{ cell: 0, from: 12, to: 14, code: 'F401', message: 'unused' }];
    const all = ofRuff(cells, found);
    assert.deepEqual([...all.keys()], ['a', 'b']);
    assert.deepEqual(all.get('a'), [
        { from: 13, to: 15, severity: 'warning', message: 'unused', source: 'ruff F401' },
    ]);
    assert.deepEqual(all.get('b'), []);
    // The cells have changed since they were sent.
    assert.deepEqual(ofRuff([], found), new Map());
    const [error] = ofSyntax("'😀' =", { from: 4, to: 5, message: 'invalid syntax' });
    assert.deepEqual([error?.from, error?.to, error?.severity], [5, 6, 'error']);
    assert.deepEqual(ofSyntax('x', null), []);
});

test('cells are linted again only if their code has changed', () => {
    const cells = (/** @type {string[]} */ ...texts) => texts.map((text, i) => ({ key: `${i}`, text }));
    assert.ok(areSame(cells('a', 'b'), cells('a', 'b')));
    assert.ok(!areSame(cells('a', 'b'), cells('a', 'c')));
    assert.ok(!areSame(cells('a'), cells('a', 'b')));
});

test('the code above a cell is that of the drafts below its state', () => {
    const ran = (/** @type {string} */ id) => ({
        kind: 'ran',
        key: id,
        state: { id },
        edit: null,
        run: null,
    });
    const draft = (/** @type {string} */ key, /** @type {string} */ source, kind = 'code') => ({
        kind: 'draft',
        key,
        draft: { id: key, kind, source },
    });
    const cells = /** @type {any[]} */ ([
        ran('one'),
        draft('a', 'a = 1'),
        draft('text', 'words', 'markdown'),
        ran('two'),
        draft('b', 'b = 1'),
        draft('c', 'c = 1'),
        draft('d', 'd = 1'),
    ]);
    assert.equal(codeAbove(cells, 'd', 'two'), 'b = 1\nc = 1');
    assert.equal(codeAbove(cells, 'b', 'two'), '');
    assert.equal(codeAbove(cells, 'two', 'one'), 'a = 1');
    const long = [ran('one'), draft('a', `${'# 😀\n'.repeat(20_000)}b = 2`), draft('z', '')];
    const above = codeAbove(/** @type {any} */ (long), 'z', 'one');
    assert.ok(above.length <= 50_000 && above.startsWith('# 😀\n') && above.endsWith('b = 2'));
});

test('the caret stays at its character when code is formatted', () => {
    const moved = (/** @type {string} */ before, /** @type {string} */ after) => {
        const at = caretAfter(before.replace('|', ''), after, before.indexOf('|'));
        return `${after.slice(0, at)}|${after.slice(at)}`;
    };
    assert.equal(moved("d = {  'a|':1}", 'd = {"a": 1}'), 'd = {"a|": 1}');
    assert.equal(moved('|x=1', 'x = 1'), '|x = 1');
    assert.equal(moved('x=1|', 'x = 1'), 'x = 1|');
    assert.equal(moved('f( a,b| )', 'f(a, b)'), 'f(a, b|)');
    assert.equal(moved('f(a,|b)', 'f(a, b)'), 'f(a,| b)');
    assert.equal(moved('é😀=  1\n\n\n|', 'é😀 = 1'), 'é😀 = 1|');
    assert.equal(moved('if x :\n  return|  1', 'if x:\n    return 1'), 'if x:\n    return| 1');
});

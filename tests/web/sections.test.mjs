// Headings, the sections that they begin, and the outline.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hiding, sectionsOf } from '../../web/notebook/sections.js';
import { entryAt, outlineOf } from '../../web/outline/outline.js';
import { headingsIn } from '../../web/text/headings.js';

const levels = (text) => headingsIn(text).map(({ level, text: said }) => `${level} ${said}`);

test('headings are found as Markdown has them', () => {
    assert.deepEqual(levels('# A\ntext\n## B ##\n###### F\n####### no'), ['1 A', '2 B', '6 F']);
    assert.deepEqual(levels('Title\n=====\nSub\n---\n\n---\n- item\n---'), ['1 Title', '2 Sub']);
    assert.deepEqual(levels('#no\n    # code\n   # yes\n\t# code'), ['1 yes']);
    assert.deepEqual(levels('```\n# in code\n~~~\n```\n# out\n~~~~\n# in\n~~~\n# still\n~~~~\n## end'), [
        '1 out',
        '2 end',
    ]);
    assert.deepEqual(levels('# The `x` of **many** [links](to) and ![p](q) \\# *so*\r\n## Two\r\n'), [
        '1 The x of many links and p # so',
        '2 Two',
    ]);
    assert.deepEqual(levels('#'), ['1 ']);
    assert.deepEqual(levels(''), []);
    assert.deepEqual(levels('a'.repeat(100_000)), []);
});

const text = (key, source) => /** @type {any} */ ({ kind: 'text', key, text: source });
const ran = (key, code, status = 'ok') =>
    /** @type {any} */ ({
        kind: 'ran',
        key,
        state: { exec_count: 7, label: null },
        run: { code },
        shown: { status },
        isAsked: false,
    });
const draft = (key, source, more = {}) =>
    /** @type {any} */ ({ kind: 'draft', key, draft: { kind: 'code', source }, isAsked: false, ...more });
const fresh = draft('fresh', '', { isFresh: true });

const CELLS = [
    ran('0', 'import numpy'),
    text('a', '# A\nintro\n## Not its own cell'),
    ran('1', 'x = 1'),
    text('b', '## B'),
    ran('2', 'x = 2', 'running'),
    ran('3', 'x = 3', 'error'),
    text('c', '# C'),
    draft('4', 'y = 1'),
    text('d', '# C'),
    fresh,
];

test('a section ends at the next heading of its level; the empty cell belongs to none', () => {
    const { byKey, around, hidden } = sectionsOf(CELLS, () => false);
    assert.deepEqual(
        [...byKey.values()].map(({ id, count, open, failed }) => [id, count, open, failed]),
        [
            ['# A', 4, 1, 1],
            ['## B', 2, 1, 1],
            ['# C', 1, 0, 0],
            ['# C (2)', 0, 0, 0],
        ],
    );
    assert.equal(around.get('2')?.key, 'b');
    assert.equal(around.get('b')?.key, 'a');
    assert.equal(around.get('fresh'), undefined);
    assert.equal(hidden.size, 0);
});

test('a collapsed section hides its cells and the sections in it, until each is expanded', () => {
    const folded = new Set(['# A', '## B', '# C (2)']);
    const sections = sectionsOf(CELLS, (id) => folded.has(id));
    assert.deepEqual([...sections.hidden], ['1', 'b', '2', '3']);
    assert.deepEqual(
        hiding(sections, '2').map(({ id }) => id),
        ['## B', '# A'],
    );
    assert.deepEqual(hiding(sections, 'a'), []);
    assert.deepEqual([...sectionsOf(CELLS, (id) => id === '## B').hidden], ['2', '3']);
});

const lines = (entries) =>
    entries.map(
        ({ depth, text: said, status, number }) =>
            `${'  '.repeat(depth)}${said}${number === null ? '' : ` ${number}`}${status && ` (${status})`}`,
    );

test('the outline nests headings and, on request, lists the cells between them', () => {
    const sections = sectionsOf(CELLS, () => false);
    assert.deepEqual(lines(outlineOf(CELLS, sections, false)), [
        'A',
        '  Not its own cell',
        '  B (running)',
        'C',
        'C',
    ]);
    assert.deepEqual(lines(outlineOf(CELLS, sections, true)), [
        'import numpy 7',
        'A',
        '  Not its own cell',
        '    x = 1 7',
        '  B',
        '    x = 2 7 (running)',
        '    x = 3 7 (failed)',
        'C',
        '  y = 1',
        'C',
    ]);
});

test('a cell whose state has a label is in the outline by that label', () => {
    const named = { ...ran('x', 'x = 4'), state: { exec_count: 7, label: 'baseline' } };
    const cells = [text('a', '# A'), named, ran('y', 'y = 1')];
    const sections = sectionsOf(cells, () => false);
    assert.deepEqual(lines(outlineOf(cells, sections, false)), ['A', '  baseline 7']);
    assert.deepEqual(lines(outlineOf(cells, sections, true)), ['A', '  baseline 7', '  y = 1 7']);
});

test('a collapsed section has one entry, which says what its cells do', () => {
    const sections = sectionsOf(CELLS, (id) => id === '# A');
    assert.deepEqual(lines(outlineOf(CELLS, sections, true)), [
        'import numpy 7',
        'A',
        '  Not its own cell (running)',
        'C',
        '  y = 1',
        'C',
    ]);
});

test('the place in the outline is the last entry at or above a cell', () => {
    const sections = sectionsOf(CELLS, () => false);
    const entries = outlineOf(CELLS, sections, false);
    const at = (key) => entries[entryAt(entries, CELLS, key)]?.text;
    assert.deepEqual(
        [at('0'), at('a'), at('1'), at('3'), at('fresh'), at(null)],
        [undefined, 'A', 'Not its own cell', 'B', 'C', undefined],
    );
    assert.deepEqual(
        outlineOf(
            [fresh],
            sectionsOf([fresh], () => false),
            true,
        ),
        [],
    );
});

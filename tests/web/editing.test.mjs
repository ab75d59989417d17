// Operations on cells other than typing, and the state that completion requests name. No browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CodeAssist, stateBehind } from '../../web/editor/code-assist.js';
import { moveTextBy, placeTexts } from '../../web/cell/drop-cells.js';
import { isRestOfLine, movedBy, partsOf, without } from '../../web/cell/cell-operations.js';
import { textOf } from '../../web/notebook/cell-list.js';
import { Model } from '../../web/shell/model.js';
import { Page } from '../../web/notebook/page.js';
import { editsOf } from './edits.mjs';
import { python, run, state } from './records.mjs';

/** @typedef {import('../../web/shell/protocol-types.d.ts').Draft} Draft */
/** @param {Draft['kind']} [kind] @returns {Draft} */
const draft = (id, on, source = id, kind = 'code', before = null) => ({
    ...{ id, on, before, kind, source },
    version: 1,
});

/** Opens a page on root → a → b → c and records the commands that it sends. */
function open({ drafts = [], more = [], here = 'c', living = {}, prose = {} } = {}) {
    const sent = [];
    const replies = {};
    const send = (command) => (sent.push(command), Promise.resolve(replies[command.do] ?? { kind: 'done' }));
    const page = new Page(new Model(), {
        send,
        requestPaint: () => {},
        paintNow: () => {},
        paintIfDue: () => {},
        ask: async () => true,
        setAddress: () => {},
        recall: () => null,
        remember: () => {},
    });
    page.onScope('owner');
    page.onConnection('open');
    const line = [['a', 'initial'], ['b', 'a'], ['c', 'b'], ...more];
    page.onSnapshot(
        {
            name: 'main',
            python: python(),
            trouble: null,
            people: [],
            drafts,
            states: [
                state('initial', null),
                ...line.map(([id, parent]) =>
                    state(id, parent, { living: living[id] ?? 'memory', prose: prose[id] ?? [] }),
                ),
            ],
            runs: line.map(([id, parent, code]) =>
                run(`run-${id}`, parent, { state: id, ...(code && { code }) }),
            ),
        },
        here,
    );
    const edits = editsOf(page);
    return { page, sent, replies, edits, operations: edits.operations };
}
/** The cells as `any`, because each test knows their kinds. @returns {any[]} */
const cellsOf = (page) => page.cells();
const cell = (page, key) =>
    cellsOf(page).find((one) => one.key === key || (one.kind === 'ran' && one.state.id === key));
const sources = (page, on = page.here) => page.drafts.on(on).map((one) => one.source);
const shown = (page) =>
    cellsOf(page)
        .map((one) => one.state?.id ?? (one.isFresh ? '?' : one.draft.source || '_'))
        .join(' ');

test('a cell inserted above one that ran begins a branch and is shown while empty; below the last cell it is a draft', () => {
    const { page, sent, operations } = open();
    operations.insertAbove(cell(page, 'b'));
    assert.deepEqual([sent.at(-1).draft.on, sent.at(-1).draft.before], ['a', 'b']);
    assert.equal(shown(page), 'a _ b c ?');
    operations.insertBelow(cell(page, 'b'), { kind: 'code', source: 'here' });
    assert.equal(shown(page), 'a _ b here c ?');
    operations.insertBelow(cell(page, 'c'));
    assert.deepEqual([sent.at(-1).draft.on, sent.at(-1).after], ['c', null]);
});

test('a cell that runs in the middle of a lineage moves the cells below it along; one that waits for another run does not', () => {
    const { page, sent, operations } = open({ drafts: [draft('tail', 'c')] });
    operations.insertBelow(cell(page, 'a'), { kind: 'code', source: 'one' });
    operations.insertBelow(page.cells()[1], { kind: 'code', source: 'two' });
    assert.equal(shown(page), 'a one two b c tail ?');
    sent.length = 0;
    const runs = () =>
        sent
            .filter((one) => one.do === 'run')
            .map(({ code, on, instead_of }) => [code, on.state ?? 'waits', instead_of]);
    page.ownRuns.run(page.cells()[1], 'one');
    page.ownRuns.run(page.cells()[2], 'two');
    assert.deepEqual(runs(), [
        ['one', 'a', { state: 'a', tip: 'c' }],
        ['two', 'waits', undefined],
    ]);
    sent.length = 0;
    page.ownRuns.run(
        cellsOf(page).find((one) => one.draft?.id === 'tail'),
        'tail',
    );
    assert.deepEqual(runs(), [['tail', 'c', undefined]], 'there are no cells below the last one');
    const after = open({
        more: [['n', 'a', 'inserted']],
        here: 'n',
        drafts: [draft('copy', 'n', 'code of run-b')],
    });
    assert.equal(
        isRestOfLine(after.page, after.page.ownRuns.runnable()),
        true,
        'the waiting drafts are the rest of the lineage',
    );
});

test('a restart puts the cells of the lineage on the start as drafts, in order, and deletes nothing; it can be undone', () => {
    const { page, sent, edits } = open({
        drafts: [draft('kept', 'initial'), draft('tail', 'c', '# t', 'markdown'), draft('empty', 'c', ' ')],
        prose: { b: ['text of b'] },
    });
    page.type(cell(page, 'b'), 'b changed');
    sent.length = 0;
    edits.restart();
    assert.equal(page.here, 'initial');
    assert.deepEqual(
        page.drafts.on('initial').map(({ kind, source }) => [kind[0], source]),
        [
            ['c', 'code of run-a'],
            ['m', 'text of b'],
            ['c', 'b changed'],
            ['c', 'code of run-c'],
            ['m', '# t'],
            ['c', ' '],
            ['c', 'kept'],
        ],
    );
    assert.deepEqual(
        [...new Set(sent.map((one) => one.do))].filter((one) => one !== 'stand'),
        ['put_draft'],
    );
    assert.deepEqual(sources(page, 'c'), ['# t', ' '], 'the old lineage is unchanged');
    // The tab remembers them at each run, so only those are opened that need it.
    assert.deepEqual(
        [...page.openedDrafts].map((id) => page.drafts.get(id).source),
        [' '],
    );
    assert.match(
        page.notice.text,
        /3 cells are now drafts\. They come before the draft that was already here\./,
    );
    page.notice.act.act();
    assert.equal(page.here, 'c');
    assert.deepEqual(sources(page, 'initial'), ['kept']);
});

test('drafts made from cells of an imported file keep the number of the cell, even if it is empty', () => {
    const numbered = { ...draft('empty', 'c', ''), imported_cell: 3 };
    const { page, operations } = open({ drafts: [draft('tail', 'c'), numbered] });
    page.model.runOf(page.model.states.get('a')).imported_cell = 0;
    operations.restart();
    assert.deepEqual(
        page.drafts.on('initial').map((one) => one.imported_cell),
        [0, undefined, undefined, undefined, 3],
    );
    const id = operations.insertBelow(page.cells().at(-1), {
        ...{ kind: 'code', source: 'pasted' },
        imported_cell: 2,
    });
    assert.equal(page.drafts.get(id).imported_cell, 2);
});

test('the drafts of a restart are shown at the start only, and the next restart replaces them', () => {
    const { page, edits } = open({
        drafts: [draft('title', 'initial', '# Title', 'markdown', 'a'), draft('own', 'initial')],
    });
    edits.restart();
    assert.equal(shown(page), '# Title code of run-a code of run-b code of run-c own ?');
    page.goTo('c');
    assert.equal(shown(page), '# Title a b c ?', 'a lineage shows its own drafts only');
    page.type(cell(page, 'c'), 'changed');
    edits.restart();
    assert.equal(shown(page), '# Title code of run-a code of run-b changed own ?');
    page.notice.act.act();
    page.goTo('initial');
    assert.equal(
        shown(page),
        '# Title code of run-a code of run-b code of run-c own ?',
        'Undo restores the earlier drafts',
    );
    page.goTo('b');
    edits.restart();
    assert.match(page.notice.text, /2 cells are now drafts\. They come before/);
    assert.equal(shown(page), '# Title code of run-a code of run-b own ?');
    edits.restart();
    assert.equal(
        shown(page),
        '# Title code of run-a code of run-b own ?',
        'at the start there is nothing to restart',
    );
});

test('a draft on the start that runs is not replaced by a restart', () => {
    const { page, operations } = open({ drafts: [draft('copy', 'initial', 'code of run-a')] });
    page.onEvent({ event: 'run_added', run: run('r', 'initial', { status: 'running', draft: 'copy' }) });
    operations.restart();
    assert.ok(page.drafts.get('copy'));
});

test('a draft at an earlier state is not shown in lineages that continue from there', () => {
    const { page } = open({
        drafts: [
            draft('waits', 'a'),
            draft('left', 'a', 'left', 'code', 'b'),
            draft('gone', 'a', 'gone', 'code', 'deleted'),
        ],
    });
    assert.equal(shown(page), 'a left b c ?');
    assert.deepEqual(
        ['initial', 'a', 'b', 'c'].map((id) => page.model.waitingAt(id)),
        [0, 2, 0, 0],
        'the graph shows where the drafts are',
    );
    page.goTo('a');
    assert.equal(shown(page), 'a waits gone ?', 'a draft above a deleted cell must be shown somewhere');
    const { marksRev } = page.model;
    page.onEvent({
        event: 'drafts_changed',
        on: 'a',
        removed: [],
        put: [{ draft: draft('waits', 'a', 'typed'), after: null }],
    });
    assert.equal(page.model.marksRev, marksRev, 'typing in a draft does not render the graph');
    page.onEvent({ event: 'drafts_changed', on: 'a', removed: ['waits'], put: [] });
    assert.notEqual(page.model.marksRev, marksRev);
});

test('drafts move by one step or after another draft, together and in order; drafts that cannot move stay', () => {
    const { page, sent, operations } = open({ drafts: ['d1', 'd2', 'd3', 'd4'].map((id) => draft(id, 'c')) });
    const moves = () =>
        sent
            .splice(0)
            .map(
                ({ draft: { id }, after, in_place }) => (
                    assert.equal(in_place, false), `${id} after ${after}`
                ),
            );
    assert.equal(operations.moveBy(['d1'], -1), false);
    assert.equal(operations.moveBy(['d4'], 1), false);
    assert.deepEqual(moves(), []);
    operations.moveBy(['d2'], 1);
    assert.deepEqual(moves(), ['d2 after d3']);
    operations.moveBy(['d2', 'd3'], -1);
    assert.deepEqual(moves(), ['d2 after null', 'd3 after d2']);
    operations.moveAfter(['d4', 'd1'], 'd2');
    assert.deepEqual(moves(), ['d1 after d2', 'd4 after d1']);
    operations.moveAfter(['d2', 'd3'], 'd3');
    assert.deepEqual(moves(), [], 'after itself means no move');
    assert.equal(page.here, 'c');
});

test('a draft can be split at its cursors and merged again', () => {
    const { page, edits, operations } = open({ drafts: [draft('d', 'c', 'one\ntwo\nthree')] });
    operations.split(cell(page, 'd'), 'one\ntwo\nthree', [8, 4]);
    assert.deepEqual(sources(page), ['one', 'two', 'three']);
    const drafts = cellsOf(page).filter((one) => one.kind === 'draft' && !one.isFresh);
    edits.history.record(() => operations.merge(drafts), { said: 'merged', isTold: true });
    assert.deepEqual(sources(page), ['one\n\ntwo\n\nthree']);
    page.notice.act.act();
    assert.deepEqual(sources(page), ['one', 'two', 'three']);
});

test('a lineage can continue without a cell: the later cells become drafts, with their text; this can be undone', () => {
    const { page, edits, operations } = open({ prose: { c: ['# Why'] } });
    edits.history.record(() => operations.rewrite(without(page.cells(), [cell(page, 'b')])), {
        said: ({ count }) => `${count} wait`,
        isTold: true,
    });
    assert.equal(page.here, 'a');
    assert.deepEqual(sources(page), ['# Why', 'code of run-c']);
    assert.equal(page.model.states.size, 4);
    assert.equal(isRestOfLine(page, page.ownRuns.runnable()), true);
    // The notice counts the cells that *Run … below* runs.
    assert.equal(page.notice.text, '1 wait');
    assert.equal(page.ownRuns.runnable().length, 1);
    page.notice.act.act();
    assert.equal(page.here, 'c');
    assert.deepEqual(sources(page, 'a'), []);
});

test('continuing without a cell copies the drafts, and leaves the old lineage unchanged', () => {
    const { page, operations } = open({
        drafts: [
            draft('title', 'a', '# t', 'markdown', 'b'),
            draft('between', 'b', 'between', 'code', 'c'),
            draft('tail', 'c'),
            draft('other', 'a'),
        ],
    });
    for (const time of ['once', 'again']) {
        const { count } = operations.rewrite(without(page.cells(), [cell(page, 'b')]));
        assert.equal(shown(page), 'a # t between code of run-c tail other ?', time);
        assert.equal(count, 3, 'the cells that wait');
        page.goTo('c');
        assert.equal(shown(page), 'a # t b between c tail ?', time);
    }
    operations.rewrite(without(page.cells(), [cell(page, 'a')]));
    assert.equal(shown(page), '# t code of run-b between code of run-c tail ?');
});

test('cells that ran are changed as one step: what the list begins with stays, the rest are drafts, and Undo goes back', () => {
    const { page, edits, operations } = open({ drafts: [draft('tail', 'c')], prose: { c: ['# Why'] } });
    const { history } = edits;
    const rewrite = (wanted) => history.record(() => operations.rewrite(wanted), { said: 'changed' });
    for (const id of ['run-a', 'run-b', 'run-c'])
        page.onEvent({
            event: 'output_added',
            exec_id: id,
            output: { output_type: 'stream', name: 'stdout', text: 'x' },
        });
    const before = shown(page);
    const stale = () => cellsOf(page).map((one) => one.stale?.exec_id ?? '-');
    const isSame = (now) => {
        assert.equal(shown(page), before);
        assert.equal(page.here, 'c', now);
    };
    // `b` moves down past the text above `c`, then up to the top.
    const down = rewrite(movedBy(page.cells(), [cell(page, 'b')], 1));
    assert.equal(shown(page), 'a # Why code of run-b code of run-c tail ?');
    assert.deepEqual(stale(), ['-', '-', 'run-b', 'run-c', '-', '-'], 'outputs go along');
    assert.equal(cellsOf(page)[2].key, down.keys[2]);
    assert.ok(history.undo());
    assert.equal(history.undo(), null, 'only once');
    isSame('after moving down');
    rewrite(movedBy(page.cells(), [cell(page, 'b')], -1));
    assert.equal(shown(page), 'code of run-b code of run-a # Why code of run-c tail ?');
    history.undo();
    isSame('after moving up');
    history.redo();
    assert.equal(shown(page), 'code of run-b code of run-a # Why code of run-c tail ?', 'again');
    history.undo();
    isSame('after moving up again');
    // A draft moves up past a cell that ran.
    const tail = cellsOf(page).find((one) => one.draft?.id === 'tail');
    rewrite(movedBy(page.cells(), [tail], -1));
    assert.equal(shown(page), 'a b # Why tail code of run-c ?');
    history.undo();
    isSame('after moving a draft');
    assert.equal(movedBy(page.cells(), [cell(page, 'a')], -1), null, 'it is on top');
    assert.equal(movedBy(page.cells(), [tail], 1), null, 'below is only the empty cell');
    // Pieces in place of a cell.
    const pieces = partsOf('one\ntwo', [3]).map(
        (source) =>
            /** @type {import('../../web/cell/cell-operations.js').Piece} */ ({ kind: 'code', source }),
    );
    const split = rewrite(page.cells().map((one) => (one.key === cell(page, 'b').key ? pieces : one)));
    assert.equal(shown(page), 'a one two # Why code of run-c tail ?');
    assert.equal(split.count, 4, 'the number of cells that wait');
    history.undo();
    isSame('after splitting');
});

test('cells below a deleted state are changed at the last state that is there', () => {
    const { page, operations } = open({ living: { b: 'deleted' } });
    operations.rewrite(without(page.cells(), [cell(page, 'c')]));
    assert.equal(page.here, 'a');
    assert.equal(shown(page), 'a code of run-b ?');
});

test('drafts are the rest of a lineage only if their cells followed there before', () => {
    const rest = { here: 'a2', more: [['a2', 'initial']] };
    const one = open({ ...rest, drafts: [draft('d', 'a2', 'code of run-b')] });
    assert.equal(isRestOfLine(one.page, one.page.ownRuns.runnable()), true);
    const other = open({ ...rest, drafts: [draft('d', 'a2', 'something new')] });
    assert.equal(isRestOfLine(other.page, other.page.ownRuns.runnable()), false);
    assert.equal(isRestOfLine(open().page, []), false);
});

test('many cells are changed in one step, and its Undo keeps what was typed since', () => {
    const { page, sent, edits } = open({
        drafts: [draft('d1', 'c'), draft('d2', 'c')],
        prose: { a: ['x'] },
    });
    const count = edits.replaceTexts([
        { key: 'd1', text: 'D1' },
        { key: 'd2', text: 'd2' },
        { key: 'a', text: 'changed' },
        { key: 'a.0', text: 'X' },
    ]);
    assert.equal(count, 3);
    assert.equal(textOf(cell(page, 'a')), 'changed');
    assert.deepEqual(
        sent.filter((one) => one.do === 'put_prose').map((one) => one.prose),
        [['X']],
    );
    page.type(cell(page, 'd1'), 'typed since');
    page.notice.act.act();
    assert.deepEqual(sources(page), ['typed since', 'd2']);
    assert.equal(cell(page, 'a').edit, undefined);
});

test('requests about code name the state that it would run against; below a run, the state that the run began from', () => {
    const { page } = open({
        drafts: [draft('d1', 'c'), draft('d2', 'c'), draft('d3', 'c'), draft('text', 'c', '# t', 'markdown')],
    });
    assert.equal(stateBehind(page, 'd2'), 'c');
    assert.equal(stateBehind(page, 'b'), 'a');
    assert.equal(stateBehind(page, 'text'), undefined);
    assert.equal(stateBehind(page, 'gone'), undefined);
    page.ownRuns.run(cell(page, 'd1'), 'd1');
    assert.equal(stateBehind(page, 'd2'), 'c', 'the server has not reported the run yet');
    page.onEvent({ event: 'run_added', run: run('r1', 'c', { status: 'running', draft: 'd1' }) });
    page.onEvent({
        event: 'run_added',
        run: run('r2', null, { on: { run: 'r1' }, status: 'queued', draft: 'd2' }),
    });
    assert.equal(stateBehind(page, 'd3'), 'c');
    assert.equal(
        stateBehind(open({ drafts: [draft('d', 'c')], living: { c: 'replay' } }).page, 'd'),
        undefined,
        'no process can answer there',
    );
});

test('offsets in answers are converted to UTF-16; refusals give no answer; slow answers suspend requests while typing', async () => {
    const { page, sent, replies } = open({ drafts: [draft('d', 'c', '🌱 pr')] });
    let now = 0;
    const asking = new CodeAssist(page, () => now);
    replies.complete = {
        kind: 'completions',
        from: 2,
        to: 4,
        items: [{ text: 'print', kind: 'function', signature: null }],
    };
    const answer = await asking.complete('d', '🌱 pr', 5);
    assert.deepEqual([sent.at(-1).cursor, answer.from, answer.to], [4, 3, 5]);
    assert.equal(asking.isQuick, true);
    replies.inspect = { kind: 'refused', code: 'unsupported', what: 'x', why: 'y', how: 'z' };
    assert.equal(await asking.inspect('d', 'pr', 2), undefined);
    replies.inspect = { kind: 'inspected', object: null };
    assert.equal(await asking.inspect('d', 'pr', 2), null);
    assert.equal(page.notice, null);
    const pending = asking.complete('d', 'pr', 2);
    now = 2000;
    await pending;
    assert.equal(asking.isQuick, false);
    now = 30_000;
    assert.equal(asking.isQuick, true);
});

test('text cells stand above their cell, are numbered with the drafts, and are edited one at a time', () => {
    const { page } = open({
        drafts: [draft('t', 'c', '# tail', 'markdown')],
        prose: { a: ['one', 'two'], c: ['three'] },
    });
    assert.deepEqual(
        cellsOf(page).map((one) => `${one.key}${one.number ? ` T${one.number}` : ''}`),
        ['a.0 T1', 'a.1 T2', 'a', 'b', 'c.0 T3', 'c', 't T4', page.freshId],
    );
    page.type(cell(page, 'a.1'), 'TWO');
    assert.equal(cell(page, 'a.1').text, 'TWO', 'shown while typing');
    assert.deepEqual(page.model.states.get('a').prose, ['one', 'two']);
    page.saveText(cell(page, 'a.1'));
    assert.deepEqual(page.model.states.get('a').prose, ['one', 'TWO']);
});

test('text cells move past texts and past code, up to a draft at the end, and each move can be undone', () => {
    const { page, edits } = open({ prose: { a: ['one', 'two'] } });
    const { history } = edits;
    const places = () => ['a', 'b', 'c'].map((id) => page.model.states.get(id).prose.join(' '));
    const move = (key, step) => {
        let now = null;
        edits.focus.go = (/** @type {any} */ to) => (now = to.key);
        moveTextBy(edits, key, step);
        return now;
    };
    assert.equal(move('a.0', -1), null);
    const swap = move('a.0', 1);
    assert.deepEqual([swap, places()], ['a.1', ['two one', '', '']]);
    const past = move('a.1', 1);
    assert.deepEqual([past, places()], ['b.0', ['two', 'one', '']]);
    assert.equal(history.undo().key, 'a.1');
    assert.equal(history.undo().key, 'a.0');
    assert.deepEqual(places(), ['one two', '', '']);
    page.prose.set('c', ['end']);
    const key = move('c.0', 1);
    assert.deepEqual(sources(page), ['end']);
    const back = move(key, -1);
    assert.deepEqual([back, sources(page), places()[2]], ['c.0', [], 'end']);
});

test('a raw cell moves past texts and past code as a draft, and texts above its place become drafts', () => {
    const { page, edits } = open({
        drafts: [draft('raw', 'c', 'raw', 'raw')],
        prose: { c: ['one', 'two'] },
    });
    const look = () => cellsOf(page).map((one) => one.text ?? one.draft?.source ?? one.state.id);
    const move = (step) => {
        const { key } = cellsOf(page).find((one) => one.draft?.kind === 'raw');
        moveTextBy(edits, key, step);
        return look();
    };
    const before = look();
    assert.deepEqual(before, ['a', 'b', 'one', 'two', 'c', 'raw', '']);
    assert.deepEqual(move(-1), ['a', 'b', 'one', 'two', 'raw', 'c', '']);
    assert.deepEqual(page.model.states.get('c').prose, []);
    assert.deepEqual(move(1), before);
    edits.history.undo();
    edits.history.undo();
    assert.deepEqual(look(), before);
    assert.deepEqual(page.model.states.get('c').prose, ['one', 'two']);
});

test('undo skips a step of which nothing can be undone any more, but going back to a step stops there', () => {
    for (const { left, remaining } of [
        { left: undefined, remaining: ['typed since'] },
        { left: 1, remaining: ['typed since', 'old'] },
    ]) {
        const { page, edits, operations } = open();
        const add = (source) =>
            edits.history.record(() => operations.insertAtEnd(cell(page, 'c'), { kind: 'code', source }), {
                said: 'added',
            });
        add('old');
        const key = add('new');
        page.type(cell(page, key), 'typed since');
        edits.undo(left);
        assert.deepEqual(sources(page), remaining);
        assert.equal(edits.history.done.length, left ?? 0);
    }
});

test('texts that are dragged become texts of the state at whose cell they are dropped, or drafts', () => {
    const { page, edits, operations } = open({
        drafts: [draft('d', 'c'), draft('note', 'c', 'note', 'markdown')],
        prose: { a: ['one', 'two'], b: ['three'] },
    });
    const before = shown(page);
    const look = () => cellsOf(page).map((one) => one.text ?? one.draft?.source ?? one.state.id);
    const place = (keys, below) =>
        edits.history.record(
            () =>
                placeTexts(
                    operations,
                    keys.map((key) => cell(page, key)),
                    below === undefined ? undefined : cell(page, below),
                ),
            { said: 'moved' },
        );
    const back = () => {
        edits.history.undo();
        assert.equal(shown(page), before);
    };
    assert.deepEqual(look(), ['one', 'two', 'a', 'three', 'b', 'c', 'd', 'note', '']);
    assert.equal(place(['a.0'], 'b'), 'b.1');
    assert.deepEqual(look(), ['two', 'a', 'three', 'one', 'b', 'c', 'd', 'note', '']);
    back();
    assert.equal(place(['a.0', 'note'], 'b.0'), 'b.0');
    assert.deepEqual(look(), ['two', 'a', 'one', 'note', 'three', 'b', 'c', 'd', '']);
    back();
    assert.equal(place(['a.0'], 'a'), 'a.1', 'below a text of the same cell');
    assert.deepEqual(look(), ['two', 'one', 'a', 'three', 'b', 'c', 'd', 'note', '']);
    back();
    place(['a.0', 'b.0'], 'd');
    assert.deepEqual(look(), ['two', 'a', 'b', 'c', 'one', 'three', 'd', 'note', '']);
    back();
    place(['a.1'], undefined);
    assert.deepEqual(look(), ['one', 'a', 'three', 'b', 'c', 'd', 'note', 'two', '']);
});

test('a cell inserted between a text and its code turns the texts above it into drafts there', () => {
    const { page, operations } = open({ prose: { b: ['one', 'two'] } });
    const id = operations.insertBelow(cell(page, 'b.0'));
    const kinds = cellsOf(page).map((one) =>
        one.key === id ? 'new' : (one.text ?? one.draft?.source ?? one.key),
    );
    assert.deepEqual(kinds, ['a', 'one', 'new', 'two', 'b', 'c', '']);
    assert.deepEqual(page.model.states.get('b').prose, ['two']);
});

test('deleted texts return to their position with one undo, together with drafts', () => {
    const { page, edits } = open({ drafts: [draft('d', 'c')], prose: { c: ['one', 'two', 'three'] } });
    const texts = ['c.0', 'c.2'].map((key) => cell(page, key));
    edits.history.record(() => edits.operations.remove([page.drafts.get('d')], texts), { said: 'deleted' });
    assert.deepEqual([page.model.states.get('c').prose, sources(page)], [['two'], []]);
    edits.undo();
    assert.deepEqual([page.model.states.get('c').prose, sources(page)], [['one', 'two', 'three'], ['d']]);
});

// Operations on cells other than typing, and the state that completion requests name. No browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CodeAssist, stateBehind } from '../../web/editor/code-assist.js';
import { CellOperations, isRestOfLine } from '../../web/cell/cell-operations.js';
import { Model } from '../../web/shell/model.js';
import { Page } from '../../web/notebook/page.js';
import { run, state } from './records.mjs';

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
    return { page, sent, replies, operations: new CellOperations(page) };
}
/** The cells as `any`, because each test knows their kinds. @returns {any[]} */
const cellsOf = (page) => page.cells();
const cell = (page, key) => cellsOf(page).find((one) => one.key === key || one.state?.id === key);
const sources = (page, on = page.here) => page.drafts.on(on).map((one) => one.source);
const shown = (page) =>
    cellsOf(page)
        .map((one) => one.state?.id ?? (one.isFresh ? '?' : one.draft.source || '_'))
        .join(' ');

test('a cell above one that ran begins a branch there, and is shown while it is empty; below the last it is a draft', () => {
    const { page, sent, operations } = open();
    operations.insertAbove(cell(page, 'b'));
    assert.deepEqual([sent.at(-1).draft.on, sent.at(-1).draft.before], ['a', 'b']);
    assert.equal(shown(page), 'a _ b c ?');
    operations.insertBelow(cell(page, 'b'), { kind: 'code', source: 'here' });
    assert.equal(shown(page), 'a _ b here c ?');
    operations.insertBelow(cell(page, 'c'));
    assert.deepEqual([sent.at(-1).draft.on, sent.at(-1).after], ['c', null]);
});

test('a cell that runs in the midst of the line takes what stands below it along; one that waits for another does not', () => {
    const { page, sent, operations } = open({ drafts: [draft('tail', 'c')] });
    operations.insertBelow(cell(page, 'a'), { kind: 'code', source: 'one' });
    operations.insertBelow(page.cells()[1], { kind: 'code', source: 'two' });
    assert.equal(shown(page), 'a one two b c tail ?');
    sent.length = 0;
    const runs = () =>
        sent
            .filter((one) => one.do === 'run')
            .map(({ code, on, instead_of }) => [code, on.state ?? 'waits', instead_of]);
    page.run(page.cells()[1], 'one');
    page.run(page.cells()[2], 'two');
    assert.deepEqual(runs(), [
        ['one', 'a', { state: 'a', tip: 'c' }],
        ['two', 'waits', undefined],
    ]);
    sent.length = 0;
    page.run(
        cellsOf(page).find((one) => one.draft?.id === 'tail'),
        'tail',
    );
    assert.deepEqual(runs(), [['tail', 'c', undefined]], 'below the last nothing stands');
    const after = open({
        more: [['n', 'a', 'inserted']],
        here: 'n',
        drafts: [draft('copy', 'n', 'code of run-b')],
    });
    assert.equal(isRestOfLine(after.page, after.page.runnable()), true, 'what waits is offered as the rest');
});

test('a restart lays the line on the start as drafts, as it reads, and deletes nothing; it can be undone', () => {
    const { page, sent, operations } = open({
        drafts: [draft('kept', 'initial'), draft('tail', 'c', '# t', 'markdown'), draft('empty', 'c', ' ')],
        prose: { b: ['text of b'] },
    });
    page.type(cell(page, 'b'), 'b changed');
    sent.length = 0;
    operations.restart();
    assert.equal(page.here, 'initial');
    assert.deepEqual(
        page.drafts.on('initial').map(({ kind, source }) => [kind[0], source]),
        [
            ['c', 'code of run-a'],
            ['m', 'text of b'],
            ['c', 'b changed'],
            ['c', 'code of run-c'],
            ['m', '# t'],
            ['c', 'kept'],
        ],
    );
    assert.deepEqual(
        [...new Set(sent.map((one) => one.do))].filter((one) => one !== 'stand'),
        ['put_draft'],
    );
    assert.deepEqual(sources(page, 'c'), ['# t', ' '], 'the old line is as it was');
    assert.match(
        page.notice.text,
        /5 cells are now drafts\. They come before the draft that was already here\./,
    );
    page.notice.act.act();
    assert.equal(page.here, 'c');
    assert.deepEqual(sources(page, 'initial'), ['kept']);
});

test('what a restart has laid on the start is seen there alone, and replaced by the next restart', () => {
    const { page, operations } = open({
        drafts: [draft('title', 'initial', '# Title', 'markdown', 'a'), draft('own', 'initial')],
    });
    operations.restart();
    assert.equal(shown(page), '# Title code of run-a code of run-b code of run-c own ?');
    page.goTo('c');
    assert.equal(shown(page), '# Title a b c ?', 'a line shows what is its own');
    page.type(cell(page, 'c'), 'changed');
    operations.restart();
    assert.equal(shown(page), '# Title code of run-a code of run-b changed own ?');
    page.notice.act.act();
    page.goTo('initial');
    assert.equal(
        shown(page),
        '# Title code of run-a code of run-b code of run-c own ?',
        'undone, it is as before',
    );
    page.goTo('b');
    operations.restart();
    assert.match(page.notice.text, /3 cells are now drafts\. They come before/);
    assert.equal(shown(page), '# Title code of run-a code of run-b own ?');
    operations.restart();
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

test('a draft that waits at an earlier state stands in no line that went on from there', () => {
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
        'the graph tells where it is',
    );
    page.goTo('a');
    assert.equal(shown(page), 'a waits gone ?', 'above a cell that is gone it would be seen nowhere');
    const { marksRev } = page.model;
    page.onEvent({
        event: 'drafts_changed',
        on: 'a',
        removed: [],
        put: [{ draft: draft('waits', 'a', 'typed'), after: null }],
    });
    assert.equal(page.model.marksRev, marksRev, 'a letter is no reason to paint the graph');
    page.onEvent({ event: 'drafts_changed', on: 'a', removed: ['waits'], put: [] });
    assert.notEqual(page.model.marksRev, marksRev);
});

test('drafts are moved by a step or behind another, together and in order; what cannot move stays', () => {
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
    assert.deepEqual(moves(), [], 'behind itself is where it is');
    assert.equal(page.here, 'c');
});

test('a draft is split at its cursors and merged again', () => {
    const { page, operations } = open({ drafts: [draft('d', 'c', 'one\ntwo\nthree')] });
    operations.split(cell(page, 'd'), 'one\ntwo\nthree', [8, 4]);
    assert.deepEqual(sources(page), ['one', 'two', 'three']);
    const drafts = cellsOf(page).filter((one) => one.kind === 'draft' && !one.isFresh);
    operations.merge(drafts, () => {});
    assert.deepEqual(sources(page), ['one\n\ntwo\n\nthree']);
    page.notice.act.act();
    assert.deepEqual(sources(page), ['one', 'two', 'three']);
});

test('the line goes on without a cell: the later ones wait as drafts, with their text; the way back is open', () => {
    const { page, operations } = open({ prose: { c: ['# Why'] } });
    operations.skip([cell(page, 'b')]);
    assert.equal(page.here, 'a');
    assert.deepEqual(sources(page), ['# Why', 'code of run-c']);
    assert.equal(page.model.states.size, 4);
    assert.equal(isRestOfLine(page, page.runnable()), true);
    page.notice.act.act();
    assert.equal(page.here, 'c');
    assert.deepEqual(sources(page, 'a'), []);
});

test('going on without a cell takes along what was not run yet, and leaves the old line as it was', () => {
    const { page, operations } = open({
        drafts: [
            draft('title', 'a', '# t', 'markdown', 'b'),
            draft('between', 'b', 'between', 'code', 'c'),
            draft('tail', 'c'),
            draft('other', 'a'),
        ],
    });
    for (const time of ['once', 'again']) {
        operations.skip([cell(page, 'b')]);
        assert.equal(shown(page), 'a # t between code of run-c tail other ?', time);
        assert.match(page.notice.text, /4 cells that followed are now drafts/);
        page.goTo('c');
        assert.equal(shown(page), 'a # t b between c tail ?', time);
    }
    operations.skip([cell(page, 'a')]);
    assert.equal(shown(page), '# t code of run-b between code of run-c tail ?');
});

test('drafts are the rest of a line only where it went on like that before', () => {
    const rest = { here: 'a2', more: [['a2', 'initial']] };
    const one = open({ ...rest, drafts: [draft('d', 'a2', 'code of run-b')] });
    assert.equal(isRestOfLine(one.page, one.page.runnable()), true);
    const other = open({ ...rest, drafts: [draft('d', 'a2', 'something new')] });
    assert.equal(isRestOfLine(other.page, other.page.runnable()), false);
    assert.equal(isRestOfLine(open().page, []), false);
});

test('many cells are rewritten in one step, which is undone without touching what was typed since', () => {
    const { page, sent, operations } = open({
        drafts: [draft('d1', 'c'), draft('d2', 'c')],
        prose: { a: ['x'] },
    });
    const count = operations.replaceTexts([
        { key: 'd1', text: 'D1' },
        { key: 'd2', text: 'd2' },
        { key: 'a', text: 'changed', prose: ['X'] },
    ]);
    assert.equal(count, 2);
    assert.equal(page.edits.get('a').text, 'changed');
    assert.deepEqual(
        sent.filter((one) => one.do === 'put_prose').map((one) => one.prose),
        [['X']],
    );
    page.type(cell(page, 'd1'), 'typed since');
    page.notice.act.act();
    assert.deepEqual(sources(page), ['typed since', 'd2']);
    assert.equal(page.edits.has('a'), false);
});

test('code is asked about at the state that it would run against; behind a run, at the one that run began from', () => {
    const { page } = open({
        drafts: [draft('d1', 'c'), draft('d2', 'c'), draft('d3', 'c'), draft('text', 'c', '# t', 'markdown')],
    });
    assert.equal(stateBehind(page, 'd2'), 'c');
    assert.equal(stateBehind(page, 'b'), 'a');
    assert.equal(stateBehind(page, 'text'), undefined);
    assert.equal(stateBehind(page, 'gone'), undefined);
    page.run(cell(page, 'd1'), 'd1');
    assert.equal(stateBehind(page, 'd2'), 'c', 'the server has not told of the run yet');
    page.onEvent({ event: 'run_added', run: run('r1', 'c', { status: 'running', draft: 'd1' }) });
    page.onEvent({
        event: 'run_added',
        run: run('r2', null, { on: { run: 'r1' }, status: 'queued', draft: 'd2' }),
    });
    assert.equal(stateBehind(page, 'd3'), 'c');
    assert.equal(
        stateBehind(open({ drafts: [draft('d', 'c')], living: { c: 'replay' } }).page, 'd'),
        undefined,
        'nothing answers there',
    );
});

test('answers are in units of the page; refusals are no answers; slow ones end the asking while one types', async () => {
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

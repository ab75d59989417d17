// The commands and the position of the page, given the server's events. No browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cellName, editorName } from '../../web/cell/cell-name.js';
import { runOf, textOf } from '../../web/notebook/cell-list.js';
import { CellOperations } from '../../web/cell/cell-operations.js';
import { editsOf } from './edits.mjs';
import { Model } from '../../web/shell/model.js';
import { Branches } from '../../web/graph/branches.js';
import { runVariants } from '../../web/variants/run-variants.js';
import { Page } from '../../web/notebook/page.js';
import { gist } from '../../web/outputs/output-summary.js';
import { saveStatus } from '../../web/notebook/save-status.js';
import { WORDS } from '../../web/shell/words.js';
import { python, refusal, run, state, variable } from './records.mjs';

/** @returns {import('../../web/shell/protocol-types.d.ts').Draft} */
const draft = (id, on, source = id, version = 1) => ({ id, on, kind: 'code', source, version });
/** A draft above the cell that leads to a child of its state. */
const above = (before, one) => ({ ...one, before });

/** @typedef {import('../../web/shell/protocol-types.d.ts').Residency} Residency */

/**
 * Opens a page on root → a → b and records the commands that it sends.
 * @param {{states?: string[], drafts?: any[], scope?: import('../../web/shell/protocol.js').Scope,
 *   address?: string, living?: Record<string, Residency>}} [what]
 */
function open({ states = ['a', 'b'], drafts = [], scope = 'owner', address = '', living = {} } = {}) {
    const sent = [];
    const answers = [];
    const addresses = [];
    const questions = [];
    const said = [];
    const decisions = [];
    const tab = new Map();
    const page = new Page(new Model(), {
        send: (command) => {
            // The page sends its position after a delay; people.test.mjs tests that.
            if (command.do === 'stand') return new Promise(() => {});
            sent.push(command);
            return new Promise((answer) => answers.push(answer));
        },
        requestPaint: () => {},
        paintNow: () => {},
        paintIfDue: () => {},
        ask: (question) => {
            questions.push(question);
            return new Promise((answer) => decisions.push(answer));
        },
        setAddress: (id) => addresses.push(id),
        announce: (text) => said.push(text),
        recall: (key) => tab.get(key),
        remember: (key, value) => tab.set(key, value),
    });
    page.onScope(scope);
    page.onConnection('open');
    const line = ['initial', ...states];
    page.onSnapshot(
        {
            name: 'main',
            states: line.map((id, i) =>
                state(id, i ? line[i - 1] : null, { exec_count: i, living: living[id] ?? 'memory' }),
            ),
            runs: states.map((id, i) => run(`run-${id}`, line[i], { state: id })),
            drafts,
            python: python(),
            trouble: null,
            people: [],
        },
        address,
    );
    return { page, sent, answers, addresses, tab, questions, decisions, said };
}

/** The cells as `any`, because each test knows their kinds. @returns {any[]} */
const cellsOf = (page) => page.cells();

/**
 * Cells as text: `[a]` ran, `text` a text above it, `d` draft, `?` the empty one, `!x` an attempt.
 */
const shown = (page) =>
    page
        .cells()
        .map((cell) => {
            if (cell.kind === 'ran') return `[${cell.state.id}]`;
            if (cell.kind === 'text') return 'text';
            if (cell.kind === 'attempt') return `!${cell.run.exec_id}`;
            return cell.isFresh ? '?' : cell.draft.id;
        })
        .join(' ');

/**
 * The event with the current drafts of a state.
 * @returns {import('../../web/shell/protocol.js').Event}
 */
const puts = (on, ...drafts) => ({
    event: 'drafts_changed',
    on,
    removed: [],
    put: drafts.map((draft, i) => ({ draft, after: drafts[i - 1]?.id ?? null })),
});

/** Sends the page the events of a run that succeeded and created a state. */
function succeed(page, { exec_id, draft: id = null }, on, name, moved = []) {
    page.onEvent({
        event: 'run_added',
        run: run(exec_id, on, { status: 'queued', draft: id, started_at: null }),
    });
    page.onEvent({ event: 'run_started', exec_id, on: { state: on }, started_at: 5 });
    page.onEvent({ event: 'state_added', state: state(name, on, { exec_id }) });
    page.onEvent(puts(name, ...moved.map((d) => draft(d, name))));
    page.onEvent({ event: 'drafts_changed', on, removed: id === null ? [] : [id], put: [] });
    page.onEvent({ event: 'run_ended', exec_id, status: 'ok', error: null, duration_ms: 2, state: name });
}

/** The commands that run cells. */
const runsIn = (sent) => sent.filter((command) => command.do === 'run');

test('a draft shows the outputs of the run that it was made from, until it runs', () => {
    const { page, sent } = open({ drafts: [{ ...draft('d1', 'b'), stale_run: 'run-a' }, draft('d2', 'b')] });
    page.onEvent({
        event: 'output_added',
        exec_id: 'run-a',
        output: { output_type: 'stream', name: 'stdout', text: 'old' },
    });
    const stale = () =>
        page.cells().map((cell) => (cell.kind === 'draft' && cell.stale ? cell.stale.exec_id : ''));
    assert.deepEqual(stale(), ['', '', 'run-a', '', '']);
    page.type(page.cells()[2], 'changed');
    page.drafts.flushAll();
    assert.equal(sent.at(-1).draft.stale_run, 'run-a', 'typing keeps them');

    // A restart makes drafts of all cells, which show what the cells have shown.
    new CellOperations(page).restart();
    const made = sent.filter(({ draft: one }) => one?.on === 'initial').map(({ draft: one }) => one);
    assert.deepEqual(
        made.map(({ source, stale_run }) => [source, stale_run]),
        [
            ['code of run-a', 'run-a'],
            ['code of run-b', undefined],
            ['changed', 'run-a'],
            ['d2', undefined],
        ],
    );
});

test('a warning is shown once, at the cell where it begins', () => {
    const { page } = open({ states: ['a', 'b', 'c', 'd'] });
    const warn = (id, parent, ...warnings) =>
        page.onEvent({ event: 'state_changed', state: state(id, parent, { warnings }) });
    warn('b', 'a', 'a thread');
    warn('c', 'b', 'a thread', 'a socket');
    warn('d', 'c', 'a thread', 'a socket');
    const told = () =>
        page
            .cells()
            .filter((cell) => cell.kind === 'ran')
            .map((cell) => cell.warnings.join());
    page.goTo('d');
    assert.deepEqual(told(), ['', 'a thread', 'a socket', '']);
    page.goTo('c');
    assert.deepEqual(told(), ['', 'a thread', 'a socket']);
});

test('without an address the page opens the newest state', () => {
    const { page, addresses } = open();
    assert.equal(page.here, 'b');
    assert.deepEqual(addresses, ['b']);
    assert.equal(shown(page), '[a] [b] ?');
});

test('the page opens the state of the address', () =>
    assert.equal(shown(open({ address: 'a' }).page), '[a] ?'));

test('when a draft succeeds, the page and the following drafts move to its state', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b'), draft('d2', 'b')] });
    page.ownRuns.run(page.cells()[2], 'd1');
    assert.equal(sent[0].do, 'run');
    assert.deepEqual(sent[0].on, { state: 'b' });
    assert.equal(sent[0].draft, 'd1');
    succeed(page, sent[0], 'b', 'c', ['d2']);
    assert.equal(page.here, 'c');
    assert.equal(shown(page), '[a] [b] [c] d2 ?');
    assert.equal(page.cells()[2].key, 'd1', 'the cell keeps its place in the page');
});

test('a run of another user does not move the page', () => {
    const { page } = open();
    succeed(page, { exec_id: 'theirs' }, 'b', 'c');
    assert.equal(page.here, 'b');
});

test('when somebody else runs a draft that is shown, the page goes along with the drafts below it', () => {
    const theirs = { exec_id: 'theirs', draft: 'd1' };
    const { page, said } = open({ drafts: [draft('d1', 'b'), draft('d2', 'b')] });
    succeed(page, theirs, 'b', 'c', ['d2']);
    assert.equal(shown(page), '[a] [b] [c] d2 ?');
    assert.equal(page.cells()[2].key, 'd1', 'the cell keeps its place in the page');
    assert.deepEqual(said, ['Cell 0 finished: no output']);

    const viewer = open({ scope: 'view', drafts: [draft('d1', 'b')] });
    succeed(viewer.page, theirs, 'b', 'c');
    assert.equal(viewer.page.here, 'c');

    const typing = open({ drafts: [draft('d0', 'b'), draft('d1', 'b')] });
    typing.page.presence.onCaret('d0');
    succeed(typing.page, theirs, 'b', 'c');
    assert.equal(typing.page.here, 'b', 'the draft that its user types in stays');

    const waiting = open({ drafts: [draft('d0', 'b'), draft('d1', 'b')] });
    waiting.page.ownRuns.run(waiting.page.cells()[2], 'd0');
    succeed(waiting.page, theirs, 'b', 'c');
    assert.equal(waiting.page.here, 'b', 'its user waits for a cell of their own');
    succeed(waiting.page, waiting.sent[0], 'b', 'e');
    assert.equal(waiting.page.here, 'e');

    const elsewhere = open({ drafts: [draft('d1', 'b')] });
    elsewhere.page.goTo('a');
    succeed(elsewhere.page, theirs, 'b', 'c');
    assert.equal(elsewhere.page.here, 'a');
});

test('screen readers hear once how the cells of this tab end: each failure, and all successes together', () => {
    const { page, sent, said } = open({ drafts: [draft('d1', 'b'), draft('d2', 'b')] });
    page.ownRuns.runFrom();
    const [first, second] = sent;
    page.onEvent({ event: 'run_added', run: run(second.exec_id, 'b', { status: 'queued', draft: 'd2' }) });
    succeed(page, first, 'b', 'c', ['d2']);
    assert.deepEqual(said, []);
    page.model.runs.get(second.exec_id).on = { state: 'c' };
    succeed(page, second, 'c', 'd');
    assert.deepEqual(said, ['2 cells finished. Cell 0: no output']);

    page.ownRuns.run(page.cells().at(-1), '1/0');
    const { exec_id, draft: id } = sent.at(-1);
    page.onEvent({ event: 'run_added', run: run(exec_id, 'd', { status: 'running', draft: id }) });
    const error = { ename: 'ZeroDivisionError', evalue: 'division by zero', traceback: [] };
    page.onEvent({ event: 'run_ended', exec_id, status: 'error', error, duration_ms: 2, state: null });
    assert.equal(said.at(-1), 'Cell failed: ZeroDivisionError: division by zero');
    assert.equal(said.length, 2);
});

test('the announced text of a run is its only short output, or a summary', () => {
    const output = (text) => ({
        key: 1,
        output_type: 'execute_result',
        data: { 'text/plain': text },
        metadata: {},
    });
    const stream = (...pieces) => ({ key: 1, output_type: 'stream', name: 'stdout', pieces });
    const of = (...outputs) => gist(/** @type {any} */ ({ outputs, error: null }));
    assert.equal(of(), 'no output');
    assert.equal(of(output('42')), '42');
    assert.equal(of(stream('done\n')), 'done');
    assert.equal(of(stream('a\nb\n')), '2 lines');
    assert.equal(of(output('x'.repeat(81))), 'one rich output');
    assert.equal(of(stream('a\n'), output('1')), 'one line, one rich output');
});

test('a cell’s name says what it is and how its run stands', () => {
    const { page } = open({ drafts: [draft('d1', 'b')] });
    const names = () => page.cells().map(cellName);
    assert.deepEqual(names(), ['Cell 1', 'Cell 2', 'Draft', 'New cell']);
    page.type(page.cells()[0], 'more');
    page.ownRuns.run(page.cells()[2], 'd1');
    assert.deepEqual(names(), ['Cell 1, edited', 'Cell 2', 'Draft, waiting', 'New cell']);
    assert.equal(editorName(page.cells()[0]), 'Cell 1');
    const { page: other } = open({ drafts: [{ ...draft('d1', 'b'), stale_run: 'run-a' }] });
    /** @type {any} */ (other.model.runs.get('run-a')).outputs.push({ output_type: 'stream', pieces: ['a'] });
    assert.equal(cellName(other.cells()[2]), 'Draft, stale');
});

test('a page that shows another user’s run moves to its state when it succeeds', () => {
    const { page, addresses } = open({ scope: 'view' });
    page.onEvent({ event: 'run_added', run: run('theirs', 'b', { status: 'running' }) });
    page.goTo('theirs');
    assert.equal(shown(page), '[a] [b] !theirs');
    page.onEvent({ event: 'state_added', state: state('c', 'b', { exec_id: 'theirs' }) });
    page.onEvent({
        event: 'run_ended',
        exec_id: 'theirs',
        status: 'ok',
        error: null,
        duration_ms: 2,
        state: 'c',
    });
    assert.equal(shown(page), '[a] [b] [c]');
    assert.equal(addresses.at(-1), 'c');
});

test('the end of a run does not move a page that has left the cell', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b')] });
    page.ownRuns.run(page.cells()[2], 'd1');
    page.goTo('a');
    succeed(page, sent[0], 'b', 'c');
    assert.equal(page.here, 'a');
});

test('a cell below a running one waits for it', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b'), draft('d2', 'b')] });
    page.ownRuns.run(page.cells()[2], 'd1');
    page.onEvent({ event: 'run_added', run: run(sent[0].exec_id, 'b', { status: 'running', draft: 'd1' }) });
    page.ownRuns.run(page.cells()[3], 'd2');
    assert.deepEqual(sent.at(-1).on, { run: sent[0].exec_id });
});

test('going to a state on which a cell runs begins a branch there', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b'), draft('d2', 'b')] });
    page.ownRuns.run(page.cells()[2], 'd1');
    page.onEvent({ event: 'run_added', run: run(sent[0].exec_id, 'b', { status: 'running', draft: 'd1' }) });
    assert.equal(page.ownRuns.waitsFor(page.cells()[3]), sent[0].exec_id);
    page.branchFrom('b');
    assert.equal(shown(page), '[a] [b] d2 ?', 'the running cell belongs to another branch');
    page.ownRuns.run(page.cells()[2], 'd2');
    assert.deepEqual(sent.at(-1).on, { state: 'b' });
    succeed(page, sent[0], 'b', 'one');
    assert.equal(page.here, 'b', 'the other branch is not followed');
    succeed(page, sent.at(-1), 'b', 'two');
    assert.equal(page.here, 'two');
});

test('a branch can begin beside a run that the server has not confirmed', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b')] });
    page.ownRuns.run(page.cells()[2], 'd1');
    page.branchFrom('b');
    assert.equal(shown(page), '[a] [b] ?');
    succeed(page, sent[0], 'b', 'one');
    assert.equal(page.here, 'b');
    page.goTo('one');
    assert.equal(shown(page), '[a] [b] [one] ?');
});

test('going back to a state by its address shows the cell that runs there', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b')] });
    page.ownRuns.run(page.cells()[2], 'd1');
    page.branchFrom('b');
    page.goTo('a');
    page.goTo('b');
    assert.match(shown(page), /d1/);
    assert.equal(sent.length, 1);
});

test('variants of a draft start from its state; the first is followed and sent last', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b')] });
    runVariants(page, page.cells()[2], ['d1', 'second', 'third']);
    const runs = sent.filter((command) => command.do === 'run');
    assert.deepEqual(
        runs.map(({ code, on, draft }) => [code, on, draft]),
        ['second', 'third', 'd1'].map((code) => [code, { state: 'b' }, 'd1']),
    );
    for (const command of runs)
        page.onEvent({
            event: 'run_added',
            run: run(command.exec_id, 'b', { status: 'running', draft: 'd1', code: command.code }),
        });
    assert.equal(shown(page), '[a] [b] d1 ?', 'one cell shows the variants that run');
    assert.equal(cellsOf(page)[2].run.code, 'd1');
    succeed(page, runs[0], 'b', 'two');
    assert.equal(page.here, 'b', 'a variant that ends first is not followed');
    succeed(page, runs[2], 'b', 'one');
    assert.equal(page.here, 'one');
});

test('a variant that runs already does not run again', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b')] });
    page.onEvent({
        event: 'run_added',
        run: run('r1', 'b', { status: 'running', code: 'slow' }),
    });
    const cell = page.cells().find(({ kind }) => kind === 'draft');
    runVariants(page, cell, ['new', 'slow']);
    assert.deepEqual(
        sent.flatMap((command) => (command.do === 'run' ? command.code : [])),
        ['new'],
    );
});

test('variants of a cell that ran replace it, each with the cells below as drafts', () => {
    const { page, sent } = open();
    runVariants(page, page.cells()[0], ['one', 'two']);
    const runs = runsIn(sent);
    assert.deepEqual(
        runs.map(({ code, on, instead_of }) => [code, on, instead_of]),
        ['two', 'one'].map((code) => [code, { state: 'initial' }, { state: 'a', tip: 'b' }]),
    );
    assert.equal(runs[0].draft, runs[1].draft);
});

test('a branch has the same colour after others were deleted and the page was loaded again', () => {
    const { page, tab } = open({ states: ['a'] });
    for (const name of ['b', 'c', 'd']) succeed(page, { exec_id: `run-${name}` }, 'a', name);
    const colour = page.branches.colourOf(page.model, 'd');
    page.onEvent({ event: 'removed', states: ['c'], runs: ['run-c'], deleted_at: 1 });
    assert.equal(page.branches.colourOf(page.model, 'd'), colour);
    const later = new Branches(tab.get('branchColours'));
    assert.equal(later.colourOf(page.model, 'd'), colour);
    assert.notEqual(new Branches().colourOf(page.model, 'd'), colour);
});

test('a variant that has run at the state is not run again', () => {
    const { page, sent } = open();
    const [cell] = page.cells();
    const code = page.model.runOf(page.model.states.get('a')).code;
    runVariants(page, cell, [code, 'two']);
    assert.deepEqual(
        sent.map((command) => command.code),
        ['two'],
    );
    assert.equal(shown(page), '[a] [b] ?', 'the page stays at the first');
    assert.match(page.notice.text, /^One variant runs\. One variant has run here before/);
    succeed(page, sent[0], 'initial', 'two');
    assert.equal(page.here, 'b');
    runVariants(page, cell, ['three', code]);
    const codes = () => runsIn(sent).map((command) => command.code);
    assert.deepEqual(codes(), ['two', 'three']);
    runVariants(page, page.cells()[0], [code]);
    assert.equal(codes().length, 2);
    assert.match(page.notice.text, /^One variant has run here before and is not run again\.$/);
});

test('the end of variants is told, with what failed, and they can be compared', () => {
    const { page, sent } = open();
    runVariants(page, page.cells()[0], ['one', 'two', 'three']);
    const [first, second, third] = runsIn(sent);
    succeed(page, first, 'initial', 's1');
    page.onEvent({ event: 'run_added', run: run(second.exec_id, 'initial', { status: 'running' }) });
    const error = { ename: 'E', evalue: '', traceback: [] };
    page.onEvent({
        event: 'run_ended',
        exec_id: second.exec_id,
        status: 'error',
        error,
        duration_ms: 2,
        state: null,
    });
    assert.match(page.notice.text, /^3 variants run\./, 'one still runs');
    succeed(page, third, 'initial', 's3');
    assert.equal(page.notice.text, '2 variants have run, 1 has failed.');
    page.notice.act.act();
    assert.deepEqual(page.comparison.states, ['s1', 's3']);
});

test('beginning a branch hides all variants that run', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b')] });
    runVariants(page, page.cells()[2], ['d1', 'second']);
    for (const { exec_id } of sent)
        page.onEvent({ event: 'run_added', run: run(exec_id, 'b', { status: 'running', draft: 'd1' }) });
    page.branchFrom('b');
    assert.equal(shown(page), '[a] [b] ?');
    succeed(page, sent[1], 'b', 'one');
    page.onEvent({ event: 'drafts_changed', on: 'b', removed: ['d1'], put: [] });
    assert.equal(shown(page), '[a] [b] ?', 'also after the draft became a state');
});

test('a changed cell runs at the position of its earlier version', () => {
    const { page, sent } = open();
    const [first] = page.cells();
    page.type(first, 'changed');
    page.ownRuns.run(page.cells()[0], 'changed');
    const [put, asked] = sent;
    assert.deepEqual([put.do, put.draft.instead_of, put.draft.source], ['put_draft', 'a', 'changed']);
    assert.deepEqual(asked.on, { state: 'initial' });
    assert.deepEqual(asked.instead_of, { state: 'a', tip: 'b' });
    page.onEvent(puts('initial', { ...put.draft, version: 1, received: [put.update] }));
    page.onEvent({ event: 'run_added', run: run(asked.exec_id, 'initial', { status: 'running' }) });
    assert.equal(shown(page), '[a] [b] ?', 'the run is shown at the changed cell');
    assert.equal(cellsOf(page)[0].shown.exec_id, asked.exec_id);
    assert.equal(cellsOf(page)[1].isOutdated, true);
    page.onEvent({ event: 'drafts_changed', on: 'initial', removed: [put.draft.id], put: [] });
    succeed(page, asked, 'initial', 'a2', ['later']);
    assert.equal(shown(page), '[a2] later ?');
    page.goTo('b');
    assert.deepEqual(
        cellsOf(page).map(({ edit }) => edit),
        [undefined, undefined, undefined],
        'the earlier version has its own code again',
    );
});

test('typing into the empty cell of an earlier paint goes to the state that is shown now', () => {
    const { page } = open();
    const earlier = page.cells().at(-1);
    page.goTo('a');
    page.type(earlier, 'x');
    assert.deepEqual(
        ['a', 'b'].map((state) => page.drafts.on(state).map(({ source }) => source)),
        [['x'], []],
    );
    page.goTo('b');
    page.type(earlier, 'xy');
    assert.deepEqual(
        page.drafts.on('a').map(({ source }) => source),
        ['xy'],
    );
});

test('cells wait for the nearest new version above that has not ended, and Stop is kept in the tab', () => {
    const { page, sent, tab } = open({ states: ['a', 'b', 'c'] });
    const start = (at, code) => {
        page.ownRuns.run(cellsOf(page)[at], code);
        const { exec_id } = runsIn(sent).at(-1);
        page.onEvent({ event: 'run_added', run: run(exec_id, 'initial', { status: 'running' }) });
        return exec_id;
    };
    const failed = start(1, 'b2');
    const [exec_id, status] = [failed, /** @type {const} */ ('error')];
    page.onEvent({ event: 'run_ended', exec_id, status, error: null, duration_ms: 2, state: null });
    const above = start(0, 'a2');
    page.ownRuns.run(cellsOf(page)[1], 'b3');
    page.ownRuns.run(cellsOf(page)[2], 'c2');
    assert.deepEqual(tab.get('waiting'), [
        ['b', above],
        ['c', above],
    ]);
    assert.equal(page.ownRuns.doesNotWait(cellsOf(page)[2]), true);
    assert.deepEqual(tab.get('waiting'), [['b', above]]);
});

test('a cell below a running new version does not run if the new version fails, and the page says why', () => {
    const { page, sent } = open();
    page.ownRuns.run(page.cells()[0], 'changed');
    const runs = () => runsIn(sent);
    const { exec_id } = runs()[0];
    const told = (...variants) => {
        page.ownRuns.run(cellsOf(page)[1], 'b again', ...variants);
        return page.notice?.text;
    };
    assert.equal(told(), undefined, 'asked for');
    assert.equal(cellsOf(page)[1].isAsked, true);
    page.onEvent({ event: 'run_added', run: run(exec_id, 'initial', { status: 'running' }) });
    assert.equal(told(), undefined);
    assert.equal(told({ codes: ['b 2'], known: 0, isFollowed: true }), WORDS.wait, 'variants cannot wait');
    page.onEvent({ event: 'run_ended', exec_id, status: 'error', error: null, duration_ms: 2, state: null });
    assert.equal(cellsOf(page)[1].isAsked, false);
    assert.equal(cellsOf(page)[1].isOutdated, true);
    assert.equal(told(), WORDS.failedAbove);
    assert.equal(runs().length, 1);
    page.revertEdit(cellsOf(page)[0].state);
    page.ownRuns.run(cellsOf(page)[1], 'b again');
    assert.equal(runs().length, 2);
});

test('typing into the empty cell creates a draft, and a new empty cell follows', () => {
    const { page, sent } = open();
    const fresh = cellsOf(page).at(-1);
    page.type(fresh, 'x');
    assert.equal(page.cells().length, 4);
    assert.equal(page.cells()[2].key, fresh.key);
    page.drafts.flush(fresh.draft.id);
    assert.deepEqual(sent, [
        {
            do: 'put_draft',
            draft: { ...fresh.draft, source: 'x' },
            after: null,
            in_place: false,
            base: 0,
            update: { client: page.drafts.client, number: 1, changes: [[0, 'x']] },
        },
    ]);
});

test('the echo of local typing changes nothing; typing of another tab is merged with typing that is not confirmed', async () => {
    const { page, sent, answers } = open({ drafts: [draft('d', 'b', '', 1)] });
    const text = () => page.drafts.get('d').source;
    const heard = (source, version, number) => {
        const received = [{ client: page.drafts.client, number }];
        page.onEvent(puts('b', { ...draft('d', 'b', source, version), received }));
    };
    page.type(page.cells()[2], 'one');
    page.drafts.flush('d');
    page.type(page.cells()[2], 'one two');
    heard('one', 2, 1);
    assert.equal(text(), 'one two');
    heard('theirs, one', 3, 1);
    assert.equal(text(), 'theirs, one two');
    answers[0]({ kind: 'done' });
    await new Promise(setImmediate);
    assert.deepEqual([sent[1].draft.source, sent[1].base], ['theirs, one two', 3]);
    heard('theirs, one two', 4, 2);
    heard('theirs again', 5, 2);
    answers[1]({ kind: 'done' });
    await new Promise(setImmediate);
    assert.equal(text(), 'theirs again');
    assert.equal(sent.length, 2);
});

test('typing during a run stays as an edit of the cell that ran', () => {
    const { page, sent } = open({ drafts: [draft('d', 'b', 'first')] });
    page.ownRuns.run(page.cells()[2], 'first');
    page.type(page.cells()[2], 'first and more');
    succeed(page, runsIn(sent)[0], 'b', 'c');
    assert.equal(textOf(cellsOf(page)[2]), 'first and more');
    page.drafts.flushAll();
    const { draft: edit, base } = sent.at(-1);
    assert.deepEqual(edit.source, 'first and more', 'it was not on the server: it is sent as an edit');
    assert.deepEqual([edit.on, edit.instead_of, base], ['b', 'c', 0]);
});

test('what is typed below a running cell follows it to its state, also if the server does not have it yet', () => {
    const { page, sent } = open({ drafts: [draft('d', 'b')] });
    page.ownRuns.run(page.cells()[2], 'd');
    page.type(page.cells()[3], 'next');
    const { id } = page.drafts.on('b').at(-1);
    page.drafts.put({ ...draft('third', 'b'), source: 'third' }, id);
    succeed(page, { exec_id: runsIn(sent)[0].exec_id, draft: 'd' }, 'b', 'c');
    assert.equal(shown(page), `[a] [b] [c] ${id} third ?`);
    page.drafts.flushAll();
    const puts = sent.filter(({ do: what }) => what === 'put_draft').slice(-2);
    assert.deepEqual(
        puts.map(({ draft, after }) => [draft.on, after]),
        [
            ['c', 'd'],
            ['c', id],
        ],
    );
});

test('typing during a run that the server has stays in its draft, which becomes an edit', () => {
    const { page, sent } = open({ drafts: [draft('d', 'b', 'first', 1)] });
    page.ownRuns.run(page.cells()[2], 'first');
    page.type(page.cells()[2], 'first, two');
    page.drafts.flushAll();
    const { exec_id } = runsIn(sent)[0];
    page.onEvent({ event: 'run_added', run: run(exec_id, 'b', { status: 'running', draft: 'd' }) });
    page.onEvent(puts('b', { ...draft('d', 'b', 'first, two', 2), received: [sent.at(-1).update] }));
    page.type(page.cells()[2], 'first, two, three');
    page.onEvent({ event: 'state_added', state: state('c', 'b', { exec_id }) });
    page.onEvent(puts('b', { ...draft('d', 'b', 'first, two', 2), instead_of: 'c' }));
    page.onEvent({ event: 'run_ended', exec_id, status: 'ok', error: null, duration_ms: 2, state: 'c' });
    assert.equal(shown(page), '[a] [b] [c] ?');
    assert.equal(textOf(cellsOf(page)[2]), 'first, two, three');
    page.drafts.flushAll(true);
    const last = sent.at(-1);
    assert.deepEqual([last.draft.id, last.draft.source, last.base], ['d', 'first, two, three', 2]);
    page.goTo('b');
    assert.equal(shown(page), '[a] [b] ?', 'it is no cell of its own');
});

test('the code of a cell that ran is edited on the server, by all tabs', () => {
    const { page, sent } = open();
    const received = [];
    const receive = (changes) => received.push(changes.toJSON());
    page.onEditor('a', { receive, showCarets: () => {}, selection: null });
    page.type(page.cells()[0], 'code of run-a!');
    page.drafts.flushAll();
    const { draft: mine } = sent[0];
    assert.deepEqual([mine.on, mine.instead_of, mine.kind], ['initial', 'a', 'code']);
    // Another tab was first: its typing is merged as a change of the code that ran.
    const theirs = { ...mine, source: '# theirs\ncode of run-a', version: 1 };
    page.onEvent(puts('initial', theirs));
    assert.equal(textOf(cellsOf(page)[0]), '# theirs\ncode of run-a!');
    assert.equal(received.length, 1, 'the editor of the cell gets their change');
    assert.equal(page.model.waitingAt('initial'), 0);

    const other = open({ drafts: [theirs, draft('d', 'b')] }).page;
    assert.equal(shown(other), '[a] [b] d ?');
    assert.equal(textOf(cellsOf(other)[0]), '# theirs\ncode of run-a');
    const { operations, history } = editsOf(other);
    history.record(() => other.type(cellsOf(other)[0], 'code of run-a'), { said: 'reverted' });
    assert.equal(cellsOf(other)[0].edit, undefined, 'its own code ends the edit');
    history.undo();
    assert.equal(textOf(cellsOf(other)[0]), '# theirs\ncode of run-a');
    operations.restart();
    const [first] = other.drafts.on('initial');
    assert.equal(first?.source, '# theirs\ncode of run-a', 'a restart takes the edit along');
});

test('typing into a text above a cell is saved while the user is in its cell', () => {
    const { page, sent } = open();
    Object.assign(page.model.states.get('b'), { prose: ['was'] });
    const text = () => cellsOf(page).find(({ kind }) => kind === 'text');
    page.type(text(), 'typed');
    assert.equal(saveStatus(page, 0)?.text, 'Saving…');
    assert.deepEqual(sent, []);
    page.save();
    assert.deepEqual(sent, [{ do: 'put_prose', state: 'b', prose: ['typed'] }]);
    page.save();
    page.saveText(text());
    assert.equal(sent.length, 1, 'once');
    page.type(text(), ' ');
    page.save();
    assert.equal(sent.length, 1, 'an emptied text is not saved: leaving its cell deletes the cell');
});

test('beside a cell are all branches from the state above; a version keeps the key of its cell', () => {
    const { page, sent } = open({ drafts: [above('b', draft('in', 'a'))] });
    const beside = () =>
        page.cells().flatMap((cell) => ('beside' in cell ? [cell.beside.map(({ id }) => id).join(' ')] : []));
    page.ownRuns.run(page.cells()[1], 'in');
    succeed(page, sent.at(-1), 'a', 'n');
    assert.deepEqual(beside(), ['', 'b n']);
    page.goTo('b');
    page.ownRuns.run(page.cells()[1], 'other code');
    assert.equal(sent.at(-1).draft, 'b', 'a cell without a draft is identified by its state');
    succeed(page, sent.at(-1), 'a', 'b2');
    assert.deepEqual(beside(), ['', 'b n b2']);
    page.ownRuns.run(page.cells()[1], 'third');
    assert.equal(sent.at(-1).draft, 'b');
    succeed(page, sent.at(-1), 'a', 'b3');
    assert.deepEqual(beside(), ['', 'b n b2 b3']);
    assert.equal(page.cells()[1].key, 'b', 'the cell keeps its key');
    page.deleteState({ state: 'n' });
    assert.deepEqual(beside(), ['', 'b b2 b3']);

    // A run that has left no state yet is a branch, too, and its own cell has the same tabs.
    page.onEvent({ event: 'run_added', run: run('r', 'a', { status: 'running' }) });
    assert.deepEqual(beside(), ['', 'b b2 b3 r']);
    page.goTo('r');
    assert.deepEqual(beside(), ['', 'b b2 b3 r']);
});

test('a failed attempt is shown after the state that it ran against', () => {
    const { page } = open();
    page.onEvent({ event: 'run_added', run: run('bad', 'a', { status: 'error' }) });
    assert.equal(shown(page), '[a] [b] ?');
    page.goTo('bad');
    assert.equal(shown(page), '[a] !bad ?');
    const tabs = cellsOf(page)[1].beside.map(({ id }) => id);
    assert.deepEqual(tabs, ['b', 'bad'], 'it is among its own tabs');
    page.onEvent({ event: 'removed', states: [], runs: ['bad'], deleted_at: null });
    assert.equal(shown(page), '[a] ?');
});

test('when the current state is deleted, the page goes to the nearest remaining ancestor', () => {
    const { page } = open({ states: ['a', 'b', 'c'] });
    page.onEvent({ event: 'removed', states: ['c', 'b'], runs: ['run-c', 'run-b'], deleted_at: null });
    assert.equal(page.here, 'a');
});

test('drafts above an earlier cell of the lineage are shown, unless they are blank', () => {
    const { page } = open({ drafts: [above('b', draft('left', 'a')), above('b', draft('empty', 'a', ' '))] });
    assert.equal(shown(page), '[a] left [b] ?');
});

test('a viewer has no empty cell and cannot run cells', () => {
    const { page, sent } = open({ scope: 'view' });
    assert.equal(shown(page), '[a] [b]');
    page.ownRuns.run(page.cells()[0], 'x');
    assert.deepEqual(sent, []);
});

test('a refused run says why', async () => {
    const { page, answers } = open({ drafts: [draft('d', 'b')] });
    page.ownRuns.run(page.cells()[2], 'd');
    answers[0]({ kind: 'refused', code: 'busy', what: 'run it', why: 'too many run', how: 'wait' });
    await new Promise(setImmediate);
    assert.equal(page.notice.text, 'Cannot run it: too many run. Wait.');
});

const settle = () => new Promise(setImmediate);
const sources = (page, state = 'b') => page.drafts.on(state).map((one) => one.source);

test('typing of another tab elsewhere in a draft is merged with local typing', () => {
    const { page } = open({ drafts: [draft('d', 'b', 'a = 1\nb = 2\nc = 3')] });
    page.type(page.cells()[2], 'a = 10\nb = 2\nc = 3');
    page.onEvent(puts('b', draft('d', 'b', 'a = 1\nb = 2\nc = 30')));
    assert.deepEqual(sources(page), ['a = 10\nb = 2\nc = 30']);
});

test('at the same position, confirmed typing of another tab comes before local typing', async () => {
    const { page, sent, answers } = open({ drafts: [draft('d', 'b', '', 1)] });
    page.type(page.cells()[2], 'mine');
    page.drafts.flush('d');
    page.onEvent(puts('b', draft('d', 'b', 'theirs', 2)));
    answers[0]({ kind: 'refused', code: 'conflict', what: '', why: '', how: '' });
    await settle();
    assert.deepEqual(sources(page), ['theirsmine']);
    assert.deepEqual(
        sent.map((one) => [one.do, one.draft.source, one.base]),
        [
            ['put_draft', 'mine', 1],
            ['put_draft', 'theirsmine', 2],
        ],
    );
    assert.equal(page.notice, null);
});

test('the next key does not overwrite a received text that the editor does not show yet', () => {
    const { page } = open({ drafts: [draft('d', 'b', 'ab', 1)] });
    page.type(page.cells()[2], 'abc', { before: 'ab' });
    page.onEvent(puts('b', draft('d', 'b', '# new\nab', 2)));
    page.type(page.cells()[2], 'abcd', { before: 'abc' });
    assert.deepEqual(sources(page), ['# new\nabcd']);
});

test('a draft that is deleted elsewhere during local typing is created again', async () => {
    const { page, sent, answers } = open({ drafts: [draft('d', 'b', 'x', 4)] });
    page.type(page.cells()[2], 'x = 1');
    page.onEvent({ event: 'drafts_changed', on: 'b', removed: ['d'], put: [] });
    page.drafts.flush('d');
    answers[0]({ kind: 'refused', code: 'not_found', what: '', why: '', how: '' });
    await settle();
    assert.deepEqual(
        sent.map((one) => [one.draft.source, one.base, one.in_place]),
        [
            ['x = 1', 4, false],
            ['x = 1', 0, false],
        ],
    );
    assert.deepEqual(sources(page), ['x = 1']);
});

test('typing into a draft that became a state elsewhere is an edit of that cell', async () => {
    const { page, answers } = open({ drafts: [draft('d', 'b', 'x', 1)] });
    page.onConnection('waiting');
    page.type(page.cells()[2], 'x = 2');
    page.drafts.flush('d');
    const line = ['initial', 'a', 'b', 'c'];
    page.onSnapshot(
        {
            name: 'main',
            states: line.map((id, i) => state(id, i ? line[i - 1] : null, { exec_count: i })),
            runs: line
                .slice(1)
                .map((id, i) =>
                    run(`run-${id}`, line[i], { state: id, ...(id === 'c' && { draft: 'd', code: 'x' }) }),
                ),
            drafts: [],
            python: python(),
            trouble: null,
            people: [],
        },
        'c',
    );
    for (const answer of [0, 1]) {
        answers[answer]?.({ kind: 'refused', code: 'not_found', what: '', why: '', how: '' });
        await settle();
    }
    assert.equal(shown(page), '[a] [b] [c] ?');
    assert.equal(cellsOf(page)[2].edit.text, 'x = 2');
});

test('a deleted draft disappears at once', () => {
    const { page } = open({ drafts: [draft('d', 'b')] });
    page.drafts.remove('d');
    assert.equal(shown(page), '[a] [b] ?');
});

test('when two cells are run before the server answers, the second waits for the first', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b'), draft('d2', 'b')] });
    page.ownRuns.run(page.cells()[2], 'd1');
    page.ownRuns.run(page.cells()[2], 'd1');
    page.ownRuns.run(page.cells()[3], 'd2');
    assert.equal(sent.length, 2, 'a cell whose run was requested is not requested again');
    assert.deepEqual(sent[1].on, { run: sent[0].exec_id });
});

test('all drafts from a cell on run in order', () => {
    const text = { ...draft('t', 'b', '# words'), kind: 'markdown' };
    const { page, sent } = open({
        drafts: [draft('d1', 'b'), draft('d2', 'b'), text, draft('empty', 'b', ' '), draft('d3', 'b')],
    });
    assert.deepEqual(
        page.ownRuns.runnable().map((cell) => cell.draft.id),
        ['d1', 'd2', 'd3'],
    );
    page.ownRuns.runFrom(page.cells()[3].key);
    assert.deepEqual(
        sent.map((one) => one.draft),
        ['d2', 'd3'],
    );
    assert.deepEqual(
        sent.map((one) => one.on),
        [{ state: 'b' }, { run: sent[0].exec_id }],
    );
    assert.deepEqual(
        page.ownRuns.runnable().map((cell) => cell.draft.id),
        ['d1'],
    );
});

test('a draft can be inserted above another', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b'), draft('d2', 'b')] });
    new CellOperations(page).insertAbove(page.cells()[2]);
    assert.equal(sent.at(-1).after, null);
    new CellOperations(page).insertAbove(page.cells()[4]);
    assert.equal(sent.at(-1).after, 'd1');
});

test('deleted drafts are restored at their old positions', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b'), draft('d2', 'b')] });
    const edits = editsOf(page);
    edits.remove(cellsOf(page)[3]);
    assert.equal(page.notice.act.text, 'Undo');
    assert.deepEqual(sources(page), ['d1']);
    edits.undo();
    assert.deepEqual([sent.at(-1).draft.source, sent.at(-1).after], ['d2', 'd1']);
    assert.equal(edits.history.undo(), null);
    const both = cellsOf(page)
        .slice(2, 4)
        .map((cell) => cell.draft);
    edits.history.record(() => edits.operations.remove(both, []), { said: '' });
    assert.deepEqual(sources(page), []);
    edits.undo();
    assert.deepEqual(sources(page), ['d1', 'd2'], 'several drafts are restored together, in order');
});

test('an empty draft is deleted without a notice, and can be restored', () => {
    const { page } = open({
        drafts: [draft('d1', 'b'), draft('d2', 'b', ''), above('b', draft('in', 'a', ''))],
    });
    const edits = editsOf(page);
    /** @returns {any} */
    const draftCell = (id) => ({ isFresh: false, draft: page.drafts.get(id) });
    edits.remove(draftCell('d2'));
    assert.equal(page.notice, null);
    assert.deepEqual(sources(page), ['d1']);
    assert.ok(edits.history.undo());
    assert.deepEqual(sources(page), ['d1', '']);
    edits.remove(draftCell('in'));
    const back = edits.history.undo();
    assert.ok(
        page.cells().some((cell) => cell.key === back.key),
        'a draft in the middle of the lineage is shown, too',
    );
});

test('deleting an attempt also deletes its draft, if the draft is unchanged', () => {
    for (const [source, goes] of [
        ['d', true],
        ['d, but right', false],
    ]) {
        const { page, sent } = open({ drafts: [draft('d', 'b', source)] });
        page.onEvent({
            event: 'run_added',
            run: run('bad', 'b', { status: 'error', draft: 'd', code: 'd' }),
        });
        editsOf(page).forgetAttempt(page.model.runs.get('bad'));
        assert.deepEqual(
            sent.map((one) => one.do),
            goes ? ['delete_draft'] : [],
            'the attempt is deleted only after the time for Undo',
        );
        page.deletion.commit();
        assert.equal(sent.at(-1).do, 'drop_attempt');
    }
});

test('a deletion is undone by the undo of cells: before it was sent, and from the trash later', () => {
    const { page, sent } = open({ drafts: [draft('d', 'b', 'd')] });
    page.onEvent({ event: 'run_added', run: run('bad', 'b', { status: 'error', draft: 'd', code: 'd' }) });
    const edits = editsOf(page);
    edits.forgetAttempt(page.model.runs.get('bad'));
    assert.equal(sources(page).includes('d'), false);
    edits.undo();
    assert.equal(page.pendingDeletion.size, 0, 'one step undoes the deletion of the attempt and its draft');
    assert.equal(sources(page).includes('d'), true);
    edits.forgetAttempt(page.model.runs.get('bad'));
    void page.deletion.commit();
    page.onEvent({ event: 'removed', states: [], runs: ['bad'], deleted_at: 1 });
    edits.undo();
    assert.ok(sent.some((one) => one.do === 'restore' && one.deleted === 'bad'));
    page.onEvent({ event: 'restored', states: [], runs: [run('bad', 'b', { status: 'error', code: 'd' })] });
    assert.equal(edits.history.undo(), null, 'nothing is left to undo');
});

test('after a reload of the page, deletions can still be undone, the newest first', () => {
    const { page, sent, tab } = open({ drafts: [draft('d', 'b', 'kept'), draft('e', 'b', 'large')] });
    const first = editsOf(page);
    first.remove(cellsOf(page).find((one) => one.key === 'd'));
    page.onEvent({ event: 'run_added', run: run('bad', 'b', { status: 'error', code: 'x' }) });
    page.dropAttempt('bad');
    void page.deletion.commit();
    page.onEvent({ event: 'removed', states: [], runs: ['bad'], deleted_at: 1 });

    tab.set('undo', JSON.parse(JSON.stringify(tab.get('undo'))));
    const after = editsOf(page);
    after.undo();
    assert.deepEqual(sent.at(-1), { do: 'restore', deleted: 'bad' });
    after.undo();
    assert.ok(sources(page).includes('kept'));
    assert.equal(editsOf(page).history.undo(), null, 'an undone step can only be made again');
    const last = editsOf(page);
    assert.equal(last.history.undone.length, 2, 'also the deletion of the attempt');
    last.redo();
    page.onEvent({ event: 'run_added', run: run('bad', 'b', { status: 'error', code: 'x' }) });
    // As after the server's answer to the deletion.
    page.deletion.pendingIds.clear();
    last.redo();
    assert.deepEqual(page.deletion.pending.command, { do: 'drop_attempt', exec_id: 'bad' });
    assert.equal(last.history.undone.length, 0);
    last.undo();
    last.undo();
    assert.equal(page.deletion.pending, null);

    page.drafts.put({ ...page.drafts.get('e'), source: 'x'.repeat(600_000) });
    last.remove(cellsOf(page).find((one) => one.key === 'e'));
    assert.deepEqual(tab.get('undo').done, [], 'a step that is too large is not kept');
    assert.ok(last.history.undo());
});

test('a replay skips cells that failed or were stopped when they ran last, unless asked', () => {
    const { page, sent } = open({
        drafts: ['p', 'q', 'r', 's', 't'].map((id) => draft(id, 'b', `code ${id}`)),
    });
    const ended = (id, code, more) =>
        page.onEvent({ event: 'run_added', run: run(id, 'a', { code, ...more }) });
    ended('1', 'code p', { status: 'error' });
    ended('2', 'code p', { status: 'ok', state: 'elsewhere' });
    ended('3', 'code q', { status: 'error' });
    ended('4', 'code r', { status: 'interrupted', started_at: null });
    ended('5', 'code s', { status: 'interrupted' });
    ended('6', 'code t', { status: 'error', state: 'partial' });
    const keys = (cells) => cells.map((cell) => cell.draft.id);
    assert.deepEqual(keys(page.ownRuns.replayable()), ['p', 'r', 't'], 'r never began, and t was kept');
    page.ownRuns.replayRest();
    assert.deepEqual(
        sent.map(({ draft: id, on }) => [id, 'state' in on]),
        [
            ['p', true],
            ['r', false],
            ['t', false],
        ],
        'each runs on the result of the one before',
    );
    page.ownRuns.runFrom();
    assert.deepEqual(
        sent.slice(3).map(({ draft: id }) => id),
        ['q', 's'],
    );
});

test('all drafts above a cell run, and nothing below', () => {
    const { page, sent } = open({ drafts: ['p', 'q', 'r'].map((id) => draft(id, 'b', id)) });
    page.ownRuns.runAbove('r');
    assert.deepEqual(
        sent.map(({ draft: id }) => id),
        ['p', 'q'],
    );
});

test('the page says whether all changes are on disk', async () => {
    const { page, answers } = open({ drafts: [draft('d', 'b', 'x')] });
    const status = (now = 0) => saveStatus(page, now);
    const said = () => status()?.text ?? null;
    assert.equal(said(), 'All changes saved');
    page.type(page.cells()[2], 'xy');
    assert.equal(said(), 'Saving…', 'typing that is not sent');
    page.drafts.flushAll();
    assert.equal(said(), 'Saving…', 'typing that is not answered');
    page.onEvent(puts('b', draft('d', 'b', 'xy', 2)));
    answers.at(-1)({ kind: 'done' });
    await new Promise((done) => setImmediate(done));
    assert.equal(said(), 'All changes saved');
    page.host.isSaving = () => true;
    assert.equal(said(), 'Saving…', 'another change that is not answered');
    page.host.isSaving = undefined;

    page.type(page.cells()[0], 'edited');
    assert.equal(said(), 'Saving…', 'typing into a cell that ran');
    page.drafts.flushAll();
    page.onEvent(puts('initial', { ...draft('edit-a', 'initial', 'edited', 1), instead_of: 'a' }));
    answers.at(-1)({ kind: 'done' });
    await settle();
    assert.equal(said(), 'All changes saved');
    page.onEvent({ event: 'state_added', state: state('c', 'b', { exec_id: null }) });
    assert.equal(said(), 'Saving…', 'a state that is not on disk');
    page.onEvent({ event: 'state_saved', state: 'c' });
    assert.match(status()?.hint ?? '', /The variables of 3 states are only in memory\./);
    page.onEvent({ event: 'state_changed', state: state('c', 'b', { exec_id: null, in_memory_since: 0 }) });
    assert.deepEqual([status(9000)?.text, status(9000)?.until], ['All changes saved', 15_000]);
    assert.equal(status(15_000)?.text, 'Saved · 3 states only in memory');
    assert.match(status(25_000)?.hint ?? '', /The variables of 3 states are only in memory, for 25 s\./);
    assert.equal(status(25_000)?.until, 35_000);

    /** @type {import('../../web/shell/protocol.js').OffsiteStatus} */
    const offsite = { phase: 'pushed', at: Date.parse('2026-11-24T09:05:00'), why: null, how: null };
    for (const phase of /** @type {const} */ (['waiting', 'pushing', 'pushed'])) {
        page.onEvent({ event: 'offsite_changed', offsite: { ...offsite, phase } });
        assert.equal(status(9000)?.until, 15_000, `${phase}: the header then says what is only in memory`);
    }
    assert.match(said() ?? '', /^Saved · pushed 0?9:05/);
    /** @type {import('../../web/shell/protocol.js').OffsiteStatus} */
    const waiting = { ...offsite, phase: 'waiting', why: 'no connection can be made', how: 'check it' };
    page.onEvent({ event: 'offsite_changed', offsite: waiting });
    assert.match(said() ?? '', /^Saved here · not pushed since/);
    assert.match(status()?.hint ?? '', /nothing is lost: no connection can be made/);
    assert.equal(page.mayRun, true);
    page.onEvent({
        event: 'offsite_changed',
        offsite: { ...waiting, phase: 'held', why: 'ann on b has it' },
    });
    assert.equal(said(), 'Read-only');
    assert.deepEqual([page.scope, page.mayRun, page.ownScope], ['view', false, 'owner']);
    page.onEvent({ event: 'offsite_changed', offsite });
    assert.equal(page.scope, 'owner');

    page.onEvent({ event: 'trouble_changed', trouble: { what: 'write', why: 'disk full', how: 'free' } });
    assert.equal(said(), 'Not saved');
    page.onConnection('waiting');
    assert.equal(said(), null, 'the status and a banner say that the page is offline');
});

test('a deleted attempt disappears, and Undo restores it without a message to the server', () => {
    const { page, sent } = open({ drafts: [draft('d', 'b', 'd, but right')] });
    page.onEvent({ event: 'run_added', run: run('bad', 'b', { status: 'error', draft: 'd', code: 'd' }) });
    const shown = () =>
        page
            .cells()
            .map(runOf)
            .filter((one) => one?.exec_id === 'bad').length;
    assert.equal(shown(), 1);
    editsOf(page).forgetAttempt(page.model.runs.get('bad'));
    assert.equal(shown(), 0);
    assert.equal(page.notice.act.text, 'Undo');
    page.notice.act.act();
    assert.equal(shown(), 1);
    assert.deepEqual(sent, []);
});

test('when a restarted server lacks the state of a draft, unsent typing moves to the current state, with a notice', () => {
    const { page, sent } = open({ drafts: [draft('d', 'b', '')] });
    page.type(page.cells()[2], 'typed');
    page.onSnapshot(
        {
            name: 'main',
            states: [state('initial', null)],
            runs: [],
            drafts: [],
            python: python(),
            trouble: null,
            people: [],
        },
        'b',
    );
    assert.deepEqual(sources(page, 'initial'), ['typed']);
    assert.equal(sent.at(-1).draft.on, 'initial');
    assert.match(page.notice.text, /no longer exists/);
});

test('variables that hold data come first, and the pane stays open after a reload', async () => {
    const { page, sent, answers, tab } = open();
    page.variables.show(true);
    assert.equal(sent[0].do, 'look_at_variables');
    const one = (name, type) => variable(name, type, '');
    answers[0]({
        kind: 'variables',
        variables: [one('np', 'module'), one('f', 'function'), one('x', 'int'), one('df', 'DataFrame')],
    });
    await settle();
    assert.deepEqual(Array.isArray(page.variables.here) && page.variables.here.map(({ name }) => name), [
        'x',
        'df',
        'np',
        'f',
    ]);
    assert.equal(tab.get('showsVariables'), true);
});

test('variables that could not be loaded are requested again on return and by Retry', async () => {
    const { page, sent, answers } = open();
    const asked = () => sent.filter((one) => one.do === 'look_at_variables').map((one) => one.state);
    page.variables.show(true);
    answers[0]({
        kind: 'refused',
        code: 'timeout',
        what: 'look at state b',
        why: 'it took longer than 5 s',
        how: 'try again',
    });
    await settle();
    assert.equal(
        page.variables.here,
        'These variables cannot be shown now: it took longer than 5 s. Try again.',
    );
    page.variables.onPageMoved();
    assert.deepEqual(asked(), ['b'], 'not with every event');
    page.goTo('a');
    page.goTo('b');
    assert.deepEqual(asked(), ['b', 'a', 'b']);
    answers[2]({
        kind: 'refused',
        code: 'timeout',
        what: 'look at state b',
        why: 'it took longer than 5 s',
        how: 'try again',
    });
    await settle();
    page.variables.retry();
    assert.deepEqual(asked(), ['b', 'a', 'b', 'b']);
});

test('inserting below a draft in the middle of the lineage puts the new draft at the current state', () => {
    const { page, sent } = open({ drafts: [above('b', draft('left', 'a'))] });
    new CellOperations(page).insertAtEnd(page.cells()[1]);
    assert.equal(sent.at(-1).draft.on, 'b');
});

test('typing is sent before the run that depends on it, and after the message in flight', async () => {
    const { page, sent, answers } = open({
        drafts: [{ ...draft('t', 'b', ''), kind: 'markdown' }, draft('d', 'b'), draft('e', 'b')],
    });
    page.type(page.cells()[2], '# A');
    page.drafts.flush('t');
    page.type(page.cells()[2], '# A title');
    page.ownRuns.run(page.cells()[3], 'd');
    page.ownRuns.run(page.cells()[4], 'e');
    assert.deepEqual(
        sent.map((one) => one.draft.source ?? one.do),
        ['# A'],
    );
    const received = [{ client: page.drafts.client, number: 1 }];
    const title = { ...draft('t', 'b', '# A', 2), kind: 'markdown', received };
    page.onEvent(puts('b', title, draft('d', 'b'), draft('e', 'b')));
    answers[0]({ kind: 'done' });
    await settle();
    assert.deepEqual(
        sent.map((one) => one.draft.source ?? one.draft),
        ['# A', '# A title', 'd', 'e'],
    );
    assert.deepEqual([sent[1].base, sent[3].on], [2, { run: sent[2].exec_id }]);
});

test('texts above a cell show what was changed last while older changes are answered', async () => {
    const { page, answers } = open();
    const prose = () => page.model.states.get('b').prose;
    const says = (...texts) =>
        page.onEvent({ event: 'state_changed', state: state('b', 'a', { prose: texts }) });
    const answer = async (number, reply = { kind: 'done' }) => (answers[number](reply), await settle());
    // A text is deleted, restored and deleted again before the first answer.
    page.prose.set('b', []);
    page.prose.set('b', ['# A']);
    says();
    assert.deepEqual(prose(), ['# A']);
    page.prose.set('b', []);
    says('# A');
    assert.deepEqual(prose(), []);
    await answer(0);
    await answer(1);
    says();
    await answer(2);
    assert.deepEqual(prose(), []);
    // Another person changes them after this page: the last change counts.
    page.prose.set('b', ['ours']);
    says('ours');
    says('theirs');
    assert.deepEqual(prose(), ['ours']);
    await answer(3);
    assert.deepEqual(prose(), ['theirs']);
    const refused = { kind: 'refused', code: 'forbidden', what: 'change it', why: 'no', how: '' };
    page.prose.set('b', ['not allowed']);
    page.prose.set('b', ['nor is this']);
    await answer(4, refused);
    await answer(5, refused);
    assert.deepEqual(prose(), ['theirs']);
    says('now');
    assert.deepEqual(prose(), ['now'], 'nothing is kept when all is answered');
});

test('Markdown that became the text of a state is not shown twice before its reply arrives', async () => {
    const { page, sent, answers } = open({ drafts: [draft('d', 'b')] });
    const fresh = cellsOf(page).findLast((cell) => cell.isFresh).draft;
    page.drafts.add({ ...fresh, id: 't', kind: 'markdown', source: '# A' }, null);
    page.ownRuns.run(page.cells()[3], 'd');
    const received = [{ client: page.drafts.client, number: 1 }];
    page.onEvent(puts('b', { ...draft('t', 'b', '# A', 1), kind: 'markdown', received }, draft('d', 'b')));
    const exec_id = sent.at(-1).exec_id;
    page.onEvent({ event: 'run_added', run: run(exec_id, 'b', { status: 'queued', draft: 'd' }) });
    page.onEvent({ event: 'state_added', state: state('c', 'b', { exec_id, prose: ['# A'] }) });
    page.onEvent({ event: 'drafts_changed', on: 'b', removed: ['d', 't'], put: [] });
    page.onEvent({
        event: 'run_ended',
        exec_id,
        status: 'ok',
        error: null,
        duration_ms: 2,
        state: 'c',
    });
    assert.equal(shown(page), '[a] [b] text [c] ?');
    answers[0]({ kind: 'done' });
    await settle();
    assert.equal(shown(page), '[a] [b] text [c] ?');
    assert.deepEqual(
        sent.map((one) => one.do),
        ['put_draft', 'run'],
    );
});

test('a draft that already runs is not sent again when the run before it ends', () => {
    const { page, sent } = open();
    for (const code of ['one', 'two']) {
        page.type(
            cellsOf(page).findLast((cell) => cell.isFresh),
            code,
        );
        page.ownRuns.run(
            page.cells().find((cell) => cell.kind === 'draft' && cell.draft.source === code),
            code,
        );
    }
    succeed(
        page,
        sent.find((one) => one.do === 'run'),
        'b',
        'c',
    );
    assert.deepEqual(
        sent.map((one) => one.draft.source ?? one.do),
        ['one', 'run', 'two', 'run'],
    );
});

test('a run at a state that needs a replay asks first, a run at a state on disk does not', async () => {
    const { page, sent, questions, decisions } = open({
        drafts: [draft('d1', 'b'), draft('d2', 'b')],
        living: { a: 'disk', b: 'replay' },
    });
    page.ownRuns.runFrom();
    assert.deepEqual(sent, []);
    assert.match(questions[0].title, /not loaded. Replay its 2 cells first/);
    decisions[0](false);
    await settle();
    assert.deepEqual(sent, [], 'nothing is sent after a refusal');
    page.ownRuns.run(page.cells()[3], ' ');
    assert.equal(questions.length, 1, 'a blank cell asks nothing');
    page.ownRuns.runFrom();
    decisions[1](true);
    await settle();
    assert.deepEqual(
        sent.map((one) => [one.do, one.draft, one.replay]),
        [
            ['run', 'd1', true],
            ['run', 'd2', undefined],
        ],
    );
    page.ownRuns.run(page.cells()[1], 'again');
    assert.deepEqual(sent.at(-1).on, { state: 'a' });
    assert.equal(sent.at(-1).replay, undefined, 'a state on disk is loaded without a replay');
});

test('during a replay of its state, a run does not ask again', () => {
    const { page, sent, questions } = open({ drafts: [draft('d', 'b')], living: { b: 'replay' } });
    page.onEvent({ event: 'replaying', state: 'b', done: 0, total: 2 });
    page.ownRuns.run(page.cells()[2], 'd');
    assert.deepEqual([questions.length, sent.at(-1).replay], [0, true]);
    assert.deepEqual(cellsOf(page)[1].progress, { done: 0, total: 2 });
});

test('a replay asks first and names the number of cells, shows its progress, and reports why it failed', async () => {
    const { page, sent, answers, questions, decisions } = open({
        states: ['a', 'b', 'c'],
        living: { a: 'disk', b: 'replay', c: 'replay' },
    });
    page.checkpoints.replay('c');
    assert.equal(
        questions[0].title,
        'Replay 3 cells?',
        'the replay needs all cells: no ancestor has a checkpoint',
    );
    assert.match(questions[0].why, /“code of run-a”/);
    decisions[0](true);
    await settle();
    assert.deepEqual(sent, [{ do: 'replay', state: 'c' }]);
    assert.ok(cellsOf(page)[2].progress);
    page.onEvent({ event: 'replaying', state: 'c', done: 1, total: 3 });
    answers[0]({
        kind: 'refused',
        code: 'kernel',
        what: 'replay c',
        why: 'cell 2 failed',
        how: 'look at it',
    });
    await settle();
    assert.equal(cellsOf(page)[2].progress, undefined);
    assert.equal(page.notice.text, 'Cannot replay c: cell 2 failed. Look at it.');
});

test('states can be pinned, saved, trusted and forked anyway', async () => {
    const { page, sent, answers, decisions } = open();
    page.checkpoints.pin('a', true);
    page.checkpoints.save('b');
    answers[1]({
        kind: 'checkpointed',
        checkpoint: {
            checkpoint_id: 'x',
            compressed_size_bytes: 1_200_000,
            is_trusted: true,
            missing: [{ name: 'g', type: 'generator', reason: 'no' }],
        },
    });
    await settle();
    assert.equal(
        page.notice.text,
        'Saved, 1.2 MB on disk. One variable could not be saved; see below the cell.',
    );
    page.checkpoints.trust();
    decisions[0](true);
    await settle();
    answers[2]({ kind: 'trusted', count: 3 });
    await settle();
    assert.equal(page.notice.text, 'Trusted 3 checkpoints.');
    page.checkpoints.forkAnyway('a', true);
    assert.deepEqual(sent, [
        { do: 'pin', state: 'a', pinned: true },
        { do: 'checkpoint', state: 'b' },
        { do: 'trust' },
        { do: 'fork_anyway', state: 'a', anyway: true },
    ]);
});

test('after a restart of the server the page keeps its state, its cells and all typing', async () => {
    const { page, sent } = open({ states: ['a', 'b', 'c'], drafts: [draft('d', 'b')], address: 'b' });
    page.type(page.cells()[2], 'typed and not sent');
    page.type(page.cells()[0], 'changed');
    const fresh = page.cells().at(-1);
    page.type(fresh, 'new');
    const line = ['initial', 'a', 'b', 'c'];
    const before = page.cells().map((cell) => cell.key);
    page.onSnapshot(
        {
            name: 'main',
            states: line.map((id, i) =>
                state(id, i ? line[i - 1] : null, { exec_count: i, living: i ? 'disk' : 'memory' }),
            ),
            runs: line.slice(1).map((id, i) => run(`run-${id}`, line[i], { state: id })),
            drafts: [draft('d', 'b')],
            python: python(),
            trouble: null,
            people: [],
        },
        'b',
    );
    assert.equal(page.here, 'b');
    assert.deepEqual(
        page.cells().map((cell) => cell.key),
        before,
    );
    assert.deepEqual(sources(page), ['typed and not sent', 'new']);
    assert.equal(cellsOf(page)[0].edit.text, 'changed');
    assert.equal(page.notice, null);
    page.drafts.flushAll();
    assert.deepEqual(
        sent.map((one) => one.draft.source),
        ['typed and not sent', 'changed', 'new'],
    );
});

test('a replay stopped in this tab is not reported as a failure', async () => {
    const { page, sent, answers, decisions } = open({ living: { b: 'replay' } });
    const refused = {
        kind: 'refused',
        code: 'lost',
        what: 'replay state b',
        why: 'the replay was stopped',
        how: 'run its cells one by one, and fix the cell that fails',
    };
    page.checkpoints.replay('b');
    decisions[0](true);
    await settle();
    page.checkpoints.stopReplay('b');
    assert.deepEqual(
        sent.map((one) => one.do),
        ['replay', 'interrupt'],
    );
    answers[1]({ kind: 'interrupted', interrupted: true });
    answers[0](refused);
    await settle();
    assert.deepEqual([page.notice.isBad, page.notice.text], [false, WORDS.replayStopped]);
    page.checkpoints.replay('b');
    decisions[1](true);
    await settle();
    answers[2](refused);
    await settle();
    assert.equal(page.notice.isBad, true, 'a replay stopped elsewhere is reported');
});

test('a notice does not repeat what the banner says about the disk', () => {
    const { page } = open();
    const refused = refusal('disk', ['save the change', 'the disk is full', 'free some space']);
    page.reportRefusal(refused);
    assert.match(page.notice.text, /disk is full/);
    page.dismissNotice();
    page.onEvent({
        event: 'trouble_changed',
        trouble: { what: 'write', why: 'the disk is full', how: 'free some space' },
    });
    page.reportRefusal(refused);
    assert.equal(page.notice, null);
});

test('variables are requested again when their state was restored', async () => {
    const { page, sent, answers } = open({ living: { b: 'disk' } });
    page.variables.show(true);
    answers[0]({ kind: 'variables', variables: [] });
    await settle();
    const b = page.model.states.get('b');
    page.onEvent({ event: 'state_changed', state: { ...b, memory_bytes: 5 } });
    assert.equal(sent.length, 1, 'a changed size is no reason');
    page.onEvent({ event: 'state_changed', state: { ...b, living: 'memory', revival: { by: 'replay' } } });
    assert.equal(sent.length, 2);
});

test('a cell shows its requested run as waiting until the server reports the run', () => {
    const { page } = open({ drafts: [draft('d', 'b', 'x = 1')] });
    const cell = (key) => page.cells().find((one) => one.key === key);
    assert.equal(cell('d').isAsked, false);
    page.onConnection('waiting');
    page.ownRuns.run(cell('d'), 'x = 1');
    assert.equal(cell('d').isAsked, true);
    const exec_id = page.ownRuns.requested.get('d');
    page.onConnection('open');
    page.onEvent({
        event: 'run_added',
        run: run(exec_id, 'b', { status: 'queued', draft: 'd', code: 'x = 1' }),
    });
    assert.equal(cell('d').isAsked, false, 'the run is reported now');
    page.ownRuns.run(cell('a'), 'changed');
    assert.equal(cell('a').isAsked, true, 'also for a cell that ran');
    const again = page.newVersions.get('a');
    page.onEvent({
        event: 'run_added',
        run: run(again, 'initial', { status: 'running', code: 'changed' }),
    });
    assert.equal(cell('a').isAsked, false);
});

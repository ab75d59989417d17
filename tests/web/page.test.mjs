// The commands and the position of the page, given the server's events. No browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClipboardHistory } from '../../web/cell/clipboard-history.js';
import { runOf } from '../../web/notebook/cell-list.js';
import { CellOperations } from '../../web/cell/cell-operations.js';
import { Model } from '../../web/shell/model.js';
import { Page } from '../../web/notebook/page.js';
import { WORDS } from '../../web/shell/words.js';
import { refusal, run, state, variable } from './records.mjs';

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
            trouble: null,
            people: [],
        },
        address,
    );
    return { page, sent, answers, addresses, tab, questions, decisions };
}

/** The cells as `any`, because each test knows their kinds. @returns {any[]} */
const cellsOf = (page) => page.cells();

/** Cells as text: `[a]` ran, `d` draft, `?` the empty one, `!x` an attempt. */
const shown = (page) =>
    page
        .cells()
        .map((cell) => {
            if (cell.kind === 'ran') return `[${cell.state.id}]`;
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

test('a warning is told at the cell where it begins, and where one stands', () => {
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
    assert.deepEqual(told(), ['', 'a thread', 'a socket', 'a thread,a socket']);
    page.goTo('c');
    assert.deepEqual(told(), ['', 'a thread', 'a thread,a socket']);
});

test('without an address it stands on the newest state', () => {
    const { page, addresses } = open();
    assert.equal(page.here, 'b');
    assert.deepEqual(addresses, ['b']);
    assert.equal(shown(page), '[a] [b] ?');
});

test('an address is followed', () => assert.equal(shown(open({ address: 'a' }).page), '[a] ?'));

test('a draft that ran well takes the page along, and the drafts behind it', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b'), draft('d2', 'b')] });
    page.run(page.cells()[2], 'd1');
    assert.equal(sent[0].do, 'run');
    assert.deepEqual(sent[0].on, { state: 'b' });
    assert.equal(sent[0].draft, 'd1');
    succeed(page, sent[0], 'b', 'c', ['d2']);
    assert.equal(page.here, 'c');
    assert.equal(shown(page), '[a] [b] [c] d2 ?');
    assert.equal(page.cells()[2].key, 'd1', 'the cell keeps its place in the page');
});

test('a run of somebody else leaves the page where it is', () => {
    const { page } = open();
    succeed(page, { exec_id: 'theirs' }, 'b', 'c');
    assert.equal(page.here, 'b');
});

test('who looks at a run of somebody else goes on to the state that it leaves', () => {
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

test('who went elsewhere meanwhile is not called back', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b')] });
    page.run(page.cells()[2], 'd1');
    page.goTo('a');
    succeed(page, sent[0], 'b', 'c');
    assert.equal(page.here, 'a');
});

test('a cell below a running one waits for it', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b'), draft('d2', 'b')] });
    page.run(page.cells()[2], 'd1');
    page.onEvent({ event: 'run_added', run: run(sent[0].exec_id, 'b', { status: 'running', draft: 'd1' }) });
    page.run(page.cells()[3], 'd2');
    assert.deepEqual(sent.at(-1).on, { run: sent[0].exec_id });
});

test('or runs beside it, when that is wished', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b'), draft('d2', 'b')] });
    page.run(page.cells()[2], 'd1');
    page.onEvent({ event: 'run_added', run: run(sent[0].exec_id, 'b', { status: 'running', draft: 'd1' }) });
    assert.equal(page.waitsFor(page.cells()[3]), sent[0].exec_id);
    page.run(page.cells()[3], 'd2', true);
    assert.deepEqual(sent.at(-1).on, { state: 'b' });
    succeed(page, sent[0], 'b', 'one', ['d2']);
    assert.equal(page.here, 'one', 'we go on with the one above');
});

test('a changed cell runs in the place of what it was', () => {
    const { page, sent } = open();
    const [first] = page.cells();
    page.type(first, 'changed');
    page.run(page.cells()[0], 'changed');
    assert.deepEqual(sent[0].on, { state: 'initial' });
    assert.deepEqual(sent[0].instead_of, { state: 'a', tip: 'b' });
    page.onEvent({ event: 'run_added', run: run(sent[0].exec_id, 'initial', { status: 'running' }) });
    assert.equal(shown(page), '[a] [b] ?', 'it is shown where it was changed');
    assert.equal(cellsOf(page)[0].shown.exec_id, sent[0].exec_id);
    assert.equal(cellsOf(page)[1].isOutdated, true);
    succeed(page, sent[0], 'initial', 'a2', ['later']);
    assert.equal(shown(page), '[a2] later ?');
    assert.equal(page.edits.size, 0);
});

test('a cell below a new version waits while that runs; once it failed, the page says so', () => {
    const { page, sent } = open();
    page.run(page.cells()[0], 'changed');
    const { exec_id } = sent[0];
    const told = () => {
        page.run(cellsOf(page)[1], 'b again');
        return page.notice.text;
    };
    assert.equal(told(), WORDS.wait, 'asked for');
    page.onEvent({ event: 'run_added', run: run(exec_id, 'initial', { status: 'running' }) });
    assert.equal(told(), WORDS.wait);
    page.onEvent({ event: 'run_ended', exec_id, status: 'error', error: null, duration_ms: 2, state: null });
    assert.equal(cellsOf(page)[1].isOutdated, true);
    assert.equal(told(), WORDS.failedAbove);
    assert.equal(sent.length, 1);
    page.undoEdit(cellsOf(page)[0]);
    page.run(cellsOf(page)[1], 'b again');
    assert.equal(sent.length, 2);
});

test('typing into the empty cell makes a draft, and there is an empty cell again', () => {
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

test('the echo of our own typing changes nothing; what another tab typed is laid together with what is not there yet', async () => {
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

test('what was typed while the cell ran stays, as a change of the new cell', () => {
    const { page, sent } = open({ drafts: [draft('d', 'b', 'first')] });
    page.run(page.cells()[2], 'first');
    page.type(page.cells()[2], 'first and more');
    succeed(page, { ...sent.find((one) => one.do === 'run') }, 'b', 'c');
    page.drafts.flushAll();
    assert.equal(cellsOf(page)[2].edit.text, 'first and more');
});

test('versions of a cell are what it left when it ran again, not what was inserted beside it', () => {
    const { page, sent } = open({ drafts: [above('b', draft('in', 'a'))] });
    const versions = () =>
        page.cells().flatMap((cell) => (cell.kind === 'ran' ? [cell.versions.join(' ')] : []));
    page.run(page.cells()[1], 'in');
    succeed(page, sent.at(-1), 'a', 'n');
    assert.deepEqual(versions(), ['a', 'n']);
    page.goTo('b');
    page.run(page.cells()[1], 'other code');
    assert.equal(sent.at(-1).draft, 'b', 'a cell that was no draft is known by its state');
    succeed(page, sent.at(-1), 'a', 'b2');
    assert.deepEqual(versions(), ['a', 'b b2']);
    page.run(page.cells()[1], 'third');
    assert.equal(sent.at(-1).draft, 'b');
    succeed(page, sent.at(-1), 'a', 'b3');
    assert.deepEqual(versions(), ['a', 'b b2 b3']);
    assert.equal(page.cells()[1].key, 'b', 'it is the same cell');
});

test('a failed attempt is looked at beside the state it ran against', () => {
    const { page } = open();
    page.onEvent({ event: 'run_added', run: run('bad', 'a', { status: 'error' }) });
    assert.equal(shown(page), '[a] [b] ?');
    page.goTo('bad');
    assert.equal(shown(page), '[a] !bad ?');
    page.onEvent({ event: 'removed', states: [], runs: ['bad'] });
    assert.equal(shown(page), '[a] ?');
});

test('when the state it stands on is deleted it goes to the nearest that is left', () => {
    const { page } = open({ states: ['a', 'b', 'c'] });
    page.onEvent({ event: 'removed', states: ['c', 'b'], runs: ['run-c', 'run-b'] });
    assert.equal(page.here, 'a');
});

test('drafts that an earlier cell of the line left behind stay in sight', () => {
    const { page } = open({ drafts: [above('b', draft('left', 'a')), above('b', draft('empty', 'a', ' '))] });
    assert.equal(shown(page), '[a] left [b] ?');
});

test('a view link is offered nothing to type in', () => {
    const { page, sent } = open({ scope: 'view' });
    assert.equal(shown(page), '[a] [b]');
    page.run(page.cells()[0], 'x');
    assert.deepEqual(sent, []);
});

test('a refused run says why', async () => {
    const { page, answers } = open({ drafts: [draft('d', 'b')] });
    page.run(page.cells()[2], 'd');
    answers[0]({ kind: 'refused', code: 'busy', what: 'run it', why: 'too many run', how: 'wait' });
    await new Promise(setImmediate);
    assert.equal(page.notice.text, 'Cannot run it: too many run. Wait.');
});

const settle = () => new Promise(setImmediate);
const sources = (page, state = 'b') => page.drafts.on(state).map((one) => one.source);

test('what another tab typed elsewhere in the same draft is laid together with ours', () => {
    const { page } = open({ drafts: [draft('d', 'b', 'a = 1\nb = 2\nc = 3')] });
    page.type(page.cells()[2], 'a = 10\nb = 2\nc = 3');
    page.onEvent(puts('b', draft('d', 'b', 'a = 1\nb = 2\nc = 30')));
    assert.deepEqual(sources(page), ['a = 10\nb = 2\nc = 30']);
});

test('what another tab typed in the same place stands before ours, and ours goes on where it was', async () => {
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

test('a text that came and that the editor does not show yet is not overwritten by the next key', () => {
    const { page } = open({ drafts: [draft('d', 'b', 'ab', 1)] });
    page.type(page.cells()[2], 'abc', { before: 'ab' });
    page.onEvent(puts('b', draft('d', 'b', '# new\nab', 2)));
    page.type(page.cells()[2], 'abcd', { before: 'abc' });
    assert.deepEqual(sources(page), ['# new\nabcd']);
});

test('a draft that somebody threw away while we typed in it is made again', async () => {
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

test('what was typed into a draft that has become a state elsewhere is a change of that cell', async () => {
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

test('a draft that was thrown away is out of sight at once', () => {
    const { page } = open({ drafts: [draft('d', 'b')] });
    page.drafts.remove('d');
    assert.equal(shown(page), '[a] [b] ?');
});

test('two cells run one after the other before the server has said anything: the second waits for the first', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b'), draft('d2', 'b')] });
    page.run(page.cells()[2], 'd1');
    page.run(page.cells()[2], 'd1');
    page.run(page.cells()[3], 'd2');
    assert.equal(sent.length, 2, 'a cell that was asked for is not asked for again');
    assert.deepEqual(sent[1].on, { run: sent[0].exec_id });
});

test('all drafts from a cell on run in order', () => {
    const text = { ...draft('t', 'b', '# words'), kind: 'markdown' };
    const { page, sent } = open({
        drafts: [draft('d1', 'b'), draft('d2', 'b'), text, draft('empty', 'b', ' '), draft('d3', 'b')],
    });
    assert.deepEqual(
        page.runnable().map((cell) => cell.draft.id),
        ['d1', 'd2', 'd3'],
    );
    page.runFrom(page.cells()[3].key);
    assert.deepEqual(
        sent.map((one) => one.draft),
        ['d2', 'd3'],
    );
    assert.deepEqual(
        sent.map((one) => one.on),
        [{ state: 'b' }, { run: sent[0].exec_id }],
    );
    assert.deepEqual(
        page.runnable().map((cell) => cell.draft.id),
        ['d1'],
    );
});

test('a draft is put above another', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b'), draft('d2', 'b')] });
    new CellOperations(page).insertAbove(page.cells()[2]);
    assert.equal(sent.at(-1).after, null);
    new CellOperations(page).insertAbove(page.cells()[4]);
    assert.equal(sent.at(-1).after, 'd1');
});

test('drafts are removed, and put back where they stood', () => {
    const { page, sent } = open({ drafts: [draft('d1', 'b'), draft('d2', 'b')] });
    const clipboard = new ClipboardHistory(page);
    clipboard.remove([cellsOf(page)[3].draft], () => {});
    assert.equal(page.notice.act.text, 'Undo');
    assert.deepEqual(sources(page), ['d1']);
    clipboard.undo();
    assert.deepEqual([sent.at(-1).draft.source, sent.at(-1).after], ['d2', 'd1']);
    assert.equal(clipboard.undo(), null);
    clipboard.remove(
        cellsOf(page)
            .slice(2, 4)
            .map((cell) => cell.draft),
        () => {},
    );
    assert.deepEqual(sources(page), []);
    clipboard.undo();
    assert.deepEqual(sources(page), ['d1', 'd2'], 'several come back together, in their order');
});

test('an empty draft is put back, too, without a word when it goes', () => {
    const { page } = open({
        drafts: [draft('d1', 'b'), draft('d2', 'b', ''), above('b', draft('in', 'a', ''))],
    });
    const clipboard = new ClipboardHistory(page);
    clipboard.remove([page.drafts.get('d2')], () => {});
    assert.equal(page.notice, null);
    assert.deepEqual(sources(page), ['d1']);
    assert.ok(clipboard.undo());
    assert.deepEqual(sources(page), ['d1', '']);
    clipboard.remove([page.drafts.get('in')], () => {});
    const back = clipboard.undo();
    assert.ok(
        page.cells().some((cell) => cell.key === back),
        'it is shown in the midst of the line, too',
    );
});

test('forgetting an attempt takes its draft along while nobody has changed it', () => {
    for (const [source, goes] of [
        ['d', true],
        ['d, but right', false],
    ]) {
        const { page, sent } = open({ drafts: [draft('d', 'b', source)] });
        page.onEvent({
            event: 'run_added',
            run: run('bad', 'b', { status: 'error', draft: 'd', code: 'd' }),
        });
        new ClipboardHistory(page).forgetAttempt(page.model.runs.get('bad'), () => {});
        assert.deepEqual(
            sent.map((one) => one.do),
            goes ? ['delete_draft'] : [],
            'for a moment it can be taken back',
        );
        page.deletion.commit();
        assert.equal(sent.at(-1).do, 'drop_attempt');
    }
});

test('a forgotten attempt is out of sight, and back when that is undone; nothing is sent', () => {
    const { page, sent } = open({ drafts: [draft('d', 'b', 'd, but right')] });
    page.onEvent({ event: 'run_added', run: run('bad', 'b', { status: 'error', draft: 'd', code: 'd' }) });
    const shown = () =>
        page
            .cells()
            .map(runOf)
            .filter((one) => one?.exec_id === 'bad').length;
    assert.equal(shown(), 1);
    new ClipboardHistory(page).forgetAttempt(page.model.runs.get('bad'), () => {});
    assert.equal(shown(), 0);
    assert.equal(page.notice.act.text, 'Undo');
    page.notice.act.act();
    assert.equal(shown(), 1);
    assert.deepEqual(sent, []);
});

test('when the server starts anew, what was typed and not yet sent hangs where we stand, and the page says so', () => {
    const { page, sent } = open({ drafts: [draft('d', 'b', '')] });
    page.type(page.cells()[2], 'typed');
    page.onSnapshot(
        { name: 'main', states: [state('initial', null)], runs: [], drafts: [], trouble: null, people: [] },
        'b',
    );
    assert.deepEqual(sources(page, 'initial'), ['typed']);
    assert.equal(sent.at(-1).draft.on, 'initial');
    assert.match(page.notice.text, /no longer exists/);
});

test('variables: data first, and what was shown is shown after a reload', async () => {
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

test('variables that could not be had are asked for again by whoever comes again, or asks', async () => {
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

test('a draft that an earlier cell left behind offers no place around it', () => {
    const { page, sent } = open({ drafts: [above('b', draft('left', 'a'))] });
    page.insertBelow(page.cells()[1]);
    assert.equal(sent.at(-1).draft.on, 'b');
});

test('what was typed is sent before the run that builds on it, and waits for what is under way', async () => {
    const { page, sent, answers } = open({
        drafts: [{ ...draft('t', 'b', ''), kind: 'markdown' }, draft('d', 'b'), draft('e', 'b')],
    });
    page.type(page.cells()[2], '# A');
    page.drafts.flush('t');
    page.type(page.cells()[2], '# A title');
    page.run(page.cells()[3], 'd');
    page.run(page.cells()[4], 'e');
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

test('a text that has become that of a state is not shown twice until its own reply comes', async () => {
    const { page, sent, answers } = open({ drafts: [draft('d', 'b')] });
    const fresh = cellsOf(page).findLast((cell) => cell.isFresh).draft;
    page.drafts.add({ ...fresh, id: 't', kind: 'markdown', source: '# A' }, null);
    page.run(page.cells()[3], 'd');
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
    assert.equal(shown(page), '[a] [b] [c] ?');
    answers[0]({ kind: 'done' });
    await settle();
    assert.equal(shown(page), '[a] [b] [c] ?');
    assert.deepEqual(
        sent.map((one) => one.do),
        ['put_draft', 'run'],
    );
});

test('a draft that runs already is not sent again when the run before it ends', () => {
    const { page, sent } = open();
    for (const code of ['one', 'two']) {
        page.type(
            cellsOf(page).findLast((cell) => cell.isFresh),
            code,
        );
        page.run(
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

test('a run at a state that has no process asks first, and only then', async () => {
    const { page, sent, questions, decisions } = open({
        drafts: [draft('d1', 'b'), draft('d2', 'b')],
        living: { a: 'disk', b: 'replay' },
    });
    page.runFrom();
    assert.deepEqual(sent, []);
    assert.match(questions[0].title, /not loaded. Replay its 2 cells first/);
    decisions[0](false);
    await settle();
    assert.deepEqual(sent, [], 'no is no');
    page.run(page.cells()[3], ' ');
    assert.equal(questions.length, 1, 'where nothing would run nothing is asked');
    page.runFrom();
    decisions[1](true);
    await settle();
    assert.deepEqual(
        sent.map((one) => [one.do, one.draft, one.replay]),
        [
            ['run', 'd1', true],
            ['run', 'd2', undefined],
        ],
    );
    page.run(page.cells()[1], 'again');
    assert.deepEqual(sent.at(-1).on, { state: 'a' });
    assert.equal(sent.at(-1).replay, undefined, 'what is on disk comes back by itself');
});

test('while a state is replayed already, a run at it does not ask again', () => {
    const { page, sent, questions } = open({ drafts: [draft('d', 'b')], living: { b: 'replay' } });
    page.onEvent({ event: 'replaying', state: 'b', done: 0, total: 2 });
    page.run(page.cells()[2], 'd');
    assert.deepEqual([questions.length, sent.at(-1).replay], [0, true]);
    assert.deepEqual(cellsOf(page)[1].progress, { done: 0, total: 2 });
});

test('a replay asks how many cells will run, shows that it is under way, and says why it failed', async () => {
    const { page, sent, answers, questions, decisions } = open({
        states: ['a', 'b', 'c'],
        living: { a: 'disk', b: 'replay', c: 'replay' },
    });
    page.checkpoints.replay('c');
    assert.equal(questions[0].title, 'Replay 3 cells?', 'a checkpoint that is not there helps nobody');
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

test('states are pinned, saved and trusted', async () => {
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

test('after a restart of the server the page stands where it stood, with all that was typed', async () => {
    const { page, sent, tab } = open({ states: ['a', 'b', 'c'], drafts: [draft('d', 'b')], address: 'b' });
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
    assert.deepEqual(tab.get('edits'), [['a', { text: 'changed', run: null }]]);
    assert.equal(page.notice, null);
    page.drafts.flushAll();
    assert.deepEqual(
        sent.map((one) => one.draft.source),
        ['typed and not sent', 'new'],
    );
});

test('a replay that was stopped here has not failed', async () => {
    const { page, sent, answers, decisions } = open({ living: { b: 'replay' } });
    const refused = {
        kind: 'refused',
        code: 'lost',
        what: 'replay state b',
        why: 'it was stopped',
        how: 'run its cells by hand and change what fails',
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
    assert.equal(page.notice.isBad, true, 'stopped elsewhere: that is told');
});

test('what the banner says about the disk no notice repeats', () => {
    const { page } = open();
    const refused = refusal('disk', ['keep what was done', 'the disk is full', 'free some space']);
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

test('variables are looked at again when a state has come back with others', async () => {
    const { page, sent, answers } = open({ living: { b: 'disk' } });
    page.variables.show(true);
    answers[0]({ kind: 'variables', variables: [] });
    await settle();
    const b = page.model.states.get('b');
    page.onEvent({ event: 'state_changed', state: { ...b, memory_bytes: 5 } });
    assert.equal(sent.length, 1, 'a size is none');
    page.onEvent({ event: 'state_changed', state: { ...b, living: 'memory', revival: { by: 'replay' } } });
    assert.equal(sent.length, 2);
});

test('a run that was asked for is waiting from then on, also where the server says nothing', () => {
    const { page } = open({ drafts: [draft('d', 'b', 'x = 1')] });
    const cell = (key) => page.cells().find((one) => one.key === key);
    assert.equal(cell('d').isAsked, false);
    page.onConnection('waiting');
    page.run(cell('d'), 'x = 1');
    assert.equal(cell('d').isAsked, true);
    const exec_id = page.requestedRuns.get('d');
    page.onConnection('open');
    page.onEvent({
        event: 'run_added',
        run: run(exec_id, 'b', { status: 'queued', draft: 'd', code: 'x = 1' }),
    });
    assert.equal(cell('d').isAsked, false, 'from now on its run tells');
    page.run(cell('a'), 'changed');
    assert.equal(cell('a').isAsked, true, 'one that ran, too');
    const again = page.edits.get('a').run;
    page.onEvent({
        event: 'run_added',
        run: run(again, 'initial', { status: 'running', code: 'changed' }),
    });
    assert.equal(cell('a').isAsked, false);
});

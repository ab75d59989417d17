// Several people in one notebook: presence, merged typing, deletion and Undo.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countBelow, subtreeOf, UNDO_MS } from '../../web/notebook/state-deletion.js';
import { othersAtFork, deleteActions, keepAction, keepBranch } from '../../web/trash/deletions.js';
import { Model } from '../../web/shell/model.js';
import { Page } from '../../web/notebook/page.js';
import { Branches } from '../../web/graph/branches.js';
import { COLOURS, initialsOf, others, positionText } from '../../web/presence/presence.js';
import { OwnTabs } from '../../web/presence/own-tabs.js';
import { isThisMachine, linkOrigin, waysIn } from '../../web/share/reach.js';
import { applied, changesBetween, claimedChanges, wordChangesBetween } from '../../web/text/changes.js';
import { SharedText } from '../../web/notebook/shared-text.js';
import { chance, World } from './draft-world.mjs';
import { root, run, snapshot, state } from './records.mjs';

// Changes

test('the changes between two texts turn one into the other, and split no surrogate pair', () => {
    const below = chance(7);
    const words = ['a', 'bb', 'x', ' = ', ' ', '\n', '😀', '😁', '+', 'foo', 'é', '\r'];
    const text = () => Array.from({ length: below(14) }, () => words[below(words.length)]).join('');
    for (let i = 0; i < 20_000; i += 1) {
        const [before, after] = [text(), text()];
        const changes = changesBetween(before, after);
        assert.equal(applied(changes, before), after);
        changes.iterChanges((_from, _to, _fromAfter, _toAfter, insert) =>
            assert.ok(insert.toString().isWellFormed(), JSON.stringify([before, after, changes])),
        );
        assert.equal(applied(claimedChanges(changes.toJSON(), before, after), before), after);
    }
});

test('changes that do not lead to the given text are ignored', () => {
    for (const said of [undefined, null, 7, 'x', [1], [[0, 'other'], 1], [[5]], [['a']], [{}], [-1]])
        assert.equal(applied(claimedChanges(said, 'a', 'ab'), 'a'), 'ab', JSON.stringify(said));
});

/** The merged text, if our change is sent after the server has accepted theirs. */
function together(base, mine, theirs, typingEnd = null) {
    const text = new SharedText(1, base, typingEnd);
    text.edit(wordChangesBetween(base, mine));
    text.receive(2, theirs);
    return text.text;
}

test('changes at different positions of a line, and of different lines, are both kept', () => {
    assert.equal(
        together('total = price * n', 'total = price * n + tax', 'the_total = price * n'),
        'the_total = price * n + tax',
    );
    assert.equal(together('a\nb\nc', 'a1\nb\nc', 'a\nb\nc1'), 'a1\nb\nc1');
    assert.equal(together('a b c d', 'A b C d', 'a B c D'), 'A B C D');
    assert.equal(together('one two three', 'two three', 'one two'), 'two', 'deletions of both apply');
    assert.equal(together('a', 'a', 'b'), 'b');
    assert.equal(together('a', 'b', 'a'), 'b');
});

test('at the same position both texts stay whole: the confirmed one first, except that local typing continues its own', () => {
    assert.equal(together('', 'mine', 'theirs'), 'theirsmine');
    assert.equal(together('ab', 'abc', 'abX', 2), 'abcX');
    assert.equal(together('value', 'label', 'sum'), 'sumlabel', 'whole words');
    assert.equal(together('x', 'x😀', 'x😁'), 'x😁😀');
});

test('changes in flight and later typing are rebased together, and confirmed one by one', () => {
    const text = new SharedText(1, 'a', 1);
    text.edit(changesBetween('a', 'ab'));
    text.send();
    text.edit(changesBetween('ab', 'abc'));
    assert.equal(text.receive(2, 'aX').mapPos(3, -1), 3, 'the local cursor stays before the received text');
    assert.equal(text.text, 'abcX');
    text.retract();
    text.send();
    text.edit(changesBetween('abcX', 'abcdX'));
    text.confirm(3);
    assert.deepEqual([text.confirmed, text.text, text.version, text.isSettled], ['abcX', 'abcdX', 3, false]);
});

test('carets are converted between the local and the confirmed text', () => {
    const text = new SharedText(1, 'one three', null);
    text.edit(changesBetween('one three', 'one two three'));
    text.send();
    text.edit(changesBetween('one two three', '# one two three'));
    assert.deepEqual(
        [0, 1, 5, 7, 11, 99].map((at) => text.confirmedOffset(at)),
        [0, 0, 3, 5, 5, 9],
    );
    assert.deepEqual(
        [0, 3, 4, 9].map((at) => text.shownOffset(at)),
        [0, 5, 6, 15],
    );
});

test('texts without common lines are compared quickly', () => {
    const lines = (word) => Array.from({ length: 20_000 }, (_, i) => `${word}${i} = ${i}\n`).join('');
    const [before, after] = [lines('a'), lines('b')];
    const began = performance.now();
    const changes = changesBetween(before, after);
    assert.ok(performance.now() - began < 3000);
    assert.equal(applied(changes, before), after);
});

// Several clients, one draft

/**
 * Lets all clients type for six seconds of simulated time. Then all must have the same text, with
 * each typed character once. `hasSnapshots`: a client may receive a text without its changes. It
 * then compares words, and a character deleted from a word that another client changed may
 * reappear.
 */
async function typesAndConverges(world, seed, hasSnapshots = true) {
    for (let i = 0; i < 60; i += 1) {
        world.at(world.below(6000), () => {
            const client = world.clients[world.below(world.clients.length)];
            if (world.below(3)) client.paint();
            client.type();
        });
    }
    await world.run();
    const texts = world.clients.map((client) => client.text);
    assert.equal(
        new Set([...texts, world.drafts.get('d').source]).size,
        1,
        `seed ${seed}: ${JSON.stringify(texts)}`,
    );
    const [text] = texts;
    assert.equal(new Set(text).size, [...text].length, `seed ${seed}: no character is there twice`);
    for (const one of world.typed) {
        if (!world.taken.has(one)) assert.ok(text.includes(one), `seed ${seed}: ${one} is lost`);
        else if (!hasSnapshots) assert.ok(!text.includes(one), `seed ${seed}: ${one} is back`);
    }
    for (const client of world.clients)
        assert.equal(client.drafts.local.size, 0, `seed ${seed}: nothing is left to send`);
}

test('several people who type into one draft end with the same text, and nothing is lost', async () => {
    for (let seed = 1; seed <= 150; seed += 1)
        await typesAndConverges(new World(seed, 2 + (seed % 2)), seed, false);
});

test('texts converge while connections break and return', async () => {
    for (let seed = 1; seed <= 800; seed += 1) {
        const world = new World(seed, 2 + (seed % 2));
        for (const client of world.clients) {
            const lost = world.below(5000);
            world.at(lost, () => client.disconnect());
            world.at(lost + 100 + world.below(3000), () => client.reconnect());
        }
        await typesAndConverges(world, seed);
    }
});

test('texts converge when connections break again before sent changes are confirmed', async () => {
    for (let seed = 1; seed <= 300; seed += 1) {
        const world = new World(seed, 1 + (seed % 2));
        for (const client of world.clients) {
            for (let lost = 200 + world.below(300); lost < 6000; lost += 300 + world.below(1500)) {
                world.at(lost, () => client.disconnect());
                world.at(lost + 20 + world.below(300), () => client.reconnect());
            }
            world.at(7900, () => client.reconnect());
        }
        await typesAndConverges(world, seed);
    }
});

test('texts converge when a connection breaks with several messages in flight', async () => {
    for (let seed = 1; seed <= 300; seed += 1) {
        const world = new World(seed, 2);
        const [client] = world.clients;
        const left = 500 + world.below(4000);
        for (const delay of [0, 30, 60]) {
            world.at(left + delay, () => {
                client.type();
                client.drafts.flushAll(true);
            });
        }
        world.at(left + 60 + world.below(500), () => client.disconnect());
        world.at(left + 600 + world.below(3000), () => client.reconnect());
        await typesAndConverges(world, seed);
    }
});

test('texts converge when the server crashes', async () => {
    // Seed 2569 once produced a doubled text.
    for (const seed of [...Array(300).keys(), 2569]) {
        const world = new World(seed, 2 + (seed % 2));
        const crash = 500 + world.below(5000);
        world.at(crash, () => world.crash());
        for (const client of world.clients)
            world.at(crash + 100 + world.below(3000), () => client.reconnect());
        await typesAndConverges(world, seed);
    }
});

test('texts converge when the server loses what several clients had received from each other', async () => {
    for (let seed = 0; seed < 600; seed += 1) {
        const world = new World(seed, 2 + (seed % 2));
        Object.assign(world, { fsyncMs: 600, deletes: false });
        const crash = 500 + world.below(5000);
        world.at(crash, () => world.crash());
        for (const client of world.clients)
            world.at(crash + 100 + world.below(seed % 4 < 2 ? 300 : 3000), () => client.reconnect());
        await typesAndConverges(world, seed);
    }
});

/** Paints a client. Its cursor stays before text inserted at the cursor's position. */
function paint(client) {
    client.cursor =
        client.cursor === undefined
            ? undefined
            : changesBetween(client.editor, client.text).mapPos(client.cursor, -1);
    client.paint();
}

test('two people who type at the same position do not split each other’s words', async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
        const world = new World(seed, 2);
        const words = ['the quick brown fox', 'import pandas as pd'];
        for (const [number, client] of world.clients.entries()) {
            [...words[number]].forEach((letter, i) =>
                world.at(50 + i * 120 + world.below(50), () => {
                    // As in an editor, the cursor is after the text typed by this client.
                    if (world.below(2)) paint(client);
                    const before = client.editor;
                    const at = client.cursor ?? 0;
                    client.cursor = at + 1;
                    client.editor = before.slice(0, at) + letter + before.slice(at);
                    client.drafts.put({ id: 'd', on: 's', kind: 'code', source: client.editor }, null, {
                        before,
                    });
                }),
            );
        }
        await world.run();
        const text = world.drafts.get('d').source;
        for (const word of words) assert.ok(text.includes(word), `seed ${seed}: ${text}`);
    }
});

// People

test('others are shown by name, or as guests with the same numbers on every page', () => {
    const person = (id, name, at = 'initial') => ({
        id,
        number: Number(id[1]),
        name,
        scope: 'run',
        state: at,
    });
    const people = [
        person('v1', null),
        person('v2', 'Ada Lovelace'),
        person('v3', null),
        person('v4', 'Grace'),
    ];
    assert.deepEqual(
        others(people, 'v1').map(({ called, initials }) => [called, initials]),
        [
            ['Ada Lovelace', 'AL'],
            ['Guest 3', 'G3'],
            ['Grace', 'G'],
        ],
    );
    assert.deepEqual(
        others(people, 'v2').map(({ called }) => called),
        ['Guest 1', 'Guest 3', 'Grace'],
    );
    assert.equal(others(people, null).length, 4);
    assert.equal(initialsOf('  émile  du  châtelet '), 'ÉC');
    const many = Array.from({ length: COLOURS }, (_, i) => ({ ...person('v1', null), number: i + 9 }));
    assert.equal(new Set(others(many, null).map(({ colour }) => colour)).size, COLOURS);
});

test('a person’s current state is named by its label, or by its number and its name in the graph', () => {
    const model = new Model();
    model.load(
        snapshot({
            states: [root, state('a', 'initial', { exec_count: 3 }), state('b', 'a', { label: 'clean' })],
            runs: [run('run-a', 'initial', { code: 'import re\nx = 1', state: 'a' })],
        }),
    );
    assert.deepEqual(
        ['initial', 'a', 'b', 'gone'].map((id) => positionText({ model, branches: new Branches() }, id)),
        ['the start', 'cell 3, “x = 1”', 'clean', 'the start'],
    );
});

/** Opens a page at initial → a → b → c, a → d. The test fires its timers. */
function open(t, running = false) {
    const [sent, answers, timers, questions, decisions] = [[], [], [], [], []];
    const you = { called: null };
    t.mock.method(globalThis, 'setTimeout', (what, ms) => timers.push({ what, ms }));
    const page = new Page(new Model(), {
        send: (command) => (sent.push(command), new Promise((answer) => answers.push(answer))),
        requestPaint: () => {},
        paintNow: () => {},
        paintIfDue: () => {},
        setAddress: () => {},
        recall: () => undefined,
        remember: () => {},
        displayName: () => you.called,
        ask: (question) => (questions.push(question), new Promise((answer) => decisions.push(answer))),
    });
    page.onScope('owner');
    page.onConnection('open');
    const parents = { a: 'initial', b: 'a', c: 'b', d: 'a' };
    const runs = running ? [run('r', 'b', { code: '', status: 'running', duration_ms: null })] : [];
    page.onSnapshot(
        snapshot({
            states: [root, ...Object.entries(parents).map(([id, parent]) => state(id, parent))],
            runs,
        }),
        'c',
    );
    const ring = async (ms) => {
        for (const timer of timers.splice(0)) if (timer.ms === ms) timer.what();
        await settle();
    };
    return { page, sent, answers, questions, decisions, timers, ring, you };
}
const settle = () => new Promise(setImmediate);

test('the page sends its current state after a delay, once for several steps, and again after a reconnection', async (t) => {
    const { page, sent, answers, ring, you } = open(t);
    page.goTo('a');
    page.goTo('d');
    await ring(200);
    assert.deepEqual(sent, [{ do: 'stand', state: 'd', name: null }]);
    answers[0]({ kind: 'standing', id: 'v7' });
    await settle();
    page.onEvent({
        event: 'people_changed',
        people: [
            { id: 'v7', number: 0, name: null, scope: 'owner', state: 'd' },
            { id: 'v8', number: 1, name: null, scope: 'view', state: 'a' },
        ],
    });
    assert.deepEqual(
        page.others().map(({ id }) => id),
        ['v8'],
    );
    page.onConnection('waiting');
    page.onConnection('open');
    you.called = 'Ada';
    page.presence.onMoved();
    await ring(200);
    assert.deepEqual(sent[1], { do: 'stand', state: 'd', name: 'Ada' });
    assert.equal(sent.length, 2);
});

test('a move while the server refuses the position is sent after the refusal', async (t) => {
    const { page, sent, answers, ring } = open(t);
    page.goTo('a');
    await ring(200);
    page.goTo('d');
    await ring(200);
    assert.deepEqual(sent, [{ do: 'stand', state: 'a', name: null }]);
    answers[0]({ kind: 'refused', code: 'not_found' });
    await settle();
    await ring(200);
    assert.deepEqual(sent[1], { do: 'stand', state: 'd', name: null });
    answers[1]({ kind: 'refused', code: 'not_found' });
    await settle();
    await ring(200);
    assert.equal(sent.length, 2, 'a refused position is not sent again');
});

test('the page sends its caret with its current state, and shows the carets of others', async (t) => {
    const { page, sent, answers, ring } = open(t);
    const shown = [];
    page.onEvent({
        event: 'drafts_changed',
        on: 'c',
        removed: [],
        put: [{ draft: { id: 'd1', on: 'c', kind: 'code', source: 'abc', version: 3 }, after: null }],
    });
    page.onEditor('d1', {
        receive: () => {},
        showCarets: (carets) => shown.push(carets.map(({ called, anchor, head }) => [called, anchor, head])),
        selection: { anchor: 1, head: 2 },
    });
    page.presence.onCaret('d1');
    await ring(200);
    assert.deepEqual(sent.at(-1).caret, { draft: 'd1', version: 3, anchor: 1, head: 2 });
    answers.at(-1)({ kind: 'standing', id: 'v7' });
    await settle();
    const caret = { draft: 'd1', version: 3, anchor: 3, head: 3 };
    const others = ['v7', 'v8'].map((id) => ({
        id,
        number: Number(id[1]),
        name: id,
        scope: 'run',
        state: 'c',
        caret,
    }));
    page.onEvent({ event: 'people_changed', people: others });
    assert.deepEqual(shown.at(-1), [['v8', 3, 3]]);
    page.presence.onCaret(null);
    await ring(200);
    assert.equal('caret' in sent.at(-1), false);
    page.onEvent({ event: 'people_changed', people: others.slice(0, 1) });
    assert.deepEqual(shown.at(-1), []);
});

test('a page follows a person to their states and cells until its user acts or the person leaves', async (t) => {
    const { page, sent, answers, ring } = open(t);
    await ring(200);
    answers.at(-1)({ kind: 'standing', id: 'v7' });
    const ada = (more) => ({ id: 'v8', number: 8, name: 'Ada', scope: 'run', state: 'c', ...more });
    const people = (...all) => page.onEvent({ event: 'people_changed', people: all });
    people(ada({ state: 'a' }));
    page.following.toggle('v8');
    assert.deepEqual([page.here, page.following.person.called, page.following.cell], ['a', 'Ada', null]);
    await settle();
    await ring(200);
    assert.equal(sent.at(-1).follows, 'v8');
    people(ada({ state: 'd', cell: 'x1' }));
    assert.deepEqual([page.here, page.following.cell], ['d', 'x1']);
    people(ada({ cell: 'x1', caret: { draft: 'x2', version: 1, anchor: 0, head: 0 } }));
    assert.deepEqual([page.here, page.following.cell], ['c', 'x2'], 'the cell with the caret');
    people(ada({ state: 'gone' }));
    assert.equal(page.here, 'c');
    people(ada({ state: 'b', follows: 'v7' }));
    assert.equal(page.here, 'c', 'two who follow each other stay where they are');

    page.goTo('d');
    assert.equal(page.following.person, null);
    people(ada({ state: 'a' }));
    assert.equal(page.here, 'd');

    page.following.toggle('v8');
    page.following.toggle('v8');
    assert.equal(page.following.person, null, 'a second click ends it');
    page.following.toggle('v8');
    people();
    assert.equal(page.following.person, null);
    assert.match(page.notice.text, /^Ada has left/);
});

test('the other tabs of a browser are not other people', (t) => {
    const all = ['v1', 'v2', 'v3'].map((id) => ({ id, number: 0, name: null, scope: 'owner', state: 'a' }));
    assert.deepEqual(
        others(all, 'v1', new Set(['v3'])).map(({ id }) => id),
        ['v2'],
    );
    const channels = [];
    // Node's own channels deliver messages later.
    const { BroadcastChannel } = globalThis;
    t.after(() => Object.assign(globalThis, { BroadcastChannel }));
    /** @type {any} */ (globalThis).BroadcastChannel = function channel() {
        channels.push(this);
        this.postMessage = (data) => {
            for (const other of channels) if (other !== this) other.onmessage({ data });
        };
    };
    const [one, two] = ['one', 'two'].map(() => new OwnTabs('main', () => {}));
    one.onId('v1', 'e');
    two.onId('v2', 'e');
    assert.deepEqual([[...one.ids], [...two.ids]], [['v2'], ['v1']]);
    // After a restart of the server, other people have these ids.
    two.onId('v1', 'f');
    assert.deepEqual([[...one.ids], [...two.ids]], [['v2'], []]);
    one.onId('v5', 'f');
    assert.deepEqual([[...one.ids], [...two.ids]], [['v1'], ['v5']]);
});

test('a link names an address that others can open, if the server knows one', () => {
    const listens = (...reachable_as) => ({ port: 8080, is_loopback: true, reachable_as });
    const here = { origin: 'http://127.0.0.1:8080', host: '127.0.0.1:8080', port: '8080' };
    const outside = { origin: 'https://nb.example.org', host: 'nb.example.org', port: '' };
    assert.equal(linkOrigin(here, listens()), here.origin);
    assert.equal(linkOrigin(here, listens('localhost:9000')), here.origin);
    assert.equal(linkOrigin(here, listens('localhost:9000', 'nb.example.org')), 'https://nb.example.org');
    assert.equal(linkOrigin(here, listens('10.0.0.7:8080')), 'http://10.0.0.7:8080');
    assert.equal(linkOrigin(outside, listens('other.example.org')), outside.origin);
    for (const host of ['localhost', 'LOCALHOST:1', '127.0.0.1', '127.9.9.9:80', '[::1]:8080'])
        assert.ok(isThisMachine(host), host);
    for (const host of ['127.example.org', 'localhost.example.org', '10.0.0.1', '[::2]:80'])
        assert.ok(!isThisMachine(host), host);
    const tunnelled = { ...here, port: '9000' };
    assert.equal(waysIn(tunnelled, listens()).tunnel, 'ssh -N -L 9000:127.0.0.1:8080 USER@HOST');
});

test('a state is deleted when the time for Undo is over', async (t) => {
    const { page, sent, answers, ring, timers } = open(t);
    assert.deepEqual([subtreeOf(page.model, 'a'), countBelow(page.model, 'a')], [['a', 'b', 'd', 'c'], 3]);
    await page.deleteState({ state: 'b', subtree: true });
    assert.deepEqual(
        [[...page.pendingDeletion], page.here, page.notice.text],
        [['b', 'c'], 'a', 'Deleted 2 states.'],
    );
    assert.deepEqual(sent, []);
    page.notice.act.act();
    assert.deepEqual([[...page.pendingDeletion], page.here, page.notice], [[], 'c', null]);
    timers.length = 0;
    await page.deleteState({ state: 'c' });
    await page.deleteState({ state: 'd' });
    assert.deepEqual(
        sent,
        [{ do: 'delete_state', state: 'c', subtree: false }],
        'the next deletion sends the previous one',
    );
    assert.deepEqual([...page.pendingDeletion], ['c', 'd']);
    answers[0]({ kind: 'done' });
    await settle();
    assert.deepEqual([...page.pendingDeletion], ['d']);
    page.deletion.commit();
    assert.equal(sent[1].state, 'd');
    await ring(UNDO_MS);
    assert.equal(sent.filter((one) => one.do === 'delete_state').length, 2);
    await page.deleteState({ state: 'initial', subtree: true });
    assert.equal(page.deletion.pending, null, 'the root stays');
});

test('keeping a branch deletes those beside it, and the failed attempts there, as one deletion', async (t) => {
    const { page, sent } = open(t);
    page.onEvent({
        event: 'run_added',
        run: run('r9', 'a', { status: 'error', error: { ename: 'E', evalue: '', traceback: [] } }),
    });
    assert.deepEqual(othersAtFork(page, 'c'), { states: ['d'], attempts: ['r9'] }, 'the fork is at a');
    assert.equal(othersAtFork(page, 'a'), null);
    page.goTo('d');
    await keepBranch(page, 'b');
    assert.deepEqual([[...page.pendingDeletion], page.here], [['d', 'r9'], 'c']);
    assert.equal(page.notice.text, 'Kept this branch, deleted 2 others.');
    assert.equal(othersAtFork(page, 'c'), null, 'what is about to be deleted counts no more');
    page.notice.act.act();
    assert.deepEqual([[...page.pendingDeletion], page.here], [[], 'd']);
    page.goTo('a');
    await keepBranch(page, 'b');
    assert.equal(page.here, 'c', 'who stands elsewhere is taken to the branch that is kept');
    page.notice.act.act();
    assert.equal(page.here, 'a', 'and back by Undo');
    await keepBranch(page, 'd');
    page.deletion.commit();
    assert.deepEqual(sent, [{ do: 'delete_branches', states: ['b'], attempts: ['r9'] }]);
    await keepBranch(page, 'a');
    assert.equal(page.notice.text, 'Nothing branches off from this line of cells.');
});

test('what failed on a deleted state goes with it', async (t) => {
    const { page } = open(t);
    page.onEvent({
        event: 'run_added',
        run: run('r9', 'c', { status: 'error', error: { ename: 'E', evalue: '', traceback: [] } }),
    });
    const [, below] = deleteActions(page.model.states.get('b'), page);
    assert.ok(below);
    assert.equal(below.hint, 'Deletes 2 states and 1 failed attempt. Undo for 30 days.');
    await page.deleteState({ state: 'c' });
    assert.deepEqual([...page.pendingDeletion], ['c', 'r9']);
    assert.equal(page.notice.text, 'Deleted 1 state and 1 failed attempt.');
    page.notice.act.act();
    await page.deleteState({ state: 'b', subtree: true });
    assert.deepEqual([...page.pendingDeletion], ['b', 'c', 'r9']);
});

test('a branch on which somebody has run a cell meanwhile is not deleted', async (t) => {
    const { page, sent, decisions } = open(t);
    await keepBranch(page, 'd');
    page.onEvent({ event: 'run_added', run: run('late', 'c', { status: 'running' }) });
    page.deletion.commit();
    assert.deepEqual([sent, [...page.pendingDeletion]], [[], []]);
    assert.match(page.notice.text, /^Nothing was deleted: meanwhile, a cell was run/);
    // A cell that ran already when the user decided is part of the decision.
    const asked = keepBranch(page, 'd');
    decisions[0](true);
    await asked;
    page.onEvent({ event: 'state_added', state: state('e', 'c', { exec_id: 'late' }) });
    page.onEvent({
        event: 'run_ended',
        exec_id: 'late',
        status: 'ok',
        error: null,
        duration_ms: 2,
        state: 'e',
    });
    page.deletion.commit();
    assert.deepEqual(sent, [{ do: 'delete_branches', states: ['b'], attempts: [] }]);
});

test('whoever stands in a branch that somebody else deletes is told', (t) => {
    const { page } = open(t);
    page.goTo('c');
    page.onEvent({ event: 'removed', states: ['b', 'c'], runs: [], deleted_at: 1 });
    assert.equal(page.here, 'a');
    assert.match(page.notice.text, /^The state that this page showed was deleted/);
});

test('a deletion says before what it takes', (t) => {
    const { page } = open(t, true);
    const { states } = page.model;
    const said = (id) =>
        [...deleteActions(states.get(id), page), keepAction(page, id)].map((one) => (one ? one.hint : null));
    assert.deepEqual(said('d'), [
        'Deletes 1 state. Undo for 30 days.',
        null,
        'Deletes 2 states. Stops 1 running cell. Undo for 30 days.',
    ]);
    for (const id of ['b', 'c']) Object.assign(states.get(id), { living: 'memory', memory_bytes: 6e6 });
    assert.deepEqual(said('b').slice(0, 2), [
        'Deletes 1 state, frees 6.0 MB of memory. The state below stays. Undo for 30 days.',
        'Deletes 2 states, frees 12 MB of memory. Stops 1 running cell. Undo for 30 days.',
    ]);
    states.get('c').living = 'disk';
    assert.match(said('b')[1], /^Deletes 2 states, frees 6.0 MB of memory\./);
});

test('running a cell at a state that is about to be deleted cancels the deletion', async (t) => {
    const { page, sent } = open(t);
    await page.deleteState({ state: 'c' });
    page.goTo('c');
    const fresh = page.cells().at(-1);
    page.type(fresh, 'x');
    page.ownRuns.run(
        page.cells().find(({ key }) => key === fresh.key),
        'x',
    );
    await settle();
    assert.deepEqual([...page.pendingDeletion], []);
    assert.ok(!sent.some((one) => one.do === 'delete_state'));
});

test('deleting a subtree with a running cell asks first', async (t) => {
    const { page, questions, decisions } = open(t, true);
    const asked = page.deleteState({ state: 'a', subtree: true });
    assert.match(questions[0].why, /One running cell will be stopped/);
    decisions[0](false);
    await asked;
    assert.equal(page.pendingDeletion.size, 0);
});

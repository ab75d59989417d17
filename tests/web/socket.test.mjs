// The page's socket on a WebSocket that the test simulates. No browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';

const lines = [];
const globals = /** @type {any} */ (globalThis);
globals.WebSocket = class {
    static OPEN = 1;
    constructor(url) {
        this.url = url;
        this.sent = [];
        lines.push(this);
    }
    send(text) {
        this.sent.push(JSON.parse(text));
    }
    close() {}
};
const woken = [];
globalThis.addEventListener = (name, act) => name === 'focus' && woken.push(act);
globals.document = { addEventListener: () => {} };
globals.location = new URL('http://127.0.0.1/n/main');
const { Socket } = await import('../../web/shell/socket.js');

function open() {
    const heard = [];
    const note = (what) => (value) => heard.push([what, value]);
    const socket = new Socket('main', {
        onSnapshot: note('snapshot'),
        onEvent: note('event'),
        onScope: note('scope'),
        onStatus: note('status'),
        onRefused: note('refused'),
        onLeft: note('left'),
    });
    const line = lines.at(-1);
    const tell = (message) => line.onmessage({ data: JSON.stringify(message) });
    return {
        socket,
        line,
        tell,
        heard,
        end: () => {
            clearTimeout(socket.silence);
            clearTimeout(socket.retry);
        },
    };
}

test('a socket opened before the modules loaded is taken over once, with the messages it received', async () => {
    const line = { url: 'ws://127.0.0.1/ws/main', readyState: 1, close: () => {} };
    const said = (message) => ({ data: JSON.stringify(message) });
    globals.ratoonLine = {
        line,
        heard: [said({ you: { scope: 'run' } }), said({ epoch: 'e', seq: 4, snapshot: { name: 'main' } })],
    };
    const before = lines.length;
    const { heard, end } = open();
    assert.deepEqual(
        [lines.length, heard.length],
        [before, 0],
        'no second socket, and no message before the caller has the object',
    );
    await new Promise(setImmediate);
    assert.deepEqual(
        heard.map(([what]) => what),
        ['status', 'scope', 'snapshot'],
    );
    line.onmessage(said({ epoch: 'e', seq: 5, event: 'state_saved', state: 'a' }));
    assert.equal(heard.at(-1)[0], 'event');
    end();
    open().end();
    assert.equal(lines.length, before + 1, 'the next one opens its own socket');
    globals.ratoonLine = { line: { ...line, readyState: 3 }, heard: [] };
    open().end();
    assert.equal(lines.length, before + 2, 'a closed socket is not taken over');
});

test('a command sent while the socket closes is kept for the next socket', () => {
    const { socket, line, tell, end } = open();
    line.onopen?.();
    tell({ you: { scope: 'run' } });
    tell({ epoch: 'e', seq: 1, snapshot: { name: 'main' } });
    assert.equal(socket.socket, line);
    line.readyState = 2;
    socket.send({ do: 'stand', state: 'a', name: null });
    assert.deepEqual([line.sent, socket.pendingReplies.size], [[], 1]);
    end();
});

test('a page that closes sends its unanswered commands again in one request, in their order', () => {
    const asked = [];
    globals.fetch = async (path, options) => asked.push({ ...options, path });
    const { socket, tell, end } = open();
    tell({ you: { scope: 'run' } });
    const put = (source) => /** @type {any} */ ({ do: 'put_draft', draft: { id: 'd', source } });
    socket.send(put('a'));
    socket.send({ do: 'interrupt', exec_id: 'e' });
    socket.send(put('ab'));
    tell({ reply: 1, kind: 'done' });
    socket.send(put('abc'));
    socket.leave();
    assert.equal(asked.length, 1);
    const [{ path, keepalive, body }] = asked;
    assert.deepEqual([path, keepalive], ['/api/notebooks/main/commands/batch', true]);
    assert.deepEqual(JSON.parse(new TextDecoder().decode(body)), { commands: [put('ab'), put('abc')] });
    socket.send(put('a'.repeat(40_000)));
    socket.leave();
    assert.equal(asked[1].keepalive, true);
    socket.send(put('\u{10FFFF}'.repeat(10_000)));
    socket.leave();
    assert.equal(asked[2].keepalive, false, 'no browser keeps a request of more than 64 KiB alive');
    for (const id of [2, 3, 4, 5, 6]) tell({ reply: id, kind: 'done' });
    socket.leave();
    assert.equal(asked.length, 3, 'nothing is unanswered');
    end();
});

test('a refusal without a number is not dropped', () => {
    const { tell, heard, end } = open();
    tell({
        reply: null,
        kind: 'refused',
        code: 'bad_request',
        what: 'read it',
        why: 'it is no JSON',
        how: 'send JSON',
    });
    assert.equal(heard.at(-1)[0], 'refused');
    assert.equal(heard.at(-1)[1].why, 'it is no JSON');
    end();
});

test('if access is lost after a connection, the server was restarted; if there was none, access has ended', async () => {
    globals.fetch = async () => ({ status: 401 });
    Math.random = () => 0;
    for (const [hello, told] of [
        [true, 'gone'],
        [false, 'ended'],
    ]) {
        const { line, tell, heard, end } = open();
        if (hello) tell({ you: { scope: 'owner' } });
        line.onclose({ code: 1006 });
        for (let at = lines.length; hello && lines.length === at; )
            await new Promise((done) => setTimeout(done, 20));
        if (hello) lines.at(-1).onclose({ code: 1006 });
        while (!heard.some(([what, value]) => what === 'status' && value === told))
            await new Promise((done) => setTimeout(done, 20));
        end();
    }
});

test('a tab that was signed out continues when its user has signed in elsewhere', async () => {
    let status = 401;
    globals.fetch = async () => ({ status });
    Math.random = () => 0;
    const { line, tell, heard, end } = open();
    const look = woken.at(-1);
    const until = async (is) => {
        while (!is()) await new Promise((done) => setTimeout(done, 10));
    };
    const said = (word) => heard.some(([what, value]) => what === 'status' && value === word);
    tell({ you: { scope: 'owner' } });
    const before = lines.length;
    line.onclose({ code: 1006 });
    await until(() => lines.length > before);
    lines.at(-1).onclose({ code: 1006 });
    await until(() => said('gone'));
    const gone = lines.length;
    look();
    await new Promise(setImmediate);
    assert.equal(lines.length, gone, 'the tab asks over HTTP first, and is still signed out');
    status = 200;
    look();
    await until(() => lines.length > gone);
    lines.at(-1).onmessage({ data: JSON.stringify({ you: { scope: 'owner' } }) });
    assert.equal(heard.at(-1)[1].scope, 'owner');
    assert.equal(heard.findLast(([what]) => what === 'status')[1], 'open');
    end();
});

test('a lost server is asked for every second, by requests; the page is back as soon as it answers', async (t) => {
    let asked = 0;
    let isBack = false;
    globals.fetch = async () => {
        asked += 1;
        if (!isBack) throw new TypeError('refused');
        return { status: 200 };
    };
    Math.random = () => 1;
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const pass = async (ms) => {
        for (let at = 0; at < ms; at += 50) {
            t.mock.timers.tick(50);
            for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
        }
    };
    const { socket, line, tell, end } = open();
    tell({ you: { scope: 'owner' } });
    line.onclose({ code: 1006 });
    let before = lines.length;
    await pass(300);
    assert.equal(lines.length, before + 1, 'first, it connects');
    lines.at(-1).onclose({ code: 1006 });
    before = lines.length;
    await pass(60_000);
    assert.ok(asked >= 55 && asked <= 65, `${asked} requests in a minute`);
    assert.equal(lines.length, before, 'a browser would delay many sockets that fail');
    isBack = true;
    await pass(1000);
    assert.equal(lines.length, before + 1);
    lines.at(-1).onmessage({ data: JSON.stringify({ you: { scope: 'owner' } }) });
    // Hidden, it waits longer. Retry now does not wait.
    globals.document.hidden = true;
    isBack = false;
    lines.at(-1).onclose({ code: 1006 });
    await pass(300);
    lines.at(-1).onclose({ code: 1006 });
    asked = 0;
    await pass(60_000);
    assert.ok(asked < 10, `${asked} requests in a minute`);
    globals.document.hidden = false;
    before = lines.length;
    socket.reconnect();
    assert.equal(lines.length, before + 1);
    end();
});

test('unanswered commands are sent again after a reconnection, except those that would run code unexpectedly', async () => {
    globals.fetch = async () => ({ status: 200 });
    Math.random = () => 0;
    const { socket, line, tell, end } = open();
    tell({ you: { scope: 'owner' } });
    const replay = socket.send({ do: 'replay', state: 'a' });
    socket.send({ do: 'put_draft', draft: { id: 'd', on: 'a', kind: 'code', source: 'typed' } });
    const before = lines.length;
    line.onclose({ code: 1006 });
    assert.equal((await replay).kind, 'refused');
    while (lines.length === before) await new Promise((done) => setTimeout(done, 10));
    assert.equal(new URL(lines.at(-1).url).searchParams.get('epoch'), null);
    lines.at(-1).onmessage({ data: JSON.stringify({ you: { scope: 'owner' } }) });
    assert.deepEqual(
        lines.at(-1).sent.map((one) => one.do),
        ['put_draft'],
    );
    end();
});

test('after a restart of the server, what is based on a lost version is refused, not sent', async () => {
    globals.fetch = async () => ({ status: 200 });
    Math.random = () => 0;
    const { socket, tell, end } = open();
    tell({ epoch: 'e', you: { scope: 'owner' } });
    tell({ epoch: 'e', seq: 1, snapshot: { name: 'main' } });
    /** @type {import('../../web/shell/protocol.js').Draft} */
    const draft = { id: 'd', on: 'a', kind: 'code', source: 'typed' };
    const put = socket.send({ do: 'put_draft', draft, base: 3 });
    socket.send({ do: 'label', state: 'a', label: 'mine' });
    for (const [epoch, sent] of [
        ['e', ['put_draft', 'label']],
        ['f', ['label']],
    ]) {
        const before = lines.length;
        lines.at(-1).onclose({ code: 1006 });
        while (lines.length === before) await new Promise((done) => setTimeout(done, 10));
        lines.at(-1).onmessage({ data: JSON.stringify({ epoch, you: { scope: 'owner' } }) });
        if (epoch === 'f') socket.send({ do: 'put_draft', draft, base: 4 });
        assert.deepEqual(
            lines.at(-1).sent.map((one) => one.do),
            sent,
        );
    }
    lines.at(-1).onmessage({
        data: JSON.stringify({ epoch: 'f', seq: 1, snapshot: { name: 'main' } }),
    });
    const reply = await put;
    assert.equal(reply.kind === 'refused' && reply.code, 'conflict');
    socket.send({ do: 'put_draft', draft, base: 1 });
    assert.equal(lines.at(-1).sent.length, 2, 'it is sent again from now on');
    end();
});

// The socket against a line that the test holds; no browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';

const lines = [];
globalThis.WebSocket = class {
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
globalThis.addEventListener = () => {};
globalThis.document = { addEventListener: () => {} };
globalThis.location = new URL('http://127.0.0.1/n/main');
const { Socket } = await import('../../web/socket.js');

function open() {
    const heard = [];
    const note = (what) => (value) => heard.push([what, value]);
    const socket = new Socket('main', { onSnapshot: note('snapshot'), onEvent: note('event'), onScope: note('scope'), onStatus: note('status'), onRefused: note('refused') });
    const line = lines.at(-1);
    const tell = (message) => line.onmessage({ data: JSON.stringify(message) });
    return { socket, line, tell, heard, end: () => clearTimeout(socket.silence) || clearTimeout(socket.retry) };
}

test('a refusal without a number is not dropped', () => {
    const { tell, heard, end } = open();
    tell({ reply: null, kind: 'refused', code: 'bad_request', what: 'read it', why: 'it is no JSON', how: 'send JSON' });
    assert.equal(heard.at(-1)[0], 'refused');
    assert.equal(heard.at(-1)[1].why, 'it is no JSON');
    end();
});

test('a server that knows nobody any more is another one; one that never let us in is not', async () => {
    globalThis.fetch = async () => ({ status: 401 });
    Math.random = () => 0;
    for (const [hello, told] of [[true, 'gone'], [false, 'ended']]) {
        const { line, tell, heard, end } = open();
        if (hello) tell({ you: { scope: 'owner' } });
        line.onclose({ code: 1006 });
        for (let at = lines.length; hello && lines.length === at;) await new Promise((done) => setTimeout(done, 20));
        if (hello) lines.at(-1).onclose({ code: 1006 });
        while (!heard.some(([what, value]) => what === 'status' && value === told)) await new Promise((done) => setTimeout(done, 20));
        end();
    }
});

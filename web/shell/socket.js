// @ts-check
// The only module that uses the WebSocket: commands up, events down, in order and without gaps.
//
// After a lost connection, the socket reconnects with the position of the last event, and the
// server sends exactly the later events, or a snapshot. Unanswered commands are sent again if that
// is safe. If they are based on something that a restarted server may have lost, they are refused
// here as conflicts, after the snapshot. Only `onStatus` reports the loss to other modules.

import { CLOSED, COMMANDS } from './protocol.js';
import { serverPath } from './server-path.js';

/** @typedef {import('./protocol.js').Command} Command */
/** @typedef {import('./protocol.js').Reply} Reply */

/**
 * The server sends a message at least every 15 s. After a silence of more than twice that, the
 * connection is dead, even if TCP has not noticed.
 */
const SILENCE_MS = 40_000;
/** The first and the longest delay before an attempt to reconnect. */
const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 1000;
/** The longest delay while the page is hidden: nobody waits for it. */
const LONGEST_HIDDEN_WAIT_MS = 15_000;
/** How long the server may take to answer whether it is there. */
const PROBE_MS = 5000;
/** The longest body of a request that browsers keep alive after the page has closed. */
const KEEPALIVE_BYTES = 64 * 1024;

/**
 * @typedef {object} Handlers
 * @property {(snapshot: import('./protocol.js').Snapshot, isAnotherEpoch: boolean) => void
 *   } onSnapshot `isAnotherEpoch`: the notebook was opened again since, perhaps after a crash
 * @property {(event: import('./protocol.js').Event) => void} onEvent
 * @property {(you: {scope: import('./protocol.js').Scope,
 *   sandbox?: import('./protocol.js').Sandbox, terminals?: boolean, start?: boolean}) => void
 *   } onScope what the user may do; `start`: whether the server was started with this notebook
 * @property {(status: 'open' | 'waiting' | 'ended' | 'gone') => void} onStatus
 * @property {(to: string | null) => void} onLeft the notebook was renamed or deleted; receives its
 *   new name, if known
 * @property {(reply: Reply) => void} onRefused the server refused a message whose number it could
 *   not read
 */

export class Socket {
    /** @param {string} notebook @param {Handlers} handlers */
    constructor(notebook, handlers) {
        this.notebook = notebook;
        this.handlers = handlers;
        /** @type {{epoch: string, seq: number} | null} */
        this.position = null;
        /** @type {WebSocket | null} */
        this.socket = null;
        this.isOpen = false;
        this.wasOpen = false;
        /** Whether the server has another epoch than `position`, until its snapshot comes. */
        this.isAnotherEpoch = false;
        /**
         * Whether the server was restarted and does not know this browser. Signing in again in
         * another tab also signs this tab in.
         */
        this.isStranger = false;
        this.failures = 0;
        /** Whether the connection is lost, and no socket is open or about to open. */
        this.isWaiting = false;
        this.lastId = 0;
        /**
         * @type {Map<number, {command: Command, answer: (reply: Reply) => void, sent: boolean}>}
         */
        this.pendingReplies = new Map();
        addEventListener('online', () => this.reconnect());
        addEventListener('focus', () => this.reconnect());
        document.addEventListener('visibilitychange', () => !document.hidden && this.reconnect());
        this.#connect();
    }

    /**
     * Sends a command. The promise resolves with its reply, even after a lost connection.
     * @param {Command} command
     * @returns {Promise<Reply>}
     */
    send(command) {
        return new Promise((answer) => {
            this.lastId += 1;
            const asked = { command, answer, sent: false };
            this.pendingReplies.set(this.lastId, asked);
            if (this.isOpen && !this.#isHeld(asked)) this.#put(this.lastId, asked);
        });
    }

    /**
     * The page is closing, and messages in flight may be lost. Sends unanswered commands again, if
     * they may be repeated, in one request that outlives the page. Several requests could arrive in
     * another order.
     */
    leave() {
        if (!this.isOpen) return;
        const commands = [...this.pendingReplies.values()]
            .filter(({ command, sent }) => sent && COMMANDS[command.do].again)
            .map(({ command }) => command);
        if (commands.length === 0) return;
        const body = new TextEncoder().encode(JSON.stringify({ commands }));
        fetch(serverPath(`/api/notebooks/${encodeURIComponent(this.notebook)}/commands/batch`), {
            method: 'POST',
            // A browser refuses to keep a longer request alive, and may send it all the same.
            keepalive: body.byteLength <= KEEPALIVE_BYTES,
            headers: { 'content-type': 'application/json' },
            body,
        }).catch(() => {});
    }

    /** Whether the server has not answered all commands that change the notebook. */
    get isSaving() {
        return [...this.pendingReplies.values()].some(({ command }) => COMMANDS[command.do].saves);
    }

    #connect() {
        clearTimeout(this.retry);
        this.isWaiting = false;
        const url = new URL(serverPath(`/ws/${encodeURIComponent(this.notebook)}`), location.href);
        url.protocol = url.protocol.replace('http', 'ws');
        if (this.position) {
            url.searchParams.set('epoch', this.position.epoch);
            url.searchParams.set('seq', String(this.position.seq));
        }
        const early = takeEarlySocket(url);
        const line = early?.line ?? new WebSocket(url);
        this.socket = line;
        /** @param {{data: string}} message */
        const hear = ({ data }) => {
            if (this.socket === line) this.#onMessage(JSON.parse(data));
        };
        line.onmessage = hear;
        // Deferred, because the handlers use the caller's reference to this socket.
        queueMicrotask(() => early?.heard.forEach(hear));
        line.onclose = ({ code, reason }) => {
            if (this.socket === line) this.#onClosed(code, reason);
        };
        this.#listen();
    }

    /** @param {any} message */
    #onMessage(message) {
        this.#listen();
        if (!this.isOpen) this.#onOpen(message.epoch);
        if (message.you) this.handlers.onScope(message.you);
        else if (message.reply === null) this.handlers.onRefused(message);
        else if (message.reply !== undefined) this.#onReply(message);
        else if (message.snapshot) {
            this.position = { epoch: message.epoch, seq: message.seq };
            this.handlers.onSnapshot(message.snapshot, this.isAnotherEpoch);
            this.#refuseHeld();
        } else if (message.event) this.#onEvent(message);
    }

    /** @param {any} message */
    #onEvent(message) {
        const here = this.position;
        if (!here || message.epoch !== here.epoch || message.seq > here.seq + 1) {
            // Events are missing. The server sends them after a reconnection.
            this.socket?.close();
            return;
        }
        if (message.seq <= here.seq) return;
        here.seq = message.seq;
        this.handlers.onEvent(message);
    }

    /** @param {string} epoch */
    #onOpen(epoch) {
        this.isAnotherEpoch = this.position !== null && this.position.epoch !== epoch;
        this.isOpen = true;
        this.wasOpen = true;
        this.failures = 0;
        this.handlers.onStatus('open');
        for (const [id, asked] of this.pendingReplies) if (!this.#isHeld(asked)) this.#put(id, asked);
    }

    /** @param {{command: Command}} asked */
    #isHeld({ command }) {
        return this.isAnotherEpoch && COMMANDS[command.do].based;
    }

    #refuseHeld() {
        const held = [...this.pendingReplies].filter(([, asked]) => this.#isHeld(asked));
        this.isAnotherEpoch = false;
        for (const [id] of held)
            this.#refuse(id, {
                code: 'conflict',
                why: 'the server was restarted, and may have lost what the command is based on',
                how: 'make it anew from the text that the server has',
            });
    }

    /**
     * Answers a command in place of the server.
     * @param {number} id @param {{code: 'conflict' | 'lost', why: string, how: string}} problem
     */
    #refuse(id, problem) {
        const asked = this.pendingReplies.get(id);
        this.pendingReplies.delete(id);
        asked?.answer({ kind: 'refused', what: asked.command.do.replaceAll('_', ' '), ...problem });
    }

    /** @param {number} id @param {{command: Command, sent: boolean}} asked */
    #put(id, asked) {
        asked.sent = true;
        // A closing socket sends nothing. The command is sent over the next socket.
        if (this.socket && !(this.socket.readyState > WebSocket.OPEN))
            this.socket.send(JSON.stringify({ id, ...asked.command }));
    }

    /** @param {Reply & {reply: number}} reply */
    #onReply(reply) {
        const asked = this.pendingReplies.get(reply.reply);
        this.pendingReplies.delete(reply.reply);
        asked?.answer(reply);
    }

    /** @param {number} code @param {string} [reason] */
    #onClosed(code, reason = '') {
        clearTimeout(this.silence);
        this.socket = null;
        const neverOpened = !this.isOpen;
        this.isOpen = false;
        this.#giveUpWhatMustNotRepeat();
        if (code === CLOSED.accessEnded) {
            this.handlers.onStatus('ended');
            return;
        }
        if (code === CLOSED.renamed || code === CLOSED.deleted) {
            this.handlers.onLeft((code === CLOSED.renamed && reason) || null);
            return;
        }
        this.handlers.onStatus('waiting');
        this.#wait(neverOpened);
    }

    /** Reconnects later. @param {boolean} askFirst */
    #wait(askFirst) {
        this.isWaiting = true;
        const most = document.hidden ? LONGEST_HIDDEN_WAIT_MS : LONGEST_WAIT_MS;
        const longest = Math.min(most, FIRST_WAIT_MS * 2 ** this.failures);
        this.failures += 1;
        // Jitter, so that not all tabs reconnect at once after a server restart.
        clearTimeout(this.retry);
        this.retry = setTimeout(() => this.#retry(askFirst), longest * (0.5 + Math.random() / 2));
    }

    /**
     * Reconnects. A refused handshake looks like a lost connection; a request to the page's own
     * address distinguishes the two. It also finds out whether the server is there: browsers delay
     * a WebSocket by seconds after some that failed, but not a request.
     * @param {boolean} askFirst
     */
    async #retry(askFirst) {
        if (askFirst) {
            const answer = await fetch(location.pathname, {
                method: 'HEAD',
                cache: 'no-store',
                signal: AbortSignal.timeout(PROBE_MS),
            }).catch(() => null);
            // Something else has reconnected meanwhile.
            if (!this.isWaiting && !this.isStranger) return;
            if (!answer || answer.status >= 500) {
                this.#wait(true);
                return;
            }
            this.isWaiting = false;
            if (answer.status === 404) {
                this.handlers.onLeft(null);
                return;
            }
            if (answer.status === 401 || answer.status === 403) {
                // A restarted server knows no browser. A server that still runs reports the end of
                // the access over the socket.
                this.isStranger = this.wasOpen;
                this.handlers.onStatus(this.wasOpen ? 'gone' : 'ended');
                return;
            }
        }
        this.isStranger = false;
        this.#connect();
    }

    #giveUpWhatMustNotRepeat() {
        for (const [id, { command, sent }] of this.pendingReplies) {
            if (!sent || COMMANDS[command.do].again) continue;
            this.#refuse(id, {
                code: 'lost',
                why: 'the connection was lost before the answer came',
                how: 'check whether the command was carried out before you try again',
            });
        }
    }

    #listen() {
        clearTimeout(this.silence);
        this.silence = setTimeout(() => {
            const line = this.socket;
            line?.close();
            // A dead connection may take minutes to report its close.
            if (line && this.socket === line) this.#onClosed(0);
        }, SILENCE_MS);
    }

    /** Reconnects now, if the connection is lost: the user, the window or the network is back. */
    reconnect() {
        if (this.isStranger) void this.#retry(true);
        if (this.isStranger || !this.isWaiting) return;
        this.failures = 0;
        this.#connect();
    }
}

/**
 * @typedef {{line: WebSocket, heard: MessageEvent[]}} Early The socket that early.js opened, and
 *   its messages so far.
 */

/**
 * The socket that early.js opened, if it has the right address and is still usable. Later calls
 * return null.
 * @param {URL} url
 * @returns {Early | null}
 */
function takeEarlySocket(url) {
    const host = /** @type {{ratoonLine?: Early}} */ (globalThis);
    const early = host.ratoonLine;
    delete host.ratoonLine;
    return early?.line.url === url.href && early.line.readyState <= WebSocket.OPEN ? early : null;
}

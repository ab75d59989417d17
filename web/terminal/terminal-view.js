// @ts-check
// A terminal in the page: shows what a shell writes, and sends what the user types.

import { FitAddon, Terminal } from '../vendor/xterm.js';
import { CLOSED } from '../shell/protocol.js';
import { onTheme } from '../ui/theme.js';
import { connectTo } from './terminals-api.js';
import { terminalTheme } from './terminal-colours.js';

/** How many bytes are shown between two reports of how far the page is. */
const REPORT_BYTES = 128 * 1024;
/** The longest message with typed or pasted text, in bytes. */
const MESSAGE_BYTES = 64 * 1024;
/** How long to wait before a connection is tried again, in milliseconds. */
const RETRY_MS = 1000;
/** The lines that can be scrolled back. */
const SCROLLBACK = 10_000;

/** @typedef {'connecting' | 'open' | 'lost' | 'ended' | 'signedOut'} Status */

export class TerminalView {
    /**
     * @param {number} id
     * @param {HTMLElement} element
     * @param {{onStatus: (status: Status) => void, onTitle: (title: string) => void}} host
     */
    constructor(id, element, host) {
        this.id = id;
        this.host = host;
        /** @type {WebSocket | null} */
        this.socket = null;
        /** The bytes shown since the connection was made, and those that the server knows of. */
        this.read = this.reported = 0;
        const style = getComputedStyle(element);
        this.terminal = new Terminal({
            fontFamily: style.fontFamily,
            fontSize: parseFloat(style.fontSize),
            scrollback: SCROLLBACK,
            theme: terminalTheme(),
        });
        const fit = new FitAddon();
        this.terminal.loadAddon(fit);
        this.terminal.open(element);
        new ResizeObserver(() => fit.fit()).observe(element);
        fit.fit();
        this.terminal.onData((text) => this.#type(new TextEncoder().encode(text)));
        this.terminal.onBinary((text) => this.#type(Uint8Array.from(text, (char) => char.charCodeAt(0))));
        this.terminal.onResize(() => this.#tellSize());
        this.terminal.onTitleChange((title) => host.onTitle(title));
        this.terminal.attachCustomKeyEventHandler((event) => !this.#isCopying(event));
        onTheme(() => (this.terminal.options.theme = terminalTheme()));
        this.connect();
    }

    /** Connects, or connects again. */
    connect() {
        clearTimeout(this.retry);
        this.socket?.close();
        const socket = connectTo(this.id);
        this.socket = socket;
        this.read = this.reported = 0;
        let status = /** @type {Status} */ ('lost');
        socket.onopen = () => {
            this.host.onStatus('open');
            this.#tellSize();
        };
        socket.onmessage = ({ data }) => {
            if (typeof data !== 'string') return this.#show(new Uint8Array(data));
            const told = JSON.parse(data);
            if (told.all) this.terminal.reset();
            if (told.ended) status = 'ended';
            return undefined;
        };
        socket.onclose = ({ code }) => {
            if (this.socket !== socket) return;
            this.socket = null;
            if (code === CLOSED.accessEnded) status = 'signedOut';
            if (status === 'lost') this.retry = setTimeout(() => this.connect(), RETRY_MS);
            this.host.onStatus(status);
        };
    }

    /** Gives up: does not connect again. */
    stop() {
        clearTimeout(this.retry);
    }

    focus() {
        this.terminal.focus();
    }

    /** @param {Uint8Array} output */
    #show(output) {
        const { socket } = this;
        this.terminal.write(output, () => {
            if (this.socket !== socket) return;
            this.read += output.length;
            if (this.read - this.reported < REPORT_BYTES) return;
            this.reported = this.read;
            this.#send(JSON.stringify({ read: this.read }));
        });
    }

    /** @param {Uint8Array} typed */
    #type(typed) {
        for (let from = 0; from < typed.length; from += MESSAGE_BYTES)
            this.#send(typed.slice(from, from + MESSAGE_BYTES));
    }

    #tellSize() {
        const { rows, cols } = this.terminal;
        this.#send(JSON.stringify({ rows, columns: cols }));
    }

    /** @param {string | Uint8Array<ArrayBuffer>} message */
    #send(message) {
        if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(message);
    }

    /** As in JupyterLab, Ctrl-C copies if text is selected. @param {KeyboardEvent} event */
    #isCopying({ ctrlKey, shiftKey, key }) {
        return ctrlKey && !shiftKey && key === 'c' && this.terminal.hasSelection();
    }
}

// @ts-check
// The memory of the notebook and of the computer, in the header. The server measures it on request:
// some time after the page was opened, after the memory of a state changed, and when the pointer
// rests on it. A page on which nothing happens requests nothing. Without a connection, it shows
// nothing, because the figures would be of an earlier time.

import { Component, html } from '../vendor/preact.js';
import { serverPath } from '../shell/server-path.js';
import { bytes } from '../text/format.js';
import { MEMORY_WORDS as WORDS } from './memory-words.js';

/**
 * The least time between two requests, and between a change and the request, in milliseconds. A
 * notebook that is being deleted ends its cells first; then it is gone.
 */
const APART_MS = 5000;
const AFTER_MS = 2000;
/** How full the computer's memory is when the page points it out. */
const SCARCE = 0.9;

/**
 * @typedef {{memory_bytes: number, machine_available_bytes: number,
 *   machine_total_bytes: number}} Memory
 */

/**
 * @extends {Component<{page: import('./page.js').Page, rev: number, isOpen: boolean},
 *   {memory: Memory | null}>}
 */
export class MemoryStatus extends Component {
    state = { memory: /** @type {Memory | null} */ (null) };
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    timer = undefined;
    isUnmounted = false;
    askedAt = performance.now();

    componentDidMount() {
        this.#askLater();
    }

    /** @param {{rev: number, isOpen: boolean}} next @param {{memory: Memory | null}} state */
    shouldComponentUpdate({ rev, isOpen }, state) {
        const isBack = isOpen && !this.props.isOpen;
        if (rev !== this.props.rev || isBack) this.#askLater();
        return state.memory !== this.state.memory || isOpen !== this.props.isOpen;
    }

    componentDidUpdate() {
        if (!this.props.isOpen && this.state.memory) this.setState({ memory: null });
    }

    componentWillUnmount() {
        this.isUnmounted = true;
        clearTimeout(this.timer);
    }

    #askLater() {
        this.timer ??= setTimeout(
            () => void this.#ask(),
            Math.max(AFTER_MS, this.askedAt + APART_MS - performance.now()),
        );
    }

    async #ask() {
        const { page } = this.props;
        clearTimeout(this.timer);
        this.timer = undefined;
        this.askedAt = performance.now();
        if (page.connection !== 'open') return;
        const path = `/api/notebooks/${encodeURIComponent(page.model.name)}/memory`;
        const answer = await fetch(serverPath(path)).catch(() => null);
        const memory = answer?.ok ? await answer.json().catch(() => null) : null;
        if (!this.isUnmounted && page.connection === 'open' && memory?.machine_total_bytes)
            this.setState({ memory });
    }

    /** @param {unknown} _ @param {{memory: Memory | null}} state */
    render(_, { memory }) {
        if (!memory) return null;
        const { memory_bytes, machine_available_bytes, machine_total_bytes } = memory;
        const used = machine_total_bytes - machine_available_bytes;
        const [own, all, total] = [memory_bytes, used, machine_total_bytes].map(bytes);
        const isScarce = used > SCARCE * machine_total_bytes;
        return html`<span class="memory-status" data-scarce=${isScarce ? '' : null}
            title=${WORDS.hint(own ?? '', all ?? '', total ?? '')}
            onPointerEnter=${() => void this.#ask()}>
            ${isScarce ? WORDS.scarce(own ?? '', all ?? '', total ?? '') : own}</span>`;
    }
}

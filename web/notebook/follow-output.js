// @ts-check
// Keeps the end of the running cell in view while it prints, until the user scrolls away. Then a
// button offers to follow again.

import { Component, html } from '../vendor/preact.js';
import { OUTPUT_WORDS } from '../outputs/output-words.js';

/** Space kept free below the running cell, in px. */
const FREE = 24;

/** @extends {Component<{}, {isOffered: boolean}>} */
export class FollowOutput extends Component {
    state = { isOffered: false };
    /** @type {HTMLElement | null} */
    element = null;
    /** The scrolling element. @type {HTMLElement | null} */
    main = null;
    /** The running cell. @type {HTMLElement | null} */
    cell = null;
    isOn = false;
    last = { top: 0, height: 0 };

    componentDidMount() {
        this.main = this.element?.closest('main') ?? null;
        const notebook = this.main?.querySelector('.notebook');
        if (!this.main || !notebook) return;
        this.main.addEventListener('scroll', () => this.#scrolled(), { passive: true });
        this.observer = new ResizeObserver(() => this.#grown());
        this.observer.observe(notebook);
    }

    componentWillUnmount() {
        this.observer?.disconnect();
    }

    /** How far the running cell ends below the viewport, in px. */
    get #below() {
        const { cell, main } = this;
        return cell && main
            ? cell.getBoundingClientRect().bottom - main.getBoundingClientRect().bottom
            : -Infinity;
    }

    #grown() {
        const { main } = this;
        const cell = /** @type {HTMLElement | null} */ (
            main?.querySelector('.cell[data-status="running"]') ?? null
        );
        if (cell !== this.cell) {
            this.cell = cell;
            const source = cell?.querySelector('.source')?.getBoundingClientRect();
            const box = main?.getBoundingClientRect();
            this.isOn = Boolean(source && box && source.bottom > box.top && source.top < box.bottom);
        }
        if (this.isOn) this.#scroll();
        this.#look();
    }

    #scroll() {
        const { cell, main } = this;
        if (!cell || !main) return;
        // Printed text is shown from its end, any other output from its beginning.
        const shown = [...cell.querySelectorAll('.outputs > .output')].at(-1);
        const room =
            shown && !shown.querySelector('.stream')
                ? shown.getBoundingClientRect().top - main.getBoundingClientRect().top
                : Infinity;
        const by = Math.min(this.#below + FREE, room);
        if (by > 0) main.scrollTop += by;
        this.last = { top: main.scrollTop, height: main.scrollHeight };
    }

    /**
     * Stops following if the user scrolls up, and resumes if the user scrolls down to the end of
     * the running cell. If the notebook shrank, the browser scrolled up, not the user.
     */
    #scrolled() {
        const { main, last } = this;
        if (!main) return;
        if (main.scrollTop < last.top - 1 && main.scrollHeight >= last.height) this.isOn = false;
        else if (main.scrollTop > last.top + 1 && this.#below <= 0) this.isOn = true;
        this.last = { top: main.scrollTop, height: main.scrollHeight };
        this.#look();
    }

    #look() {
        const isOffered = this.cell !== null && !this.isOn && this.#below > 0;
        if (isOffered !== this.state.isOffered) this.setState({ isOffered });
    }

    /** @param {{}} _ @param {{isOffered: boolean}} state */
    render(_, { isOffered }) {
        const go = () => {
            this.isOn = true;
            this.#scroll();
            this.#look();
        };
        return html`<div class="follow"
            ref=${(/** @type {HTMLElement | null} */ element) => (this.element = element)}>
            ${
                isOffered &&
                html`<button class="button" data-frame title=${OUTPUT_WORDS.followHint}
                onClick=${go}>↓ ${OUTPUT_WORDS.follow}</button>`
            }
        </div>`;
    }
}

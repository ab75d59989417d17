// @ts-check
// A button that opens a small list of actions. Arrow keys walk it, Esc and leaving close it.

import { Component, html } from '../vendor/preact.js';

/** @typedef {{text: string, hint?: string, act: () => void, isBad?: boolean} | null | false} Action */

/** @extends {Component<{label: string, face: any, actions: () => Action[], className?: string, alignEnd?: boolean}, {isOpen: boolean}>} */
export class Menu extends Component {
    state = { isOpen: false };
    /** @type {HTMLElement | null} */
    place = null;

    open() {
        this.setState({ isOpen: true }, () => this.#items()[0]?.focus());
    }

    close(takesFocus = false) {
        this.setState({ isOpen: false });
        if (takesFocus) this.place?.querySelector('button')?.focus();
    }

    #items() {
        return /** @type {HTMLElement[]} */ ([...(this.place?.querySelectorAll('[role="menuitem"]') ?? [])]);
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        if (!this.state.isOpen) return;
        const items = this.#items();
        const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
        if (event.key === 'Escape') this.close(true);
        else if (event.key === 'ArrowDown') items[(at + 1) % items.length]?.focus();
        else if (event.key === 'ArrowUp') items[(at + items.length - 1) % items.length]?.focus();
        else if (event.key === 'Home') items[0]?.focus();
        else if (event.key === 'End') items.at(-1)?.focus();
        else return;
        event.preventDefault();
        event.stopPropagation();
    }

    /** @param {FocusEvent} event */
    #left(event) {
        if (!this.place?.contains(/** @type {Node | null} */ (event.relatedTarget))) this.close();
    }

    /** @param {{label: string, face: any, actions: () => Action[], className?: string, alignEnd?: boolean}} props */
    render({ label, face, actions, className, alignEnd }) {
        const { isOpen } = this.state;
        const list = isOpen ? actions().filter((action) => action !== null && action !== false) : [];
        const choose = (/** @type {() => void} */ act) => () => {
            this.close(true);
            act();
        };
        return html`
            <div class="menu" ref=${(/** @type {HTMLElement | null} */ place) => (this.place = place)}
                onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)} onFocusOut=${(/** @type {FocusEvent} */ event) => this.#left(event)}>
                <button class=${className ?? 'button'} aria-haspopup="menu" aria-expanded=${isOpen ? 'true' : 'false'} aria-label=${label} title=${label}
                    onClick=${() => (isOpen ? this.close(true) : this.open())}>${face}</button>
                ${isOpen && html`<div class="list" role="menu" aria-label=${label} data-align=${alignEnd ? 'end' : null}>
                    ${list.map(({ text, hint, act, isBad }) => html`
                        <button role="menuitem" tabindex="-1" data-bad=${isBad ? '' : null} onClick=${choose(act)}>
                            ${text}${hint && html`<small>${hint}</small>`}
                        </button>`)}
                </div>`}
            </div>`;
    }
}

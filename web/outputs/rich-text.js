// @ts-check
// Texts whose renderer is loaded on first use. They show their source until it is loaded.

import { Component, html } from '../vendor/preact.js';
import { loadPart } from '../shell/lazy-parts.js';

/** @typedef {(address: string) => string | null} Pictures */

/** @extends {Component<{text: string, pictures?: Pictures}, {}>} */
class Prose extends Component {
    /** @type {HTMLElement | null} */
    element = null;
    className = 'prose';

    /** @returns {Promise<(element: HTMLElement, text: string, pictures?: Pictures) => void>} */
    async painter() {
        return (await loadPart('markdown')).paintMarkdown;
    }

    componentDidMount() {
        this.#paint(this.props.text);
    }

    /** @param {{text: string}} next */
    shouldComponentUpdate(next) {
        if (next.text !== this.props.text) this.#paint(next.text);
        return false;
    }

    /** @param {string} text */
    async #paint(text) {
        this.wanted = text;
        // If loading fails, the source stays visible; the next text tries again.
        const paint = await this.painter().catch(() => null);
        if (paint && this.element && this.wanted === text) paint(this.element, text, this.props.pictures);
    }

    render() {
        return html`<div class=${this.className}
            ref=${(/** @type {HTMLElement | null} */ element) => (this.element = element)}>
            ${this.props.text}</div>`;
    }
}

export class Markdown extends Prose {}

/** Text with formulas, from `text/latex`. */
export class Latex extends Prose {
    className = 'latex';

    async painter() {
        return (await loadPart('math')).paintLatex;
    }
}

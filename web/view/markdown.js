// @ts-check
// Markdown in the page itself: what is left after cleaning is text with a little structure. The libraries are fetched when
// the first text is shown.

import { Component, html } from '../vendor/preact.js';

/** @type {Promise<(text: string) => string> | null} */
let renderer = null;

/** @returns {Promise<(text: string) => string>} */
function load() {
    renderer ??= import('../vendor/markdown.js').then(({ MarkdownIt, DOMPurify }) => {
        const markdown = new MarkdownIt({ html: true, linkify: true });
        // Links never hand this page to what they open, and lead only where a browser goes.
        DOMPurify.addHook('afterSanitizeAttributes', (node) => {
            // Pictures come with the text; nothing is fetched because a text says so.
            if (node.tagName === 'IMG' && !/^data:image\//i.test(node.getAttribute('src') ?? '')) node.removeAttribute('src');
            if (node.tagName === 'IMG' && !node.hasAttribute('alt')) node.setAttribute('alt', '');
            // The notebook's name is the one heading of the first level.
            if (/^H[1-6]$/.test(node.tagName)) node.setAttribute('aria-level', String(Number(node.tagName[1]) + 1));
            if (node.tagName !== 'A') return;
            if (!/^(https?:|mailto:|#)/i.test(node.getAttribute('href') ?? '')) node.removeAttribute('href');
            node.setAttribute('rel', 'noopener noreferrer');
            node.setAttribute('target', '_blank');
        });
        return (text) => DOMPurify.sanitize(markdown.render(text), {
            FORBID_TAGS: ['style', 'form', 'input', 'button', 'iframe', 'object', 'embed', 'math', 'svg', 'video', 'audio', 'picture', 'source'],
            FORBID_ATTR: ['style', 'id', 'name', 'class', 'action', 'formaction', 'srcset'],
            ALLOW_DATA_ATTR: false,
            ALLOW_ARIA_ATTR: false,
        });
    });
    return renderer;
}

/** @extends {Component<{text: string}, {}>} */
export class Markdown extends Component {
    /** @type {HTMLElement | null} */
    place = null;

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
        const render = await load();
        if (this.place && this.wanted === text) this.place.innerHTML = render(text);
    }

    render() {
        return html`<div class="prose" ref=${(/** @type {HTMLElement | null} */ place) => (this.place = place)}>${this.props.text}</div>`;
    }
}

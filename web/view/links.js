// @ts-check
// The list of links that were made, each with a way to take it back.

import { linksTo, takeBack } from '../links.js';
import { Component, html } from '../vendor/preact.js';
import { WORDS } from '../words.js';
import { show } from './dialog.js';

/** @typedef {import('../links.js').Link} Link */

/** @param {string} notebook */
export const showLinks = (notebook) => show((done) => html`<${Links} notebook=${notebook} done=${done} />`);

/** @extends {Component<{notebook: string, done: (answer: null) => void}, {links: Link[] | null, trouble: string}>} */
class Links extends Component {
    state = { links: /** @type {Link[] | null} */ (null), trouble: '' };

    async componentDidMount() {
        try {
            this.setState({ links: await linksTo(this.props.notebook) });
        } catch {
            this.setState({ trouble: WORDS.linksFailed });
        }
    }

    /** @param {Link} link */
    async #takeBack(link) {
        try {
            await takeBack(link.id);
            this.setState({ links: (this.state.links ?? []).filter((other) => other !== link), trouble: '' });
        } catch {
            this.setState({ trouble: WORDS.takeBackFailed });
        }
    }

    /** @param {{notebook: string, done: (answer: null) => void}} props @param {{links: Link[] | null, trouble: string}} state */
    render({ done }, { links, trouble }) {
        return html`
            <h2>${WORDS.linksTitle}</h2>
            <p>${links?.length === 0 ? WORDS.linksNone : WORDS.linksWhy}</p>
            ${links && links.length > 0 && html`<ul class="links">${links.map((link) => html`
                <li key=${link.id}>
                    <span><b>${WORDS.linkScope[link.scope]}</b>${link.label && html` ${link.label}`}
                        <small>${WORDS.linkMade(when(link.created_at))}, ${link.last_used ? WORDS.linkUsed(when(link.last_used)) : WORDS.linkUnused}</small></span>
                    <button class="button" data-bad onClick=${() => this.#takeBack(link)}>${WORDS.takeBack}</button>
                </li>`)}</ul>`}
            ${trouble && html`<p class="trouble" role="alert">${trouble}</p>`}
            <div class="answers"><button class="button" data-main autofocus onClick=${() => done(null)}>${WORDS.close}</button></div>`;
    }
}

/** @param {number} time */
const when = (time) => new Date(time).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });

// @ts-check
// The variables of the state we stand at, one line each; a click shows the whole value.

import { Component, html } from '../vendor/preact.js';
import { WORDS } from '../words.js';

/** @typedef {import('../protocol.js').Variable} Variable */

/** @extends {Component<{variables: Variable[] | string | null | undefined}, {open: string[]}>} */
export class Variables extends Component {
    state = { open: /** @type {string[]} */ ([]) };

    /** @param {string} name */
    #toggle(name) {
        const { open } = this.state;
        this.setState({ open: open.includes(name) ? open.filter((other) => other !== name) : [...open, name] });
    }

    /** @param {{variables: Variable[] | string | null | undefined}} props @param {{open: string[]}} state */
    render({ variables }, { open }) {
        if (typeof variables === 'string') return html`<p class="hint">${variables}</p>`;
        if (!variables) return html`<p class="hint">${variables === null ? WORDS.looking : WORDS.noVariables}</p>`;
        if (variables.length === 0) return html`<p class="hint">${WORDS.noVariables}</p>`;
        return html`
            <table>
                <thead><tr><th scope="col">${WORDS.name}</th><th scope="col">${WORDS.type}</th><th scope="col">${WORDS.shape}</th><th scope="col">${WORDS.value}</th></tr></thead>
                <tbody>${variables.map((variable) => this.#row(variable, open.includes(variable.name)))}</tbody>
            </table>`;
    }

    /** @param {Variable} variable @param {boolean} isOpen */
    #row({ name, type, size, repr }, isOpen) {
        return [
            html`<tr key=${name}>
                <th scope="row"><button aria-expanded=${isOpen ? 'true' : 'false'} title=${WORDS.valueOf(name)} onClick=${() => this.#toggle(name)}>${name}</button></th>
                <td title=${type}>${type}</td><td class="shape" title=${size ?? ''}>${size}</td>
                <td class="value" title=${repr.slice(0, 1000)} onClick=${() => this.#toggle(name)}>${lineOf(repr)}</td>
            </tr>`,
            isOpen && html`<tr key=${`${name} whole`}><td class="whole" colspan="4"><pre tabindex="0">${repr}</pre></td></tr>`,
        ];
    }
}

/** A value in one line: the first of several. @param {string} repr */
function lineOf(repr) {
    const lines = repr.split('\n').filter((line) => line.trim());
    return lines.length > 1 ? `${lines[0].trim().replace(/\s+/g, ' ')} …` : repr;
}

// @ts-check
// The variables of the state we stand at. They never change, so they are asked for once per state.

import { html } from '../vendor/preact.js';
import { WORDS } from '../words.js';

/** @param {{variables: import('../protocol.js').Variable[] | string | null | undefined}} props */
export function Variables({ variables }) {
    if (typeof variables === 'string') return html`<p class="hint">${variables}</p>`;
    if (!variables) return html`<p class="hint">${variables === null ? WORDS.looking : WORDS.noVariables}</p>`;
    if (variables.length === 0) return html`<p class="hint">${WORDS.noVariables}</p>`;
    return html`
        <table>
            <thead><tr><th scope="col">${WORDS.name}</th><th scope="col">${WORDS.type}</th><th scope="col">${WORDS.value}</th></tr></thead>
            <tbody>${variables.map(({ name, type, size, repr }) => html`
                <tr key=${name}>
                    <th scope="row">${name}</th>
                    <td>${type}${size && html` <small>${size}</small>`}</td>
                    <td class="value" title=${repr}>${repr}</td>
                </tr>`)}
            </tbody>
        </table>`;
}

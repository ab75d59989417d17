// @ts-check
// Opens the value of a variable as a grid. Of an array with more than two axes, the user chooses
// where on the first axes.

import { openGrid } from '../table/table-commands.js';
import { OPEN_WORDS } from '../table/open-words.js';
import { Component, html } from '../vendor/preact.js';
import { firstAxes } from './value-kind.js';
import { VARIABLES_WORDS as SAY } from './variables-words.js';

/**
 * @typedef {{page: import('../notebook/page.js').Page, state: string,
 *   variable: import('../shell/protocol.js').Variable}} Props
 */

/** @extends {Component<Props, {at: number[]}>} `at`: the chosen place on each of the first axes */
export class OpenAsGrid extends Component {
    state = { at: firstAxes(this.props.variable).map(() => 0) };

    /** @param {number} axis @param {HTMLInputElement} input */
    #choose(axis, input) {
        const most = Number(input.max);
        const wanted = Math.max(0, Math.min(most, Math.trunc(Number(input.value)) || 0));
        this.setState({ at: this.state.at.with(axis, wanted) });
    }

    /** @param {Props} props @param {{at: number[]}} state */
    render({ page, state, variable }, { at }) {
        const { name } = variable;
        const expression = at.length > 0 ? `${name}[${at.join(', ')}]` : name;
        return html`${firstAxes(variable).map(
            (length, axis) => html`<input class="field whole-axis" type="number" min="0"
                max=${Math.max(0, length - 1)} value=${at[axis]} aria-label=${SAY.axis(axis)}
                title=${SAY.axis(axis)}
                onChange=${(/** @type {any} */ event) => this.#choose(axis, event.target)} />`,
        )}<button class="text-button" title=${OPEN_WORDS.openHint} onClick=${() =>
            void openGrid(page, { state, expression, title: expression })}>${OPEN_WORDS.open}</button>`;
    }
}

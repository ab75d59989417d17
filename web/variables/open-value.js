// @ts-check
// Opens the value of a variable as a grid. Of an array with more than two axes, the user chooses
// where on the first axes.

import { openGrid } from '../table/table-commands.js';
import { OPEN_WORDS } from '../table/open-words.js';
import { html } from '../vendor/preact.js';
import { firstAxes } from './value-kind.js';
import { VARIABLES_WORDS as SAY } from './variables-words.js';

/**
 * @param {{page: import('../notebook/page.js').Page, state: string,
 *   variable: import('../shell/protocol.js').Variable}} props
 */
export function OpenAsGrid({ page, state, variable }) {
    const { name } = variable;
    const axes = firstAxes(variable);
    const open = (/** @type {MouseEvent} */ { currentTarget }) => {
        const acts = /** @type {Element} */ (currentTarget).parentElement;
        const inputs = /** @type {HTMLInputElement[]} */ ([...(acts?.querySelectorAll('.whole-axis') ?? [])]);
        const at = inputs.map(({ value, max }) =>
            Math.max(0, Math.min(Number(max), Math.trunc(Number(value)) || 0)),
        );
        for (const [axis, input] of inputs.entries()) input.value = String(at[axis]);
        const expression = at.length > 0 ? `${name}[${at.join(', ')}]` : name;
        void openGrid(page, { state, expression, title: expression });
    };
    return html`${axes.map(
        (length, axis) => html`<input class="field whole-axis" type="number" min="0"
            max=${Math.max(0, length - 1)} defaultValue="0" aria-label=${SAY.axis(axis)}
            title=${SAY.axis(axis)} />`,
    )}<button class="text-button" title=${OPEN_WORDS.openHint} onClick=${open}>${OPEN_WORDS.open}</button>`;
}

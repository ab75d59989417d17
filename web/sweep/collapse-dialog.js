// @ts-check
// Asks which row of a sweep to keep.

import { WORDS as ALL } from '../shell/words.js';
import { show } from '../ui/dialog.js';
import { Component, html } from '../vendor/preact.js';
import { rowsToDelete } from './sweep-rows.js';
import { valuesText } from './sweeps.js';
import { TABLE_WORDS as SAY } from './sweep-words.js';

/**
 * @typedef {object} CollapseProps
 * @property {import('../shell/model.js').Model} model
 * @property {import('./sweeps.js').Sweep} sweep
 * @property {number[]} choices the rows that can be kept
 * @property {number} running how many rows run
 */

/**
 * @param {CollapseProps} what
 * @returns {Promise<number | null>} the row to keep; null if the user cancels
 */
export async function askKept(what) {
    const answer = await show(
        (done) => html`<${CollapseDialog} ...${what} done=${done} />`,
        'sweep-collapse',
    );
    return answer === null ? null : Number(answer);
}

/** @typedef {CollapseProps & {done: (answer: string | null) => void}} DialogProps */

/** @extends {Component<DialogProps, {kept: number}>} */
class CollapseDialog extends Component {
    state = { kept: this.props.choices[0] ?? 0 };

    /** @param {DialogProps} props @param {{kept: number}} state */
    render({ model, sweep, choices, running, done }, { kept }) {
        const said = (/** @type {number} */ row) =>
            SAY.collapseChoice(row, row === sweep.tally.best, valuesText(sweep, row));
        return html`
            <h2>${SAY.collapseTitle}</h2>
            <p>${SAY.collapseWhy(rowsToDelete(model, sweep, kept).length, running)}</p>
            <fieldset class="sweep-kept"><legend>${SAY.collapseKeeps}</legend>${
                choices.length === 1
                    ? html`<p>${said(kept)}</p>`
                    : choices.map(
                          (row) => html`<label key=${row}><input type="radio" name="sweep-kept"
                          checked=${row === kept} onChange=${() => this.setState({ kept: row })} />
                          ${said(row)}</label>`,
                      )
            }</fieldset>
            <div class="answers">
                <button class="button" autofocus onClick=${() => done(null)}>${ALL.cancel}</button>
                <button class="button" data-main data-bad onClick=${() => done(String(kept))}>
                    ${SAY.collapseRow(kept)}</button>
            </div>`;
    }
}

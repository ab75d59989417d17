// @ts-check
// A dialog in which the user chooses a state from a list that a search text filters.

import { Component, html } from '../vendor/preact.js';
import { COMPARE_WORDS as SAY } from './compare-words.js';
import { WORDS } from '../shell/words.js';
import { fullName } from '../graph/node-names.js';
import { show } from '../ui/dialog.js';

/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {import('../shell/protocol.js').State} State */

/** The maximum number of states that the dialog lists. */
const LISTED = 50;

/**
 * Asks the user for another state and compares it with the state `id`. The older state is on the
 * left.
 * @param {Page} page
 * @param {string} id
 */
export async function compareWith(page, id) {
    const state = page.model.states.get(id);
    if (!state) return;
    const other = await show((done) => html`<${StatePicker} page=${page} than=${state} done=${done} />`);
    if (other === null) return;
    const order = [...page.model.states.keys()];
    const [a, b] = order.indexOf(other) < order.indexOf(id) ? [other, id] : [id, other];
    page.compare(a, b);
}

/** Asks the user for a state and adds it to the open comparison. @param {Page} page */
export async function addToComparison(page) {
    const than = page.model.states.get(page.comparison.states[0] ?? '');
    if (!than) return;
    const other = await show(
        (done) => html`<${StatePicker} page=${page} than=${than} title=${SAY.addPick}
            without=${page.comparison.states} done=${done} />`,
    );
    if (other !== null) page.comparison.add(other);
}

/**
 * `than`: the state from which the names differ; `without`: the states that cannot be chosen.
 * @typedef {{page: Page, than: State, title?: string, without?: string[],
 *   done: (id: string | null) => void}} PickerProps
 */

/** @extends {Component<PickerProps, {text: string}>} */
class StatePicker extends Component {
    state = { text: '' };
    /** @type {HTMLElement | null} */
    element = null;

    /**
     * The states that match the search text, newest first. Siblings come before all other states,
     * because users compare siblings most often.
     */
    #found() {
        const { page, than, without = [than.id] } = this.props;
        const wanted = this.state.text.trim().toLowerCase();
        const isBeside = (/** @type {State} */ state) => Number(state.parent === than.parent);
        return [...page.model.states.values()]
            .reverse()
            .filter(
                (state) =>
                    !without.includes(state.id) &&
                    [
                        fullName(page.nameOf(state.id)),
                        page.model.runOf(state)?.code ?? '',
                        SAY.cell(state.exec_count),
                    ].some((text) => text.toLowerCase().includes(wanted)),
            )
            .sort((one, other) => isBeside(other) - isBeside(one));
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        const buttons = /** @type {HTMLElement[]} */ ([
            ...(this.element?.querySelectorAll('.state-list button') ?? []),
        ]);
        const at = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
        if (event.key === 'ArrowDown') buttons[Math.min(at + 1, buttons.length - 1)]?.focus();
        else if (event.key === 'ArrowUp' && at === 0) this.element?.querySelector('input')?.focus();
        else if (event.key === 'ArrowUp') buttons[at - 1]?.focus();
        else if (event.key === 'Enter' && at < 0 && !event.isComposing && buttons[0]) buttons[0].click();
        else return;
        event.preventDefault();
    }

    /** @param {PickerProps} props */
    render({ page, than, title, done }) {
        const found = this.#found();
        return html`
            <div class="state-picker"
                ref=${(/** @type {HTMLElement | null} */ element) => (this.element = element)}
                onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}>
                <h2>${title ?? SAY.pick(fullName(page.nameOf(than.id)))}</h2>
                <input class="field" type="search" autofocus aria-label=${SAY.pickHint}
                    placeholder=${SAY.pickHint} value=${this.state.text}
                    onInput=${(/** @type {any} */ event) => this.setState({ text: event.target.value })} />
                <ul class="state-list">${found.slice(0, LISTED).map(
                    (state) => html`<li key=${state.id}>
                    <button onClick=${() => done(state.id)}><span class="state-number">
                        ${state.parent !== null && state.exec_count}</span>
                        <span class=${state.label ? 'state-name' : 'state-name card-code'}>
                            ${fullName(page.nameOf(state.id))}</span></button>
                </li>`,
                )}</ul>
                <p class="hint" role="status">
                    ${
                        found.length === 0
                            ? SAY.pickNone
                            : found.length > LISTED
                              ? SAY.pickMore(found.length - LISTED)
                              : ''
                    }</p>
                <div class="answers"><button class="button" onClick=${() => done(null)}>
                    ${WORDS.cancel}</button></div>
            </div>`;
    }
}

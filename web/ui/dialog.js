// @ts-check
// Questions before an action, as native dialogs.

import { Component, h, html, render } from '../vendor/preact.js';
import { WORDS } from '../shell/words.js';

/**
 * @typedef {object} Question
 * @property {string} title
 * @property {string} why
 * @property {string} act
 * @property {boolean} [isBad] whether the action is destructive
 * @property {string} [input] the initial text of the input; it is selected
 * @property {number} [selected] how much of the input is selected, from its start, if not all
 * @property {number} [longest]
 * @property {(text: string) => Promise<string>} [attempt] does what is asked for with the text of
 *   the input. Returns '', or why it was refused; then the dialog stays open and shows the reason.
 * @property {{text: string, act: () => void}} [other] another action
 */

/**
 * Asks a question. Returns the text of the input ('' without one), or null if cancelled. A
 * destructive button (`isBad`) never has the initial focus, so that a habitual Enter cancels.
 * @param {Question} question
 * @returns {Promise<string | null>}
 */
export function ask(question) {
    const answer = show((done) => html`<${QuestionView} ...${question} done=${done} />`);
    const field = document.activeElement;
    if (field instanceof HTMLInputElement)
        field.setSelectionRange(0, question.selected ?? field.value.length);
    return answer;
}

/**
 * @typedef {Question & {done: (answer: string | null) => void}} Props
 * @extends {Component<Props, {refusal: string, isBusy: boolean}>}
 */
class QuestionView extends Component {
    state = { refusal: '', isBusy: false };
    /** @type {HTMLInputElement | null} */
    field = null;

    async #answer() {
        const { attempt, done } = this.props;
        const typed = this.field?.value ?? '';
        if (!attempt) return done(typed);
        const text = typed.trim();
        if (this.state.isBusy || !text) return undefined;
        this.setState({ isBusy: true });
        const refusal = await attempt(text);
        if (!refusal) return done(text);
        this.setState({ refusal, isBusy: false });
        return this.field?.focus();
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        if (event.key !== 'Enter' || event.isComposing) return;
        // Otherwise the same key press would also activate the button that regains the focus.
        event.preventDefault();
        this.#answer();
    }

    render() {
        const { title, why, act, isBad, input, longest = 120, other, done } = this.props;
        const { refusal, isBusy } = this.state;
        const calm = input === undefined;
        return html`
            <h2>${title}</h2>
            <p>${why}</p>
            ${
                input !== undefined &&
                html`<input class="field" defaultValue=${input} maxlength=${longest} aria-label=${title}
                    aria-invalid=${refusal ? 'true' : null} autofocus
                    ref=${(/** @type {HTMLInputElement | null} */ field) => (this.field = field)}
                    onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)} />
                ${refusal && html`<p class="trouble" role="alert">${refusal}</p>`}`
            }
            <div class="answers">
                ${
                    other &&
                    html`<button class="text-button" data-other onClick=${() => (done(null), other.act())}>
                    ${other.text}</button>`
                }
                <button class="button" autofocus=${calm && isBad} onClick=${() => done(null)}>
                    ${WORDS.cancel}</button>
                <button class="button" data-main data-bad=${isBad ? '' : null} autofocus=${calm && !isBad}
                    aria-busy=${isBusy ? 'true' : null} onClick=${() => this.#answer()}>${act}</button>
            </div>`;
    }
}

/**
 * Confirms a destructive action: the user must type the name.
 * @param {{title: string, why: string, act: string, name: string}} question
 * @returns {Promise<boolean>}
 */
export async function confirmByName({ title, why, act, name }) {
    const label = WORDS.typeName(name);
    const answer = await show((done) => {
        const isTyped = (/** @type {Event} */ { target }) =>
            /** @type {HTMLInputElement} */ (target).value.trim() === name;
        const button = () =>
            /** @type {HTMLButtonElement | null} */ (document.querySelector('dialog [data-main]'));
        const typed = (/** @type {Event} */ event) => {
            const one = button();
            if (one) one.disabled = !isTyped(event);
        };
        const key = (/** @type {KeyboardEvent} */ event) => {
            if (event.key !== 'Enter' || event.isComposing) return;
            event.preventDefault();
            if (isTyped(event)) done('');
        };
        return html`
            <h2>${title}</h2>
            <p>${why}</p>
            <label class="named"><span>${label}</span>
                <input class="field" autocomplete="off" spellcheck=${false} autofocus onInput=${typed}
                    onKeyDown=${key} /></label>
            <div class="answers">
                <button class="button" onClick=${() => done(null)}>${WORDS.cancel}</button>
                <button class="button" data-main data-bad disabled onClick=${() => done('')}>${act}</button>
            </div>`;
    });
    return answer !== null;
}

/** Shows a text for copying by hand. @param {{title: string, why: string, text: string}} what */
export function tell({ title, why, text }) {
    return show(
        (done) => html`
        <h2>${title}</h2>
        <p>${why}</p>
        <input class="field" readonly value=${text} aria-label=${title} autofocus
            onFocus=${(/** @type {any} */ event) => event.target.select()} />
        <div class="answers"><button class="button" data-main onClick=${() => done(null)}>
            ${WORDS.close}</button></div>`,
    );
}

/**
 * Shows a dialog with any content until the content calls `done`.
 * @param {(done: (answer: string | null) => void) => any} content
 * @param {string} [kind] the style, for the style sheet
 * @param {string} [name] the dialog's accessible name, if its content has no heading
 * @returns {Promise<string | null>}
 */
export function show(content, kind = '', name = '') {
    const back = document.activeElement;
    const dialog = document.createElement('dialog');
    if (kind) dialog.dataset.kind = kind;
    document.body.append(dialog);
    return new Promise((answer) => {
        let isOver = false;
        // Restores the focus immediately: 'close' fires in a later task, and a key pressed before
        // that would still go to the old focus.
        const done = (/** @type {string | null} */ said) => {
            if (isOver) return;
            isOver = true;
            dialog.close();
            render(null, dialog);
            dialog.remove();
            if (back instanceof HTMLElement) back.focus();
            answer(said);
        };
        for (const name of ['cancel', 'close']) dialog.addEventListener(name, () => done(null));
        render(h('div', { class: 'sheet' }, content(done)), dialog);
        if (name) dialog.setAttribute('aria-label', name);
        else describe(dialog);
        dialog.showModal();
    });
}

/** The number of dialogs shown so far, for the ids of their parts. */
let count = 0;

/**
 * Names a dialog by its heading and describes it by the paragraph below the heading, so that screen
 * readers say both when it opens.
 * @param {HTMLElement} dialog
 */
function describe(dialog) {
    count += 1;
    const heading = dialog.querySelector('h2');
    const why = heading?.nextElementSibling;
    if (heading) dialog.setAttribute('aria-labelledby', (heading.id = `dialog-${count}`));
    if (why?.matches('p')) dialog.setAttribute('aria-describedby', (why.id = `dialog-${count}-why`));
}

// @ts-check
// The dialog that shows the notebook's Python, lists those of the machine, and restarts the
// notebook in another one if the user confirms.

import { choosePython, listPythons } from './pythons-api.js';
import { nameOf } from './python-names.js';
import { PYTHON_WORDS as WORDS } from './python-words.js';
import { restartPlan } from './restart-plan.js';
import { Component, html } from '../vendor/preact.js';
import { WORDS as ALL } from '../shell/words.js';
import { show } from '../ui/dialog.js';

/** @typedef {import('./pythons-api.js').Found} Found */
/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {{page: Page, done: (answer: string | null) => void}} Props */
/**
 * @typedef {object} State
 * @property {Found[] | null} found null while the server looks for them
 * @property {string | null} chosen the path of the chosen row; '' for the field
 * @property {string} typed the path in the field
 * @property {'list' | 'question' | 'busy'} step
 * @property {string} trouble
 */

/**
 * @param {Page} page
 * @returns {Promise<string | null>} the version of the Python that runs the notebook from now on;
 *   null if nothing has changed
 */
export const showPython = (page) => show((done) => html`<${PythonDialog} page=${page} done=${done} />`);

/** @extends {Component<Props, State>} */
class PythonDialog extends Component {
    state = /** @type {State} */ ({ found: null, chosen: null, typed: '', step: 'list', trouble: '' });
    isUnmounted = false;
    /** Whether the step has changed, so that the focus goes to its main button. */
    hasMoved = false;
    /** @type {HTMLElement | null} */
    element = null;

    componentDidMount() {
        if (this.props.page.scope === 'owner') this.#list();
    }

    componentDidUpdate() {
        if (!this.hasMoved) return;
        this.hasMoved = false;
        const wanted = this.state.step === 'list' ? ':checked' : '[data-focus]';
        /** @type {HTMLElement | null | undefined} */ (this.element?.querySelector(wanted))?.focus();
    }

    componentWillUnmount() {
        this.isUnmounted = true;
    }

    async #list() {
        let [found, trouble] = [/** @type {Found[]} */ ([]), ''];
        try {
            found = await listPythons();
        } catch {
            trouble = WORDS.listFailed;
        }
        if (this.isUnmounted) return;
        const current = found.find((python) => this.#isCurrent(python));
        // The list replaces a text, so nothing in it can have the focus yet.
        this.hasMoved = true;
        this.setState({ found, trouble, chosen: this.state.chosen ?? current?.path ?? '' });
    }

    /** Whether the notebook runs in a Python. @param {Found} python */
    #isCurrent({ path, is_default }) {
        const own = this.props.page.model.python;
        return own?.is_chosen ? path === own.path : is_default;
    }

    /** The chosen row; undefined for the field. */
    get choice() {
        return this.state.found?.find(({ path }) => path === this.state.chosen);
    }

    /** @param {State['step']} step @param {string} [trouble] */
    #go(step, trouble = '') {
        this.hasMoved = true;
        this.setState({ step, trouble });
    }

    async #restart() {
        const { page, done } = this.props;
        const { choice } = this;
        this.#go('busy');
        const path = choice?.is_default ? null : (choice?.path ?? this.state.typed.trim());
        const { version, why } = await choosePython(page.model.name, path);
        if (version === null) {
            if (this.isUnmounted) page.notify(why, true);
            else this.#go('list', why);
            return;
        }
        page.notify(WORDS.changed(version), false);
        if (!this.isUnmounted) done(version);
    }

    /** @param {Props} props @param {State} state */
    render({ page, done }, { step, trouble }) {
        const content =
            page.scope !== 'owner'
                ? html`<p>${WORDS.ownerOnly}</p>${this.#buttons(
                      html`<button class="button" data-main autofocus
                      onClick=${() => done(null)}>${WORDS.close}</button>`,
                  )}`
                : step === 'list'
                  ? this.#choices(trouble)
                  : this.#question(step === 'busy');
        return html`<div class="python" ref=${(/** @type {HTMLElement | null} */ element) => (this.element = element)}>
            <h2>${step === 'list' ? WORDS.title : WORDS.ask(this.choice?.version ?? null)}</h2>
            ${step === 'list' && this.#current()}${content}</div>`;
    }

    #current() {
        const { python } = this.props.page.model;
        if (!python) return null;
        return html`<p><b>${nameOf(python.version, python.path)}</b><small class="path">${python.path}</small></p>
            ${python.problem && html`<p class="trouble">${ALL.sentence(python.problem)}</p>`}`;
    }

    /** @param {any} buttons */
    #buttons(buttons) {
        return html`<div class="answers">${buttons}</div>`;
    }

    /** @param {string} trouble */
    #choices(trouble) {
        const { found, chosen, typed } = this.state;
        const isSame =
            this.choice !== undefined &&
            this.#isCurrent(this.choice) &&
            this.props.page.model.python?.problem === null;
        const isReady = !isSame && chosen !== null && (chosen !== '' || typed.trim() !== '');
        const submit = (/** @type {Event} */ event) => {
            event.preventDefault();
            if (isReady) this.#go('question');
        };
        return html`<form onSubmit=${submit}>
            <fieldset><legend>${WORDS.list}</legend>
                ${found ? found.map((python) => this.#row(python)) : html`<p role="status">${WORDS.searching}</p>`}
                ${found && this.#field()}
            </fieldset>
            <div role="alert">${trouble && html`<p class="trouble">${trouble}</p>`}</div>
            ${this.#buttons(html`
                <button class="button" type="button" onClick=${() => this.props.done(null)}>
                    ${WORDS.cancel}</button>
                <button class="button" data-main disabled=${!isReady}>${WORDS.next}</button>`)}
        </form>`;
    }

    /** @param {Found} python */
    #row({ path, version, place, is_default, problem }) {
        const name = version ? nameOf(version, path) : (path.split('/').at(-1) ?? path);
        const about = [is_default ? WORDS.isDefault : '', WORDS.places[place] ?? place];
        return html`<label class="choice" key=${path} data-off=${problem ? '' : null}>
            <input type="radio" name="python" value=${path} checked=${this.state.chosen === path}
                disabled=${problem !== null} onChange=${() => this.setState({ chosen: path, trouble: '' })} />
            <span><b>${name}</b> <i>${about.filter(Boolean).join(', ')}</i>
                <small class="path">${path}</small>
                ${problem && html`<small>${ALL.sentence(problem)}</small>`}</span></label>`;
    }

    #field() {
        const { chosen, typed } = this.state;
        const choose = () => this.setState({ chosen: '', trouble: '' });
        return html`<label class="choice">
            <input type="radio" name="python" value="" checked=${chosen === ''} onChange=${choose} />
            <span><b>${WORDS.another}</b>
                <input class="field" aria-label=${WORDS.path} placeholder=${WORDS.pathHint} value=${typed}
                    spellcheck=${false} autocomplete="off" onFocus=${choose}
                    onInput=${(/** @type {any} */ event) =>
                        this.setState({ typed: event.target.value })} /></span></label>`;
    }

    /** @param {boolean} isBusy */
    #question(isBusy) {
        const { page } = this.props;
        const path = this.choice?.path ?? this.state.typed.trim();
        const plan = restartPlan(page.model.states.values(), this.choice?.version ?? null);
        return html`<p class="path">${path}</p>
            <p>${WORDS.stays}</p>
            ${plan.length > 0 && html`<ul>${plan.map((sentence) => html`<li>${sentence}</li>`)}</ul>`}
            <p>${WORDS.lost}</p>
            <div role="status">${isBusy && html`<p>${WORDS.restarting}</p>`}</div>
            ${this.#buttons(html`
                <button class="button" disabled=${isBusy} onClick=${() => this.#go('list')}>
                    ${WORDS.back}</button>
                <button class="button" data-main data-focus disabled=${isBusy}
                    onClick=${() => this.#restart()}>${WORDS.restart}</button>`)}`;
    }
}

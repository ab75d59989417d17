// @ts-check
// The dialog *Sweep*: asks the server for the parameters of a cell and the user for their values,
// and starts the sweep. This tab keeps what was typed, so that the dialog can be closed and opened
// again.

import { Editor } from '../editor/editor.js';
import { runOf } from '../notebook/cell-list.js';
import { hasEnded, ROOT_STATE } from '../shell/protocol.js';
import { WORDS as ALL } from '../shell/words.js';
import { bytes, newId } from '../text/format.js';
import { show } from '../ui/dialog.js';
import { CloseIcon } from '../ui/icons.js';
import { Component, html } from '../vendor/preact.js';
import { EMPTY, exampleFor, fieldOf, fieldsOf, planOf, valueKey } from './sweep-form.js';
import { showTable } from './sweep-table.js';
import { FORM_WORDS as SAY } from './sweep-words.js';
import { readValues } from './values.js';
import { checkWorkers, fetchWorkers } from './workers-api.js';

/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {import('../notebook/cell-list.js').Cell} Cell */
/** @typedef {import('./sweep-form.js').Form} Form */
/** @typedef {import('./sweep-form.js').Field} Field */
/** @typedef {import('./sweep-form.js').FieldKey} FieldKey */
/** @typedef {import('./sweep-form.js').CodeParameters} CodeParameters */
/** @typedef {Exclude<FieldKey, `value ${string}`>} TextKey */
/**
 * @typedef {object} DialogProps
 * @property {Page} page
 * @property {Cell} cell
 * @property {string} code the cell's current code
 * @property {string} at the state that each row runs against
 * @property {(answer: string | null) => void} done called with the id of the sweep
 */
/**
 * @typedef {object} DialogState
 * @property {CodeParameters | null} found null while the server looks
 * @property {string} failure why the server has found nothing
 * @property {Form} form
 * @property {{key: FieldKey | null, text: string} | null} refusal of the server to start
 * @property {boolean} isStarting
 * @property {import('./workers-api.js').WorkersStatus | null} workers null if there are none
 * @property {import('./workers-api.js').WorkersCheck | 'asking' | null} check null if not asked
 */

/** The number of cells whose values a tab keeps. The oldest are dropped. */
const KEPT_CELLS = 20;

/**
 * Asks for a sweep of a cell, starts it and shows its table.
 * @param {Page} page
 * @param {Cell} cell
 * @param {string} code
 */
export async function askSweep(page, cell, code) {
    const at = cell.kind === 'draft' ? cell.draft.on : cell.kind === 'ran' ? cell.state.parent : null;
    const id = await show(
        (done) => html`<${SweepDialog} page=${page} cell=${cell} code=${code} at=${at ?? ROOT_STATE}
            done=${done} />`,
        'sweep-form',
    );
    if (id !== null) void showTable(page, id);
}

/** @extends {Component<DialogProps, DialogState>} */
class SweepDialog extends Component {
    /** @type {DialogState} */
    state = {
        found: null,
        failure: '',
        form: { ...EMPTY, ...keptForms(this.props.page).get(this.props.cell.key) },
        refusal: null,
        isStarting: false,
        workers: null,
        check: null,
    };
    isUnmounted = false;
    /** @type {HTMLElement | null} */
    element = null;
    /** Whether the advanced options were open when the dialog opened. */
    wasAdvanced = Object.keys(EMPTY)
        .slice(Object.keys(EMPTY).indexOf('label'))
        .some((key) => this.state.form[/** @type {TextKey} */ (key)] !== EMPTY[/** @type {TextKey} */ (key)]);

    componentDidMount() {
        void this.#look();
        void this.#findWorkers();
    }

    componentWillUnmount() {
        this.isUnmounted = true;
    }

    /** The state whose variables the metric can name: the cell's own, if it ran. */
    get #measured() {
        const { cell, at } = this.props;
        return cell.kind === 'ran' ? cell.state.id : at;
    }

    async #look() {
        const { page, at, code } = this.props;
        this.setState({ found: null, failure: '' });
        page.variables.fetchVariables(this.#measured).then(() => this.isUnmounted || this.setState({}));
        const reply = await page.host.send({ do: 'find_parameters', state: at, code });
        if (this.isUnmounted) return;
        if (reply.kind === 'parameters') this.setState({ found: reply }, () => this.#focusFirst());
        else this.setState({ failure: reply.kind === 'refused' ? ALL.refused(reply) : '' });
    }

    async #findWorkers() {
        const workers = await fetchWorkers();
        if (this.isUnmounted || !workers?.engine) return;
        this.setState({ workers });
        if (this.state.form.where !== 'here') void this.#check();
    }

    /** Compares server and workers. */
    async #check() {
        const { page, at, code } = this.props;
        this.setState({ check: 'asking' });
        const check = await checkWorkers(page.model.name, at, code);
        if (!this.isUnmounted) this.setState({ check });
    }

    #focusFirst() {
        /** @type {HTMLElement | null | undefined} */ (
            this.element?.querySelector('.sweep-parameter input, select, input')
        )?.focus();
    }

    /** @param {Partial<Form>} change */
    #change(change) {
        const { page, cell } = this.props;
        const form = { ...this.state.form, ...change };
        const kept = keptForms(page);
        kept.delete(cell.key);
        kept.set(cell.key, form);
        page.host.remember('sweepForms', [...kept].slice(-KEPT_CELLS));
        this.setState({ form, refusal: null });
        if (change.where && change.where !== 'here' && !this.state.check) void this.#check();
    }

    /** @param {string} name @param {string} text */
    #changeValue(name, text) {
        this.#change({ values: { ...this.state.form.values, [name]: text } });
    }

    /** @param {string} name */
    #addRead(name) {
        if (!name) return;
        this.#change({ reads: [...this.state.form.reads, name] });
        this.setState({}, () => document.getElementById(idOf(valueKey(name)))?.focus());
    }

    /** @param {string} name */
    #removeRead(name) {
        const { reads, values } = this.state.form;
        const { [name]: _, ...others } = values;
        this.#change({ reads: reads.filter((one) => one !== name), values: others });
    }

    /** @returns {Field[]} */
    get #fields() {
        const { found, form } = this.state;
        return found ? fieldsOf(found, form) : [];
    }

    #plan() {
        const { cell } = this.props;
        const run = runOf(cell);
        const lastMs = run && hasEnded(run.status) && run.status === 'ok' ? run.duration_ms : null;
        const name = cell.kind === 'ran' ? SAY.cell(cell.state.exec_count) : SAY.thisCell;
        // A form that was kept may name workers that this server does not have.
        const form = this.state.workers ? this.state.form : { ...this.state.form, where: EMPTY.where };
        return planOf(this.#fields, form, { cell: name, lastMs });
    }

    async #start() {
        const { page, at, code, done } = this.props;
        const { spec } = this.#plan();
        if (!spec || this.state.isStarting || !this.state.found || this.state.found.syntax_error) return;
        this.setState({ isStarting: true, refusal: null });
        const reply = await page.host.send({ do: 'sweep', sweep_id: newId(), at, code, ...spec });
        if (reply.kind === 'sweep_started') return done(reply.id);
        if (this.isUnmounted) return;
        const refusal =
            reply.kind === 'refused'
                ? { key: fieldOf(reply, this.#fields, this.state.form), text: ALL.refused(reply) }
                : { key: null, text: '' };
        this.setState({ isStarting: false, refusal });
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        void this.#start();
    }

    /** @param {DialogProps} props @param {DialogState} state */
    render({ done }, { found, failure, form, refusal, isStarting }) {
        const plan = this.#plan();
        const isBroken = found?.syntax_error != null;
        const hint =
            plan.spec || isBroken || !found ? plan.sentence : plan.problems.size > 0 ? SAY.mend : SAY.waiting;
        return html`
            <h2>${SAY.title}</h2>
            <p>${form.sampler === 'all' ? SAY.why : SAY.whyDrawn}</p>
            <div class="sweep-form" ref=${(/** @type {HTMLElement | null} */ one) => (this.element = one)}
                onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}>
                ${
                    failure
                        ? html`<p class="trouble" role="alert">${failure} <button class="text-button"
                            onClick=${() => void this.#look()}>${SAY.retry}</button></p>`
                        : !found
                          ? html`<p role="status">${SAY.looking}</p>`
                          : isBroken
                            ? html`<p class="trouble" role="alert">${SAY.syntax(found.syntax_error ?? '')}</p>`
                            : this.#form(found, plan)
                }
            </div>
            <p class="sweep-sentence" role="status">${hint}</p>
            <p class="trouble" role="alert">${refusal?.key === null ? refusal.text : ''}</p>
            <div class="answers">
                <button class="button" onClick=${() => done(null)}>${ALL.cancel}</button>
                <button class="button" data-main title="Ctrl-Enter"
                    disabled=${!plan.spec || isBroken || isStarting} onClick=${() => void this.#start()}>
                    ${isStarting ? SAY.starting : SAY.start}</button>
            </div>`;
    }

    /** @param {CodeParameters} found @param {import('./sweep-form.js').Plan} plan */
    #form(found, plan) {
        const { form } = this.state;
        const fields = this.#fields;
        const left = found.reads.filter((name) => !form.reads.includes(name));
        const obstacles = Object.entries(found.obstacles);
        const nothing = found.reads.length ? SAY.nothingReads : SAY.nothing;
        return html`
            ${fields.length === 0 && html`<p>${nothing}</p>`}
            ${fields.length > 0 && html`<p id="sweep-syntax">${form.sampler === 'all' ? SAY.syntaxHint : SAY.syntaxDrawn}</p>`}
            <div class="sweep-parameters">${fields.map((field) => this.#parameter(field, plan))}</div>
            ${
                left.length > 0 &&
                html`<select class="field sweep-add" aria-label=${SAY.add} value=""
                onChange=${(/** @type {any} */ event) => this.#addRead(event.target.value)}>
                <option value="">${SAY.addChoose}</option>
                ${left.map((name) => html`<option value=${name}>${name}</option>`)}
            </select>`
            }
            ${obstacles.length > 0 && html`<p class="hint">${SAY.obstacles(obstacles)}</p>`}
            <div class="sweep-fields">
                ${this.#text('metric', SAY.metric, plan, { hint: SAY.metricHint, why: SAY.metricWhy, below: SAY.metricBelow, list: 'sweep-metrics', isWide: true })}
                ${this.#choice('goal', SAY.goal, SAY.goals)}
                ${this.#text('parallel', SAY.parallel, plan, { hint: SAY.parallelHint })}
                ${this.#text('keep', SAY.keep, plan, { hint: SAY.keepHint, why: SAY.keepWhy })}
            </div>
            ${this.#where()}
            <datalist id="sweep-metrics">${this.#names().map((name) => html`<option value=${name} />`)}</datalist>
            <details class="sweep-advanced" open=${this.wasAdvanced}>
                <summary>${SAY.advanced}</summary>
                ${this.#advanced(plan)}
            </details>`;
    }

    /** Where the rows run, if there is a choice, and what is known about the workers. */
    #where() {
        const { workers, check, form } = this.state;
        if (!workers) return null;
        const known = form.where !== 'here' && check !== null && check !== 'asking' ? check : null;
        const store = known?.bytes_to_store ?? null;
        const node = known?.bytes_per_node ?? null;
        return html`
            <div class="sweep-fields">${this.#choice('where', SAY.where, SAY.places, SAY.whereWhy)}</div>
            ${workers.problem && html`<p class="trouble">${SAY.workersGone(workers.problem)}</p>`}
            ${form.where !== 'here' && check === 'asking' && html`<p class="hint" role="status">${SAY.checking}</p>`}
            ${known?.refusals.map((one) => html`<p class="trouble" role="alert">${one}.</p>`)}
            ${known?.warnings.map((one) => html`<p class="hint">${one}.</p>`)}
            ${store !== null && node !== null && html`<p class="hint">${SAY.moves(bytes(store), bytes(node))}</p>`}`;
    }

    /** @param {import('./sweep-form.js').Plan} plan */
    #advanced(plan) {
        const { form } = this.state;
        return html`
            <div class="sweep-fields">
                ${this.#choice('sampler', SAY.sampler, SAY.samplers, SAY.samplerWhy)}
                ${form.sampler !== 'all' && this.#text('trials', SAY.trials, plan)}
                ${form.sampler !== 'all' && this.#text('seed', SAY.seed, plan)}
                ${this.#text('timeout', SAY.timeout, plan, { hint: SAY.timeoutHint })}
                ${this.#text('label', SAY.label, plan, { hint: SAY.labelHint })}
            </div>
            <fieldset class="sweep-fields"><legend>${SAY.stop}</legend>
                ${this.#text('stopRows', SAY.stopRows, plan)}
                ${this.#text('stopSeconds', SAY.stopSeconds, plan)}
                ${this.#text('stopTarget', SAY.stopTarget, plan)}
            </fieldset>
            <fieldset class="sweep-fields"><legend>${SAY.rungsTitle}</legend>
                <div class="sweep-code">
                    <${Editor} text=${form.rungCode} kind="code" isEditable=${true} isTabStop=${true}
                        label=${SAY.rungCode} hint=${SAY.rungHint}
                        onType=${(/** @type {string} */ text) => this.#change({ rungCode: text })}
                        onLeave=${() => {}} held=${() => {}} onKey=${() => false} />
                    ${this.#problem('rungCode', plan)}
                </div>
                ${this.#text('rungCount', SAY.rungCount, plan)}
                ${this.#text('rungFactor', SAY.rungFactor, plan)}
            </fieldset>`;
    }

    /** The names that the metric can be: variables that are numbers first. */
    #names() {
        const known = this.props.page.variables.known.get(this.#measured);
        if (!Array.isArray(known)) return [];
        const isNumber = (/** @type {string} */ type) => /^(int|float)\d*$/.test(type);
        return known
            .toSorted((a, b) => Number(isNumber(b.type)) - Number(isNumber(a.type)))
            .map(({ name }) => name);
    }

    /** @param {Field} field @param {import('./sweep-form.js').Plan} plan */
    #parameter(field, plan) {
        const { name, value, type } = field;
        const { form } = this.state;
        const key = valueKey(name);
        const text = form.values[name] ?? '';
        const read = text.trim()
            ? readValues(text, { areWords: type === 'str', mayBeOpen: form.sampler !== 'all' })
            : null;
        const isOpen = read?.span && read.span.count === null && read.span.step === null;
        const isDrawn = form.sampler !== 'all' && isOpen;
        return html`<div class="sweep-parameter" key=${name}>
            <label for=${idOf(key)}><code>${name}</code> <small>${
                value === null ? SAY.reads : html`${SAY.now} <code>${value}</code>`
            }</small></label>
            <input id=${idOf(key)} class="field" value=${text} autocomplete="off"
                spellcheck=${false} autocapitalize="off" aria-label=${SAY.valuesOf(name)}
                placeholder=${SAY.example(exampleFor(field, form.sampler))} ...${this.#said(key, plan)}
                onInput=${(/** @type {any} */ event) => this.#changeValue(name, event.target.value)} />
            <span class="sweep-count">${read?.values && !isDrawn ? SAY.count(read.values.length) : ''}</span>
            ${
                value === null &&
                html`<button class="tool" aria-label=${SAY.removeRead(name)} title=${SAY.removeRead(name)}
                onClick=${() => this.#removeRead(name)}><${CloseIcon} /></button>`
            }
            ${this.#problem(key, plan)}
        </div>`;
    }

    /**
     * @param {TextKey} key
     * @param {string} label
     * @param {import('./sweep-form.js').Plan} plan
     * @param {{hint?: string, why?: string, below?: string, list?: string,
     *   isWide?: boolean}} [more]
     */
    #text(key, label, plan, { hint, why, below, list, isWide } = {}) {
        return html`<div class="sweep-field" data-wide=${isWide ? '' : null}>
            <label for=${idOf(key)}>${label}</label>
            <input id=${idOf(key)} class="field" value=${this.state.form[key]} placeholder=${hint ?? ''}
                title=${why ?? ''} list=${list ?? null} autocomplete="off" spellcheck=${false}
                autocapitalize="off" ...${this.#said(key, plan)}
                onInput=${(/** @type {any} */ event) => this.#change({ [key]: event.target.value })} />
            ${below && html`<p class="hint" id=${`${idOf(key)}-hint`}>${below}</p>`}
            ${this.#problem(key, plan)}
        </div>`;
    }

    /**
     * @param {'goal' | 'sampler' | 'where'} key
     * @param {string} label
     * @param {Record<string, string>} choices
     * @param {string} [why]
     */
    #choice(key, label, choices, why = '') {
        return html`<div class="sweep-field">
            <label for=${idOf(key)}>${label}</label>
            <select id=${idOf(key)} class="field" title=${why} value=${this.state.form[key]}
                onChange=${(/** @type {any} */ event) => this.#change({ [key]: event.target.value })}>
                ${Object.entries(choices).map(
                    ([value, text]) => html`<option value=${value}
                    selected=${value === this.state.form[key]}>${text}</option>`,
                )}
            </select>
            ${this.#problem(key, null)}
        </div>`;
    }

    /** @param {FieldKey} key @param {import('./sweep-form.js').Plan | null} plan */
    #problemOf(key, plan) {
        const { refusal } = this.state;
        return plan?.problems.get(key) ?? (refusal?.key === key ? refusal.text : undefined);
    }

    /** @param {FieldKey} key @param {import('./sweep-form.js').Plan | null} plan */
    #said(key, plan) {
        const isBad = this.#problemOf(key, plan) !== undefined;
        return {
            'aria-invalid': isBad ? 'true' : null,
            'aria-describedby': `${idOf(key)}-hint ${idOf(key)}-problem`,
        };
    }

    /** @param {FieldKey} key @param {import('./sweep-form.js').Plan | null} plan */
    #problem(key, plan) {
        return html`<p class="trouble" id=${`${idOf(key)}-problem`} role="status">${
            this.#problemOf(key, plan) ?? ''
        }</p>`;
    }
}

/** The id of a field's element. @param {FieldKey} key */
const idOf = (key) => `sweep-${key.replaceAll(' ', '-')}`;

/** What was typed for cells, by their keys. @param {Page} page @returns {Map<string, Form>} */
const keptForms = (page) => new Map(page.host.recall('sweepForms') ?? []);

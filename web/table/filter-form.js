// @ts-check
// The filters of a grid: one chip for each, and the form that adds or edits one.

import { Component, html } from '../vendor/preact.js';
import { CloseIcon } from '../ui/icons.js';
import { conditionsFor, needsValue, shownName } from './grid-columns.js';
import { TABLE_WORDS as SAY } from './table-words.js';

/** @typedef {import('./table-data.js').Filter} Filter */
/** @typedef {import('./table-data.js').TableData} TableData */
/**
 * @typedef {{at: number | null, column: number}} Edited `at`: the number of the edited filter; null
 *   for a new one
 */

/** @param {TableData} data @param {Filter} filter */
function textOf(data, { column, is, value }) {
    const one = data.table?.columns[column];
    return [one && shownName(one), SAY.sign[is], needsValue(is) ? value : ''].filter(Boolean).join(' ');
}

/**
 * @param {{data: TableData, onEdit: (at: number) => void,
 *   onFilters: (filters: Filter[]) => void}} props
 */
export function FilterChips({ data, onEdit, onFilters }) {
    const { filters } = data.order;
    if (!filters.length) return null;
    return html`<ul class="grid-chips">${filters.map((filter, at) => {
        const text = textOf(data, filter);
        return html`<li key=${at}><button class="grid-chip" aria-label=${SAY.editFilter(text)}
            title=${SAY.editFilter(text)} onClick=${() => onEdit(at)}>${text}</button>
            <button class="tool" aria-label=${SAY.removeFilter(text)} title=${SAY.removeFilter(text)}
                onClick=${() => onFilters(filters.toSpliced(at, 1))}><${CloseIcon} /></button></li>`;
    })}</ul>`;
}

/**
 * @typedef {{data: TableData, name: string, edited: Edited, refusal: string,
 *   onApply: (filters: Filter[]) => void, onCancel: () => void}} FormProps
 */

/** @extends {Component<FormProps, {column: number, is: Filter['is'], value: string}>} */
export class FilterForm extends Component {
    state = this.#first();

    #first() {
        const { data, edited } = this.props;
        const before = edited.at === null ? undefined : data.order.filters[edited.at];
        const kind = data.table?.columns[edited.column]?.kind ?? 'text';
        return {
            column: before?.column ?? edited.column,
            is: before?.is ?? conditionsFor(kind)[0] ?? 'contains',
            value: before?.value ?? '',
        };
    }

    /** @param {number} column */
    #choose(column) {
        const kindOf = (/** @type {number} */ at) => this.props.data.table?.columns[at]?.kind ?? 'text';
        const isAlike = kindOf(column) === kindOf(this.state.column);
        const is = isAlike ? this.state.is : (conditionsFor(kindOf(column))[0] ?? 'contains');
        this.setState({ column, is });
    }

    /** @param {Event} event */
    #apply(event) {
        event.preventDefault();
        const { data, edited, onApply } = this.props;
        const { column, is, value } = this.state;
        const filter = needsValue(is) ? { column, is, value: value.trim() } : { column, is };
        const { filters } = data.order;
        onApply(edited.at === null ? [...filters, filter] : filters.with(edited.at, filter));
    }

    /** @param {FormProps} props @param {{column: number, is: Filter['is'], value: string}} state */
    render({ data, name, refusal, onCancel }, { column, is, value }) {
        const columns = data.table?.columns ?? [];
        const kind = columns[column]?.kind ?? 'text';
        const summary = data.summaries?.columns[column];
        const known = summary && 'frequent' in summary ? summary.frequent : [];
        const cancel = (/** @type {KeyboardEvent} */ event) => {
            if (event.key !== 'Escape' || event.defaultPrevented) return;
            // Otherwise the key would close the dialog.
            event.preventDefault();
            event.stopPropagation();
            onCancel();
        };
        return html`<form class="grid-form" onSubmit=${(/** @type {Event} */ event) => this.#apply(event)}
            onKeyDown=${cancel}>
            <select class="field" aria-label=${SAY.column}
                onChange=${(/** @type {any} */ event) => this.#choose(Number(event.target.value))}>
                ${columns.map(
                    (one, at) => html`<option value=${at} selected=${at === column}>
                    ${shownName(one)}</option>`,
                )}</select>
            <select class="field" aria-label=${SAY.condition}
                onChange=${(/** @type {any} */ event) => this.setState({ is: event.target.value })}>
                ${conditionsFor(kind).map(
                    (one) => html`<option value=${one} selected=${one === is}>${SAY.is[one]}</option>`,
                )}</select>
            ${
                needsValue(is) &&
                html`<input class="field" aria-label=${SAY.value} placeholder=${SAY.valueHint[kind]}
                value=${value} autocomplete="off" spellcheck=${false} list=${`${name}-known`} autofocus
                aria-invalid=${refusal ? 'true' : null} aria-describedby=${refusal ? `${name}-refusal` : null}
                ref=${focusOnce}
                onInput=${(/** @type {any} */ event) => this.setState({ value: event.target.value })} />
            <datalist id=${`${name}-known`}>${known.map(({ text }) => html`<option value=${text} />`)}</datalist>`
            }
            <button class="button" data-main>${SAY.apply}</button>
            <button class="button" type="button" onClick=${onCancel}>${SAY.cancel}</button>
            <p class="trouble" id=${`${name}-refusal`} role="alert">${refusal}</p>
        </form>`;
    }
}

/** The inputs that had the focus once. @type {WeakSet<HTMLElement>} */
const focused = new WeakSet();

/** Focuses an input when it appears. @param {HTMLElement | null} input */
function focusOnce(input) {
    if (!input || focused.has(input)) return;
    focused.add(input);
    input.focus();
}

// @ts-check
// A table as a grid, with its filters, copying and CSV: in a dialog, or in a cell's output.

import { Component, html } from '../vendor/preact.js';
import { WORDS } from '../shell/words.js';
import { copyText } from '../ui/copy.js';
import { whenNear, unwatch } from '../ui/near-viewport.js';
import { saveBlob } from '../ui/save-blob.js';
import { DataGrid } from './data-grid.js';
import { FilterChips, FilterForm } from './filter-form.js';
import { fileNameOf, nextSort, shownName, unquoted } from './grid-columns.js';
import { only, rangeOf } from './grid-position.js';
import { TableData } from './table-data.js';
import { TABLE_WORDS as SAY } from './table-words.js';

/** @typedef {import('./table-data.js').Order} Order */
/**
 * @typedef {object} GridSource The table: a data frame of a state (state-source.js), or a file.
 * @property {string} title
 * @property {{state: string, expression: string}} what the command `table` asks for
 * @property {string} [place] where a data frame is
 * @property {boolean} canRead whether `send` gets rows now
 * @property {string} stamp differs when `waiting` does
 * @property {TableData['send']} send answers the command `table`
 * @property {(look: () => void) => any} waiting why there is no table yet. `look` looks again.
 */
/**
 * @typedef {object} ViewProps
 * @property {GridSource} source
 * @property {Order | null} [order] the first order of the rows
 * @property {(order: Order) => void} [onOrder] other rows or another order are shown
 * @property {number} [rows] in an output: the number of rows that have room
 * @property {(view: GridView | null) => void} [onMount]
 * @property {boolean} [isNew] in an output: whether the user has just asked for the grid
 * @property {() => void} [onClose] in a dialog
 */
/**
 * @typedef {object} ViewState
 * @property {import('./filter-form.js').Edited | null} edited the filter in the form
 * @property {string} filterRefusal
 * @property {{text: string, again: () => void} | null} refusal of anything but a filter
 * @property {import('./grid-position.js').Position} position
 * @property {string} said what the last action did
 * @property {{done: number, all: number} | null} reading the progress of reading all rows as CSV
 */

/** How often the view looks whether the state can be read now, in milliseconds. */
const LOOK_MS = 500;
/** The most rows that are copied: more would freeze the page, and the programs that paste them. */
const MOST_COPIED = 100_000;
/** Copying as CSV ends after this many characters. */
const MOST_CHARACTERS = 10_000_000;

/** The number of views so far: each has a name, because the ids of its elements begin with it. */
let views = 0;

/** @extends {Component<ViewProps, ViewState>} */
export class GridView extends Component {
    /** @type {ViewState} */
    state = {
        edited: null,
        filterRefusal: '',
        refusal: null,
        position: only(0, 0),
        said: '',
        reading: null,
    };
    /** The view keeps the source with which it was made. */
    source = this.props.source;
    data = new TableData(
        (command) => this.source.send(command),
        this.source.what,
        () => !this.isUnmounted && this.forceUpdate(),
    );
    /** Whether the user has not stopped reading all rows. */
    mayRead = false;
    isUnmounted = false;
    stamp = '';
    name = `grid-${++views}`;
    /** @type {HTMLElement | null} */
    place = null;
    /** @type {DataGrid | null} */
    grid = null;
    /** @type {ReturnType<typeof setInterval> | undefined} */
    timer = undefined;

    componentDidMount() {
        this.props.onMount?.(this);
        const begin = () => {
            this.#look();
            this.timer = setInterval(() => this.#look(), LOOK_MS);
        };
        // A grid that was shown before a reload may be far from the viewport.
        if (this.place) whenNear(this.place, begin);
        else begin();
    }

    componentWillUnmount() {
        this.props.onMount?.(null);
        this.isUnmounted = true;
        if (this.place) unwatch(this.place);
        clearInterval(this.timer);
    }

    /** Reads the table if that is possible now, and renders again if `waiting` has changed. */
    #look() {
        const { data, source } = this;
        if (data.table) return clearInterval(this.timer);
        if (source.canRead && !data.isOrdering && !this.state.refusal)
            this.show(this.props.order ?? data.order);
        const { stamp } = source;
        if (stamp === this.stamp) return undefined;
        this.stamp = stamp;
        return this.forceUpdate();
    }

    /** @param {Order} order */
    async show(order) {
        this.setState({ refusal: null, said: '' });
        const refused = await this.data.show(order);
        if (refused) {
            const again = () => void this.show(order);
            this.setState({ refusal: { text: WORDS.refused(refused), again } });
        } else this.#ordered();
    }

    #ordered() {
        this.props.onOrder?.(this.data.order);
        this.grid?.toTop();
    }

    /** @param {number} column */
    #sort(column) {
        const { filters, sort } = this.data.wanted;
        this.show({ filters, sort: nextSort(sort, column) });
    }

    /**
     * Applies the filters of the form. If they are refused, the form stays open and says why.
     * @param {import('./table-data.js').Filter[]} filters
     */
    async #filter(filters) {
        this.setState({ filterRefusal: '', said: '' });
        const refused = await this.data.show({ filters, sort: this.data.wanted.sort });
        if (refused) return this.setState({ filterRefusal: WORDS.refused(refused) });
        this.setState({ edited: null });
        this.#ordered();
        return this.grid?.focus();
    }

    /** @param {import('./filter-form.js').Edited | null} edited */
    #edit(edited) {
        this.setState({ edited, filterRefusal: '' });
        if (!edited) this.grid?.focus();
    }

    async #copy() {
        const range = rangeOf(this.state.position);
        const { table } = this.data;
        if (!range || !table) return;
        const [rows, columns] = [range.bottom - range.top + 1, range.right - range.left + 1];
        if (rows > MOST_COPIED) return this.setState({ said: SAY.tooManyToCopy(MOST_COPIED) });
        this.setState({ said: SAY.copying });
        const wanted = table.columns.map((_, at) => at).slice(range.left, range.right + 1);
        const part = { from: range.top, count: rows, columns: wanted, names: false };
        const read = await this.data.text({ form: 'tsv', ...part }, () => !this.isUnmounted);
        if (!read) return;
        if (read.kind === 'refused') return this.setState({ said: WORDS.refused(read) });
        const whole = read.text.join('');
        const text = rows === 1 && columns === 1 ? unquoted(whole) : whole;
        await this.#toClipboard(text, SAY.copied(rows, columns), SAY.copyTitle);
    }

    /**
     * The notices of the page would be behind a dialog, so the view says itself what was copied.
     * @param {string} text
     * @param {string} said
     * @param {string} title
     */
    #toClipboard(text, said, title) {
        const page = { notify: (/** @type {string} */ now) => this.setState({ said: now }) };
        this.setState({ said: '' });
        return copyText(page, text, { said, title });
    }

    /**
     * Reads the rows that match, with all shown columns, as CSV. Nothing if stopped or refused.
     * @param {number} count
     * @param {number} [most] the number of characters after which reading ends
     */
    async #csv(count, most) {
        this.mayRead = true;
        this.setState({ said: '' });
        const columns = this.data.table?.columns.map((_, at) => at) ?? [];
        const part = { from: 0, count: Math.max(1, count), columns, names: true, most };
        const read = await this.data.text({ form: 'csv', ...part }, (done) => {
            if (this.isUnmounted || !this.mayRead) return false;
            this.setState({ reading: { done, all: count } });
            return true;
        });
        this.setState({ reading: null });
        if (read?.kind === 'refused') return void this.setState({ said: WORDS.refused(read) });
        return read;
    }

    async #copyCsv() {
        const all = this.data.table?.matching ?? 0;
        const read = await this.#csv(Math.min(all, MOST_COPIED), MOST_CHARACTERS);
        if (!read) return;
        const said =
            read.rows < all ? SAY.copiedCsvPart(read.rows, all, MOST_COPIED) : SAY.copiedCsv(read.rows);
        await this.#toClipboard(read.text.join(''), said, SAY.copyCsvTitle);
    }

    async #download() {
        const read = await this.#csv(this.data.table?.matching ?? 0);
        if (!read) return;
        saveBlob(read.text, `${fileNameOf(this.source.title)}.csv`);
        this.setState({ said: SAY.downloaded(read.rows) });
    }

    /** @param {ViewProps} props @param {ViewState} state */
    render({ rows }, state) {
        const content = this.#content(state);
        if (rows === undefined) return content;
        return html`<section class="grid-place" style=${`--rows:${rows}`}
            ref=${(/** @type {HTMLElement | null} */ element) => (this.place = element)}>${content}</section>`;
    }

    /** @param {ViewState} state */
    #content(state) {
        const { onClose } = this.props;
        const { data, source } = this;
        const { table } = data;
        const isReading = state.reading !== null;
        // Of the index, a filter is rarely wanted.
        const columns = table?.columns ?? [];
        const active = state.position.at.column;
        const column = columns[active]?.is_index ? columns.findIndex((one) => !one.is_index) : active;
        return html`
            <div class="grid-top">
                ${onClose && html`<h2><code>${source.title}</code> <small>${source.place}</small></h2>`}
                <p role="status">${
                    table &&
                    `${SAY.rows(table.matching, table.total)}, ${SAY.columns(table.columns.filter(({ is_index }) => !is_index).length, table.columns_left_out)}`
                }</p>
                <div class="grid-acts">
                    ${
                        table &&
                        html`<button class="button" data-frame aria-expanded=${state.edited ? 'true' : 'false'}
                        onClick=${() =>
                            this.#edit(state.edited ? null : { at: null, column: Math.max(0, column) })}>
                        ${SAY.filter}</button>
                    <button class="button" data-frame disabled=${isReading}
                        onClick=${() => void this.#copyCsv()}>${SAY.copyCsv}</button>
                    <button class="button" data-frame disabled=${isReading}
                        onClick=${() => void this.#download()}>${SAY.download}</button>`
                    }
                    ${
                        onClose &&
                        html`<button class="button" data-frame onClick=${onClose}>${SAY.close}</button>`
                    }
                </div>
            </div>
            ${
                table &&
                html`<${FilterChips} data=${data}
                onEdit=${(/** @type {number} */ i) =>
                    this.#edit({ at: i, column: data.order.filters[i]?.column ?? 0 })}
                onFilters=${(/** @type {any} */ filters) => void this.#filter(filters)} />`
            }
            ${
                table &&
                state.edited &&
                html`<${FilterForm} key=${`${state.edited.at} ${state.edited.column}`} data=${data}
                name=${this.name} edited=${state.edited} refusal=${state.filterRefusal}
                onApply=${(/** @type {any} */ filters) => void this.#filter(filters)}
                onCancel=${() => this.#edit(null)} />`
            }
            ${this.#trouble()}
            ${table ? this.#grid(table) : !state.refusal && source.waiting(() => this.#lookAgain())}`;
    }

    /** A grid in an output takes the focus only from the button that has shown it. */
    #takesFocus() {
        const { place } = this;
        return !place || (this.props.isNew && place.parentElement?.contains(document.activeElement)) === true;
    }

    /** Why rows are missing. */
    #trouble() {
        const refused = this.data.refusal;
        const trouble = refused
            ? { text: WORDS.refused(refused), again: () => this.data.retry() }
            : this.state.refusal;
        return html`<p class="trouble grid-trouble" role="alert">${
            trouble &&
            html`${trouble.text} <button class="text-button" onClick=${() => {
                trouble.again();
                this.forceUpdate();
            }}>${SAY.retry}</button>`
        }</p>`;
    }

    /** The user has allowed what the source waited for. */
    #lookAgain() {
        this.#look();
        this.forceUpdate();
    }

    /** @param {NonNullable<TableData['table']>} table */
    #grid(table) {
        const { data } = this;
        const { position, said, reading } = this.state;
        const { filters } = data.order;
        return html`
            <div class="grid-box">
                <${DataGrid} data=${data} label=${this.source.title} isStale=${data.isOrdering}
                    name=${this.name} takesFocus=${this.#takesFocus()}
                    onMount=${(/** @type {DataGrid | null} */ grid) => (this.grid = grid)}
                    onSort=${(/** @type {number} */ column) => this.#sort(column)}
                    onFilter=${(/** @type {number} */ column) => this.#edit({ at: null, column })}
                    onCopy=${() => void this.#copy()}
                    onPosition=${(/** @type {ViewState['position']} */ now) =>
                        this.setState({ position: now, said: '' })} />
                ${
                    table.matching === 0 &&
                    html`<p class="grid-none">${filters.length ? SAY.noMatch : SAY.noRows} ${
                        filters.length > 0 &&
                        html`<button class="text-button" onClick=${() => void this.#filter([])}>
                            ${SAY.removeAll}</button>`
                    }</p>`
                }
            </div>
            <div class="grid-foot">
                <span class="grid-value">${this.#value(position)}</span>
                <span role="status">${
                    reading ? SAY.reading(reading.done, reading.all) : said || this.#selected(position)
                }</span>
                ${
                    reading
                        ? html`<button class="text-button" onClick=${() => (this.mayRead = false)}>
                            ${SAY.cancel}</button>`
                        : rangeOf(position) &&
                          table.matching > 0 &&
                          html`<button class="text-button" onClick=${() => void this.#copy()}>
                            ${SAY.copy}</button>`
                }
            </div>`;
    }

    /**
     * The text of the active cell, or what the keys do in a header.
     * @param {ViewState['position']} position
     */
    #value({ at }) {
        const { table, rows, summaries } = this.data;
        const column = table?.columns[at.column];
        if (at.row < 0) return SAY.keys;
        const row = rows.at(at.row);
        if (!column || !row) return summaries?.sampled ? SAY.sampled(summaries.sampled) : '';
        return html`<b>${shownName(column)}</b> ${row[at.column] ?? SAY.missing}`;
    }

    /** @param {ViewState['position']} position */
    #selected(position) {
        const range = rangeOf(position);
        if (!range) return '';
        const [rows, columns] = [range.bottom - range.top + 1, range.right - range.left + 1];
        return rows * columns > 1 ? SAY.selected(rows, columns) : '';
    }
}

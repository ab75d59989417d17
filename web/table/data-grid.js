// @ts-check
// The grid: headers and the rows in view, with one active cell that keys and clicks move.
//
// The grid element itself has the focus and scrolls. Its content is as high as all rows, but only a
// window that sticks to the top has elements: the headers, and the rows and columns in view.
// Assistive technology gets the numbers of rows and columns, and the active cell, by attributes.

import { Component, html } from '../vendor/preact.js';
import { DownIcon, UpIcon, icon } from '../ui/icons.js';
import { ColumnSummaryView, summaryText } from './column-summary.js';
import { columnsInView, fittingWidth, initialWidths, LEAST, pinnedCount, shownName } from './grid-columns.js';
import { isIn, moved, only, rangeOf } from './grid-position.js';
import { RowScroll } from './row-scroll.js';
import { TABLE_WORDS as SAY } from './table-words.js';

const FilterIcon = icon('M2.5 3.5h11L9.3 8.7v4.1l-2.6-1.3V8.7z');

/** @typedef {import('./table-data.js').TableData} TableData */
/** @typedef {import('./grid-position.js').Position} Position */
/**
 * @typedef {{data: TableData, label: string, name: string, isStale: boolean, takesFocus: boolean,
 *   onSort: (column: number) => void,
 *   onFilter: (column: number) => void, onCopy: () => void,
 *   onPosition: (position: Position) => void, onMount: (grid: DataGrid | null) => void}} GridProps
 */
/** @typedef {{left: number, width: number, height: number, widths: number[]}} GridState */

/** The height of the headers and of a row, in px; a finger needs more. */
const HEAD_HEIGHT = 88;
const isCoarse = () => matchMedia('(pointer: coarse)').matches;
const rowHeight = () => (isCoarse() ? 36 : 26);
/** How far one press of Shift-← moves the edge of a column, in px. */
const WIDEN = 16;
/** Browsers without `scrollend`: scrolling has ended after this time without an event, in ms. */
const REST_MS = 200;

/** The grids on the page, by their elements. @type {WeakMap<Element, DataGrid>} */
export const grids = new WeakMap();

/** @extends {Component<GridProps, GridState>} */
export class DataGrid extends Component {
    /** @type {GridState} */
    state = { left: 0, width: 0, height: 0, widths: [] };
    position = only(0, 0);
    scroll = new RowScroll();
    row = rowHeight();
    /** @type {HTMLElement | null} */
    element = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    resting = undefined;

    componentDidMount() {
        const { element } = this;
        this.props.onMount(this);
        if (!element) return;
        grids.set(element, this);
        this.watch = new ResizeObserver(() =>
            this.setState({ width: element.clientWidth, height: element.clientHeight }),
        );
        this.watch.observe(element);
        const { table, rows, summaries } = this.props.data;
        const first = Array.from({ length: 100 }, (_, i) => rows.at(i) ?? []);
        if (table) this.setState({ widths: initialWidths(table.columns, first, summaries) });
        element.addEventListener('scrollend', () => this.#rest());
        if (this.props.takesFocus) this.focus();
    }

    componentDidUpdate() {
        const { first, end } = this.#rowsInView();
        this.props.data.onView(first, end);
    }

    componentWillUnmount() {
        this.props.onMount(null);
        this.watch?.disconnect();
        clearTimeout(this.resting);
    }

    /** Other rows are shown: from the first on. */
    toTop() {
        if (this.element) this.element.scrollTop = this.scroll.goTo(0);
        this.#goTo(only(this.position.at.row < 0 ? -1 : 0, this.position.at.column), false);
    }

    /** Scrolls to a row, unless it is in view. @param {number} row */
    scrollToRow(row) {
        const { element, scroll } = this;
        const y = row * this.row;
        if (!element || (y >= scroll.top && y + this.row <= scroll.top + scroll.view)) return;
        element.scrollTop = scroll.goTo(Math.max(0, y - (scroll.view - this.row) / 2));
    }

    focus() {
        this.element?.focus({ preventScroll: true });
    }

    /** The id of a cell. @param {number} row @param {number} column */
    #id(row, column) {
        return `${this.props.name}-${row}-${column}`;
    }

    #rowsInView() {
        const { top, view } = this.scroll;
        const count = this.props.data.table?.matching ?? 0;
        const first = Math.floor(top / this.row);
        return { first, end: Math.min(count, Math.ceil((top + view) / this.row)) };
    }

    #onScroll() {
        if (!this.element) return;
        this.scroll.onScroll(this.element.scrollTop);
        this.setState({ left: this.element.scrollLeft });
        if ('onscrollend' in window) return;
        clearTimeout(this.resting);
        this.resting = setTimeout(() => this.#rest(), REST_MS);
    }

    /** Scrolling has ended: moves the scroll bar to where the rows are. */
    #rest() {
        const bar = this.scroll.barOf();
        if (!this.element || Math.abs(bar - this.element.scrollTop) < 1) return;
        this.scroll.bar = bar;
        this.element.scrollTop = bar;
    }

    /** @param {Position} position @param {boolean} [isShown] whether to scroll to it */
    #goTo(position, isShown = true) {
        this.position = position;
        if (isShown) this.#reveal();
        this.props.onPosition(position);
        this.forceUpdate();
    }

    #reveal() {
        const { element, scroll } = this;
        const { widths, left, width } = this.state;
        const { row, column } = this.position.at;
        if (!element) return;
        const y = row * this.row;
        if (row >= 0 && y < scroll.top) element.scrollTop = scroll.goTo(y);
        else if (row >= 0 && y + this.row > scroll.top + scroll.view)
            element.scrollTop = scroll.goTo(y + this.row - scroll.view);
        const pinned = this.#pinned();
        if (column < pinned) return;
        const sum = (/** @type {number} */ end) => widths.slice(0, end).reduce((all, one) => all + one, 0);
        const [from, to, edge] = [sum(column), sum(column + 1), sum(pinned)];
        if (from < left + edge) element.scrollLeft = from - edge;
        else if (to > left + width) element.scrollLeft = Math.min(to - width, from - edge);
    }

    #pinned() {
        const { table } = this.props.data;
        return table ? pinnedCount(table.columns, this.state.widths, this.state.width) : 0;
    }

    /** @param {number} column @param {number} width */
    #setWidth(column, width) {
        this.setState(({ widths }) => ({ widths: widths.with(column, Math.round(Math.max(LEAST, width))) }));
    }

    /** Makes a column as wide as the texts that are loaded. @param {number} column */
    #fit(column) {
        const { table, rows } = this.props.data;
        const one = table?.columns[column];
        if (one) this.#setWidth(column, fittingWidth(one, column, [...rows.rows.values()]));
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        const { data, onSort, onFilter, onCopy } = this.props;
        const { row, column } = this.position.at;
        const isFar = event.ctrlKey || event.metaKey;
        if (event.altKey || !data.table) return;
        const step = { ArrowLeft: -WIDEN, ArrowRight: WIDEN }[event.key];
        if (isFar && event.key.toLowerCase() === 'c' && !event.shiftKey) onCopy();
        else if (row < 0 && !isFar && (event.key === 'Enter' || (event.key === ' ' && !event.shiftKey)))
            onSort(column);
        else if (!isFar && event.key.toLowerCase() === 'f') onFilter(column);
        else if (event.key === 'Escape') {
            const cell = /** @type {HTMLElement | null} */ (this.element?.closest('.cell') ?? null);
            // Without a cell, the key closes the dialog.
            if (!cell) return;
            cell.focus({ preventScroll: true });
        } else if (row < 0 && event.shiftKey && step)
            this.#setWidth(column, (this.state.widths[column] ?? 0) + step);
        else {
            const next = moved(this.position, event, {
                rows: data.table.matching,
                columns: data.table.columns.length,
                page: Math.max(1, Math.floor(this.scroll.view / this.row) - 1),
            });
            if (!next) return;
            this.#goTo(next);
        }
        event.preventDefault();
    }

    /** The cell below an element. @param {EventTarget | null} target */
    #placeOf(target) {
        const cell = target instanceof Element ? target.closest('[data-column]') : null;
        const { row, column } = cell instanceof HTMLElement ? cell.dataset : {};
        return column === undefined ? null : { row: Number(row), column: Number(column) };
    }

    /**
     * A press of the mouse selects a cell; dragging or Shift extends the selection.
     * @param {PointerEvent} event
     */
    #press(event) {
        const at = this.#placeOf(event.target);
        if (!at || event.button !== 0 || event.pointerType !== 'mouse') return;
        const extends_ = event.shiftKey && at.row >= 0 && this.position.anchor.row >= 0;
        this.#goTo(extends_ ? { at, anchor: this.position.anchor } : only(at.row, at.column), false);
        if (at.row < 0) return;
        const move = (/** @type {PointerEvent} */ now) => {
            const to = this.#placeOf(document.elementFromPoint(now.clientX, now.clientY));
            const { at: before, anchor } = this.position;
            if (to && to.row >= 0 && (to.row !== before.row || to.column !== before.column))
                this.#goTo({ at: to, anchor }, false);
        };
        addEventListener('pointermove', move);
        for (const end of ['pointerup', 'pointercancel'])
            addEventListener(end, () => removeEventListener('pointermove', move), { once: true });
    }

    /** A finger scrolls, so only a tap makes a cell active. @param {PointerEvent} event */
    #click(event) {
        const at = this.#placeOf(event.target);
        if (at && event.pointerType !== 'mouse' && event.detail > 0)
            this.#goTo(only(at.row, at.column), false);
    }

    /** Drags the edge of a column. @param {PointerEvent} event @param {number} column */
    #drag(event, column) {
        const edge = /** @type {HTMLElement} */ (event.currentTarget);
        if (event.button !== 0) return;
        event.preventDefault();
        event.stopPropagation();
        edge.setPointerCapture(event.pointerId);
        const [from, width] = [event.clientX, this.state.widths[column] ?? 0];
        const move = (/** @type {PointerEvent} */ now) => this.#setWidth(column, width + now.clientX - from);
        edge.addEventListener('pointermove', move);
        edge.addEventListener('lostpointercapture', () => edge.removeEventListener('pointermove', move), {
            once: true,
        });
    }

    /** @param {GridProps} props @param {GridState} state */
    render({ data, label, isStale }, { left, width, height, widths }) {
        const { table } = data;
        if (!table) return null;
        const view = Math.max(0, height - HEAD_HEIGHT);
        this.scroll.resize(table.matching * this.row, view);
        const { first, end } = this.#rowsInView();
        const pinned = this.#pinned();
        const columns = columnsInView(widths, pinned, left, width);
        /** The columns that have elements, with the room before each. */
        const shown = [
            ...widths.slice(0, pinned).map((_, column) => column),
            ...widths.slice(columns.first, columns.end).map((_, i) => columns.first + i),
        ];
        const edges = widths.slice(0, pinned).map((_, i) => widths.slice(0, i).reduce((a, b) => a + b, 0));
        const styleOf = (/** @type {number} */ column) =>
            `width:${widths[column]}px;${
                column < pinned
                    ? `position:sticky;left:${edges[column]}px;z-index:1`
                    : column === columns.first
                      ? `margin-left:${columns.before}px`
                      : ''
            }`;
        const { at } = this.position;
        const isActiveShown = shown.includes(at.column) && (at.row < 0 || (at.row >= first && at.row < end));
        const whole = Math.max(
            width,
            widths.reduce((sum, one) => sum + one, 0),
        );
        return html`
            <div class="grid" role="grid" tabindex="0" aria-label=${label} aria-multiselectable="true"
                aria-rowcount=${table.matching + 1} aria-colcount=${table.columns.length}
                aria-activedescendant=${isActiveShown ? this.#id(at.row, at.column) : null}
                data-stale=${isStale ? '' : null}
                ref=${(/** @type {HTMLElement | null} */ element) => (this.element = element)}
                onScroll=${() => this.#onScroll()}
                onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}
                onPointerDown=${(/** @type {PointerEvent} */ event) => this.#press(event)}
                onClick=${(/** @type {PointerEvent} */ event) => this.#click(event)}>
                <div style=${`width:${whole}px;height:${HEAD_HEIGHT + this.scroll.height}px`}>
                    <div class="grid-window" style=${`height:${height}px`}>
                        <div class="grid-heads" role="row" aria-rowindex="1" style=${`height:${HEAD_HEIGHT}px`}>
                            ${shown.map((column) => this.#head(column, styleOf(column)))}</div>
                        <div class="grid-rows" style=${`height:${view}px`}>
                            <div role="rowgroup"
                                style=${`transform:translateY(${first * this.row - this.scroll.top}px)`}>
                                ${Array.from({ length: end - first }, (_, i) =>
                                    this.#row(first + i, shown, styleOf),
                                )}</div>
                        </div>
                    </div>
                </div>
            </div>`;
    }

    /** @param {number} column @param {string} style */
    #head(column, style) {
        const { data, onSort, onFilter } = this.props;
        const { table, order, summaries } = data;
        const one = table?.columns[column];
        if (!one || !table) return null;
        const { sort, filters } = order;
        const way =
            sort?.column !== column
                ? 'none'
                : sort.descending
                  ? 'descending'
                  : /** @type {const} */ ('ascending');
        const summary = summaries?.columns[column];
        const name = shownName(one);
        const isFiltered = filters.some((filter) => filter.column === column);
        const isSample = Boolean(summaries?.sampled);
        const told = [name, one.dtype, ...(summary ? [summaryText(summary, isSample)] : [])].join(', ');
        const { at } = this.position;
        return html`<div class="grid-head" role="columnheader" key=${column} id=${this.#id(-1, column)}
            style=${style} aria-colindex=${column + 1} aria-sort=${way} aria-label=${told} title=${told}
            data-row="-1" data-column=${column} data-kind=${one.kind}
            data-active=${at.row < 0 && at.column === column ? '' : null}>
            <div class="grid-name">
                <button class="grid-sort" tabindex="-1" aria-label=${SAY.sortBy(name)}
                    onMouseDown=${keepFocus} onClick=${() => onSort(column)}><b>${name}</b>${
                        way !== 'none' && (way === 'descending' ? html`<${DownIcon} />` : html`<${UpIcon} />`)
                    }</button>
                <button class="grid-filter" tabindex="-1" aria-label=${SAY.filterColumn(name)}
                    title=${SAY.filterColumn(name)} aria-pressed=${isFiltered ? 'true' : 'false'}
                    onMouseDown=${keepFocus} onClick=${() => onFilter(column)}><${FilterIcon} /></button>
            </div>
            <div class="grid-type">${one.dtype}</div>
            <${ColumnSummaryView} summary=${summary} rows=${summaries?.sampled ?? table.matching}
                isSample=${isSample} />
            <div class="grid-edge" title=${SAY.width(name)}
                onPointerDown=${(/** @type {PointerEvent} */ event) => this.#drag(event, column)}
                onDblClick=${() => this.#fit(column)}></div>
        </div>`;
    }

    /** @param {number} row @param {number[]} shown @param {(column: number) => string} styleOf */
    #row(row, shown, styleOf) {
        const { data } = this.props;
        const texts = data.rows.at(row);
        const range = rangeOf(this.position);
        const { at } = this.position;
        return html`<div class="grid-row" role="row" key=${row} aria-rowindex=${row + 2}
            style=${`height:${this.row}px`} data-odd=${row % 2 ? '' : null}>${shown.map((column) => {
                const text = texts?.[column];
                const one = data.table?.columns[column];
                return html`<div class="grid-cell" role="gridcell" key=${column} id=${this.#id(row, column)}
                    style=${styleOf(column)} aria-colindex=${column + 1} data-row=${row} data-column=${column}
                    data-kind=${one?.kind} data-index=${one?.is_index ? '' : null}
                    data-missing=${texts && text === null ? '' : null}
                    aria-selected=${isIn(range, row, column) ? 'true' : 'false'}
                    data-active=${at.row === row && at.column === column ? '' : null}>${
                        !texts ? '…' : (text ?? SAY.missing)
                    }</div>`;
            })}</div>`;
    }
}

/** A click on a button of a header leaves the focus at the grid. @param {Event} event */
function keepFocus(event) {
    event.preventDefault();
    const grid = event.target instanceof Element ? event.target.closest('.grid') : null;
    if (grid instanceof HTMLElement) grid.focus({ preventScroll: true });
}

// @ts-check
// The rows of a sweep as a grid. Only the rows in view have elements. The grid has the focus, and
// keys move one active cell, as in the grid of a data frame.

import { Thumb } from '../graph/thumbnails.js';
import { moved, only } from '../table/grid-position.js';
import { RowScroll } from '../table/row-scroll.js';
import { DownIcon, UpIcon } from '../ui/icons.js';
import { Component, html } from '../vendor/preact.js';
import { textOf } from './sweep-rows.js';
import { TABLE_WORDS as SAY } from './sweep-words.js';

/** @typedef {import('./sweep-rows.js').TableRow} TableRow */
/** @typedef {import('./sweep-rows.js').Column} Column */
/** @typedef {import('./sweep-rows.js').ColumnKey} ColumnKey */
/**
 * @typedef {object} GridProps
 * @property {TableRow[]} rows in the order shown
 * @property {Column[]} columns
 * @property {import('./sweep-rows.js').Order | null} order
 * @property {string} label
 * @property {number | null} start the row where the cursor is first, by its index in the sweep
 * @property {number[]} picked the rows that the user has marked, by their indexes in the sweep
 * @property {(row: TableRow, isRange: boolean) => void} onPick called with a row to mark;
 *   `isRange`: whether Shift is down
 * @property {number | null} marked the row that the plot points at, by its index in the sweep
 * @property {(by: ColumnKey) => void} onSort
 * @property {(row: TableRow) => void} onGo
 * @property {(row: number | null) => void} onActive called with the row of the cursor
 * @property {(row: number | null) => void} onPoint called with the row below the pointer
 */

/** The height of the headers and of a row, in px; a finger needs more. */
const HEAD_HEIGHT = 36;
const rowHeight = () => (matchMedia('(pointer: coarse)').matches ? 44 : 32);
/** The rows with elements above and below those in view. */
const MARGIN = 4;
/** The average width of a character, and the limits and the padding of a column, in px. */
const CHARACTER = 7.4;
const WIDTH = { least: 56, most: 260, row: 112, picture: 60, error: 320 };
const PADDING = 40;

/** @param {number} row @param {number} column */
const idOf = (row, column) => `sweep-cell-${row}-${column}`;

/** @extends {Component<GridProps, {width: number, height: number}>} */
export class SweepGrid extends Component {
    state = { width: 0, height: 0 };
    position = only(
        Math.max(
            0,
            this.props.rows.findIndex(({ row }) => row === this.props.start),
        ),
        0,
    );
    /** Whether the cursor has still to be scrolled into view. */
    isNew = true;
    scroll = new RowScroll();
    row = rowHeight();
    /**
     * The width of each column, and the rows from which they were found. A column never becomes
     * narrower.
     * @type {{rows: TableRow[], widths: Map<ColumnKey, number>} | null}
     */
    measured = null;
    /** @type {HTMLElement | null} */
    element = null;

    componentDidMount() {
        const { element } = this;
        if (!element) return;
        this.watch = new ResizeObserver(() =>
            this.setState({ width: element.clientWidth, height: element.clientHeight }),
        );
        this.watch.observe(element);
        // The dialog opens right after this, and the browser then focuses its first button.
        queueMicrotask(() => element.focus({ preventScroll: true }));
    }

    componentWillUnmount() {
        this.watch?.disconnect();
    }

    /**
     * The cursor stays at its row when the rows are sorted again.
     * @param {GridProps} before
     */
    componentDidUpdate(before) {
        const { rows, order } = this.props;
        const { row, column } = this.position.at;
        if (this.isNew && this.state.height > 0) {
            this.isNew = false;
            this.#reveal();
        }
        const own = before.rows[row]?.row;
        if (before.order === order || own === undefined || rows[row]?.row === own) return;
        this.position = only(
            rows.findIndex((one) => one.row === own),
            column,
        );
        this.#reveal();
        this.forceUpdate();
    }

    #onScroll() {
        if (!this.element) return;
        this.scroll.onScroll(this.element.scrollTop);
        this.forceUpdate();
    }

    /** @param {import('../table/grid-position.js').Position} position */
    #goTo(position) {
        this.position = position;
        const { row } = position.at;
        this.props.onActive(row < 0 ? null : (this.props.rows[row]?.row ?? null));
        this.#reveal();
        this.forceUpdate();
    }

    #reveal() {
        const { element, scroll } = this;
        const { row, column } = this.position.at;
        if (!element) return;
        const y = row * this.row;
        if (row >= 0 && y < scroll.top) element.scrollTop = scroll.goTo(y);
        else if (row >= 0 && y + this.row > scroll.top + scroll.view)
            element.scrollTop = scroll.goTo(y + this.row - scroll.view);
        const widths = this.#widths();
        const sum = (/** @type {number} */ end) => widths.slice(0, end).reduce((all, one) => all + one, 0);
        const [from, to, edge] = [sum(column), sum(column + 1), widths[0] ?? 0];
        if (column === 0) element.scrollLeft = 0;
        else if (from < element.scrollLeft + edge) element.scrollLeft = from - edge;
        else if (to > element.scrollLeft + element.clientWidth) element.scrollLeft = to - element.clientWidth;
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        const { rows, columns, onSort, onGo, onPick } = this.props;
        const { row, column } = this.position.at;
        if (event.altKey || event.target !== this.element) return;
        const isPress = event.key === 'Enter' || (event.key === ' ' && row < 0);
        const own = rows[row];
        const key = columns[column]?.key;
        if (isPress && row < 0 && key) onSort(key);
        else if (isPress && own) onGo(own);
        else if (event.key === ' ' && own) onPick(own, event.shiftKey);
        else {
            const next = moved(this.position, event, {
                rows: rows.length,
                columns: columns.length,
                page: Math.max(1, Math.floor(this.scroll.view / this.row) - 1),
            });
            if (!next) return;
            this.#goTo({ at: next.at, anchor: next.at });
        }
        event.preventDefault();
    }

    /** A press on a button of a header leaves the focus at the grid. @param {Event} event */
    #keepFocus(event) {
        event.preventDefault();
        this.element?.focus({ preventScroll: true });
    }

    /** The row below an element, by its index in the sweep. @param {EventTarget | null} target */
    #rowOf(target) {
        const element = target instanceof Element ? target.closest('[data-row]') : null;
        return element instanceof HTMLElement ? Number(element.dataset.row) : null;
    }

    /** @param {MouseEvent} event */
    #click(event) {
        const row = this.#rowOf(event.target);
        const own = this.props.rows.find((one) => one.row === row);
        if (!own) return;
        const isBox = event.target instanceof Element && event.target.closest('.sweep-pick') !== null;
        const isMark = isBox || event.shiftKey || event.ctrlKey || event.metaKey;
        if (isMark) this.props.onPick(own, event.shiftKey);
        else this.props.onGo(own);
    }

    /** The widths of the columns, from their names and texts. */
    #widths() {
        const { rows, columns } = this.props;
        if (this.measured?.rows !== rows) this.measured = { rows, widths: this.#measure() };
        const { widths } = this.measured;
        const all = columns.map(({ key }) => widths.get(key) ?? WIDTH.least);
        // The last column takes the room that is left.
        const rest = this.state.width - all.reduce((sum, one) => sum + one, 0);
        return all.map((one, i) => (rest > 0 && i === all.length - 1 ? one + rest : one));
    }

    /** @returns {Map<ColumnKey, number>} */
    #measure() {
        const { rows, columns } = this.props;
        const widths = new Map(this.measured?.widths);
        for (const { key, name } of columns) {
            if (key === 'picture' || key === 'error') {
                widths.set(key, WIDTH[key]);
                continue;
            }
            const longest = rows.reduce((most, row) => Math.max(most, textOf(row, key).length), name.length);
            const wanted = Math.max(key === 'row' ? WIDTH.row : WIDTH.least, longest * CHARACTER + PADDING);
            widths.set(key, Math.round(Math.max(widths.get(key) ?? 0, Math.min(WIDTH.most, wanted))));
        }
        return widths;
    }

    /** @param {GridProps} props @param {{width: number, height: number}} state */
    render({ rows, columns, label, onPoint }, { width, height }) {
        const view = Math.max(0, height - HEAD_HEIGHT);
        this.scroll.resize(rows.length * this.row, view);
        const { top } = this.scroll;
        const first = Math.max(0, Math.floor(top / this.row) - MARGIN);
        const end = Math.min(rows.length, Math.ceil((top + view) / this.row) + MARGIN);
        const widths = this.#widths();
        const { at } = this.position;
        const isShown = at.row < 0 || (at.row >= first && at.row < end);
        const isOver = widths.reduce((all, one) => all + one, 0) > width;
        const last = Math.min(at.column, columns.length - 1);
        return html`<div class="grid-box">
            <div class="grid sweep-grid" role="grid" tabindex="0" aria-label=${label} aria-multiselectable="true"
                aria-rowcount=${rows.length + 1} aria-colcount=${columns.length} data-over=${isOver ? '' : null}
                aria-activedescendant=${isShown && rows.length ? idOf(at.row, last) : null}
                ref=${(/** @type {HTMLElement | null} */ element) => (this.element = element)}
                onScroll=${() => this.#onScroll()}
                onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}
                onClick=${(/** @type {MouseEvent} */ event) => this.#click(event)}
                onPointerOver=${(/** @type {PointerEvent} */ event) => onPoint(this.#rowOf(event.target))}
                onPointerLeave=${() => onPoint(null)}>
                <div class="sweep-heads" role="row" aria-rowindex="1">
                    ${columns.map((column, i) => this.#head(column, i, widths[i] ?? 0))}
                </div>
                <div class="sweep-rows" role="presentation" style=${`height:${rows.length * this.row}px`}>
                    ${rows.slice(first, end).map((row, i) => this.#row(row, first + i, widths))}
                </div>
            </div>
        </div>`;
    }

    /** @param {Column} column @param {number} at @param {number} width */
    #head({ key, name, isNumber }, at, width) {
        const { order, onSort } = this.props;
        const way = order?.by !== key ? 'none' : order.isDown ? 'descending' : 'ascending';
        const { row, column } = this.position.at;
        const canSort = key !== 'picture';
        return html`<div class="sweep-head" role="columnheader" key=${key} id=${idOf(-1, at)}
            aria-colindex=${at + 1} aria-sort=${canSort ? way : null} style=${`width:${width}px`}
            data-number=${isNumber ? '' : null} data-active=${row < 0 && column === at ? '' : null}>
            <button class="grid-sort" tabindex="-1" title=${SAY.sortBy(name)} disabled=${!canSort}
                onMouseDown=${(/** @type {Event} */ event) => this.#keepFocus(event)}
                onClick=${() => onSort(key)}><b>${name}</b>${
                    way !== 'none' && (way === 'descending' ? html`<${DownIcon} />` : html`<${UpIcon} />`)
                }</button>
        </div>`;
    }

    /** @param {TableRow} own @param {number} at @param {number[]} widths */
    #row(own, at, widths) {
        const { columns, marked, picked } = this.props;
        const isPicked = picked.includes(own.row);
        const { row, column } = this.position.at;
        return html`<div class="sweep-row" role="row" key=${own.row} aria-rowindex=${at + 2}
            data-row=${own.row} data-best=${own.isBest ? '' : null} data-status=${own.status}
            data-marked=${marked === own.row ? '' : null} aria-selected=${isPicked ? 'true' : 'false'}
            style=${`height:${this.row}px;transform:translateY(${at * this.row}px)`}>
            ${columns.map(({ key, isNumber }, i) => {
                const text = textOf(own, key);
                const isActive = row === at && Math.min(column, columns.length - 1) === i;
                const where = key === 'where' ? own.where : null;
                return html`<div class="sweep-cell" role="gridcell" key=${key} id=${idOf(at, i)}
                    aria-colindex=${i + 1} style=${`width:${widths[i]}px`} data-key=${key}
                    data-number=${isNumber ? '' : null} title=${where ? SAY.whereWhy[where] : text}
                    data-away=${where && where !== 'memory' ? '' : null} data-active=${isActive ? '' : null}>
                    ${
                        key === 'row' &&
                        own.state !== null &&
                        html`<span class="sweep-pick" aria-hidden="true" title=${SAY.mark(own.row)}
                        onMouseDown=${(/** @type {Event} */ event) => this.#keepFocus(event)}>
                        <input type="checkbox" tabindex="-1" checked=${isPicked} /></span>`
                    }
                    ${key === 'row' && own.isBest && html`<b class="sweep-best">${SAY.best}</b> `}
                    ${key === 'picture' ? own.picture && html`<${Thumb} run=${own.picture} />` : text}</div>`;
            })}
        </div>`;
    }
}

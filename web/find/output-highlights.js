// @ts-check
// Highlights matches in outputs. The outputs' elements stay as they are. The text of a table is in
// a frame, which marks its cells itself, or in a grid, which has elements only for cells in view.

import { frames } from '../outputs/frame.js';
import { grids as views } from '../table/data-grid.js';
import { piecesOf, rowOf } from './table-text.js';

/** @typedef {import('./matches.js').Span} Span */
/** @typedef {import('./searched-outputs.js').Searched} Searched */
/** @typedef {import('../outputs/frame.js').Frame} Frame */
/** @typedef {{searched: Searched, spans: Span[]}} Output A searched output and its matches. */
/**
 * @typedef {{cell: HTMLElement, outputs: Map<number, Output>}} FoundCell A cell with matches in its
 *   outputs, and those outputs by their indexes.
 */

/**
 * @typedef {{grid: import('../table/data-grid.js').DataGrid, element: Element, row: number,
 *   text: string}} InGrid A match in a row of a grid.
 */

/** What an output shows as text: printed text, or the message of an error. */
const TEXTS = '.stream > .text, .error-view > .title';
/** What marks a cell of a grid. */
const GRID_CELLS = '.grid-cell';

/** The frames with marks. @type {Set<Frame>} */
let framed = new Set();
/** The pieces of matches in tables. @type {WeakMap<Span[], import('./table-text.js').Piece[][]>} */
const pieces = new WeakMap();
/** The grids with marks. Their rows change when they scroll. @type {Set<Element>} */
let watched = new Set();
/** Marks the grids again. */
let again = () => {};
const watch = new MutationObserver(() => again());

/** The outputs of a cell that are shown. @param {HTMLElement} cell @returns {HTMLElement[]} */
const outputsOf = (cell) => [...cell.querySelectorAll(/** @type {'div'} */ ('.outputs > .output'))];

/**
 * Highlights all matches in the outputs of cells.
 * @param {import('./match-highlights.js').SpansOf | null} spansOf the matches in any other text;
 *   null removes all highlights
 * @param {FoundCell[]} cells
 * @param {{cell: HTMLElement, output: number, nth: number} | null} now the current match
 * @param {() => void} onGrid the rows of a grid have changed
 * @returns {HTMLElement | Range | Frame | InGrid | null} the current match. If it is not shown as
 *   text, its place in a grid, its frame or its output.
 */
export function markOutputs(spansOf, cells, now, onGrid) {
    /** @type {Range[]} */
    const all = [];
    /** @type {HTMLElement | Range | Frame | InGrid | null} */
    let here = null;
    /** Where the current match is, if it is in a grid. @type {InGrid | null} */
    let inGrid = null;
    const [before, grids] = [framed, /** @type {Set<Element>} */ (new Set())];
    framed = new Set();
    for (const { cell, outputs } of spansOf ? cells : []) {
        const shown = outputsOf(cell);
        for (const [i, { searched, spans }] of outputs) {
            const output = shown[i];
            const isHere = now?.cell === cell && now.output === i;
            const box = output?.querySelector(TEXTS);
            const ranges = box ? rangesIn(box, spans, searched.text) : [];
            for (const range of ranges) if (range) all.push(range);
            const grid = output?.querySelector('.grid');
            if (grid) grids.add(grid);
            const frame = searched.table && frames.get(output?.querySelector('.frame-place') ?? cell);
            if (frame) markFrame(frame, searched, spans, isHere ? now.nth : -1);
            if (isHere && grid) inGrid = placeInGrid(grid, searched, spans[now.nth]);
            // Of a collapsed run, nothing is shown.
            if (isHere)
                here =
                    ranges[now.nth] ??
                    frame ??
                    inGrid ??
                    output ??
                    cell.querySelector(/** @type {'div'} */ ('.outputs'));
        }
    }
    for (const frame of before) if (!framed.has(frame)) frame.mark(null);
    const inRows = spansOf ? gridRanges(grids, spansOf) : [];
    for (const range of inRows) all.push(range);
    watchGrids(grids, onGrid);
    const range = here instanceof Range ? [here] : inRows.filter((one) => isAt(one, inGrid)).slice(0, 1);
    paint('found', all);
    paint('found-here', range);
    for (const one of document.querySelectorAll('.outputs [data-found], .outputs[data-found]'))
        if (one !== here) one.removeAttribute('data-found');
    if (here instanceof HTMLElement) here.dataset.found = '';
    return here;
}

/**
 * The place of a match in a grid that shows all rows in their own order; else null.
 * @param {Element} element
 * @param {Searched} searched
 * @param {Span | undefined} span
 * @returns {InGrid | null}
 */
function placeInGrid(element, { text, table }, span) {
    const grid = views.get(element);
    const { order, table: all } = grid?.props.data ?? {};
    if (!grid || !all || !order || order.sort || order.filters.length > 0 || !table || !span) return null;
    const row = rowOf(table, span.from, all.total);
    return row === null ? null : { grid, element, row, text: text.slice(span.from, span.to) };
}

/** @param {Range} range @param {InGrid | null} place */
function isAt(range, place) {
    const cell = range.startContainer.parentElement;
    return place?.element.contains(cell) && cell?.dataset.row === `${place.row}` && `${range}` === place.text;
}

/** @param {Frame} frame @param {Searched} searched @param {Span[]} spans @param {number} here */
function markFrame(frame, { table }, spans, here) {
    framed.add(frame);
    let found = pieces.get(spans);
    if (table && !found) {
        found = spans.map((span) => piecesOf(table, span));
        pieces.set(spans, found);
    }
    if (frame.found?.pieces !== found || frame.found?.here !== here)
        frame.mark(found ? { pieces: found, here } : null);
}

/** @param {Set<Element>} grids @param {import('./match-highlights.js').SpansOf} spansOf */
function gridRanges(grids, spansOf) {
    return [...grids].flatMap((grid) =>
        [...grid.querySelectorAll(GRID_CELLS)].flatMap((cell) => {
            const text = cell.textContent ?? '';
            return rangesIn(cell, spansOf(text) ?? [], text).filter((range) => range !== null);
        }),
    );
}

/** @param {Set<Element>} grids @param {() => void} onGrid */
function watchGrids(grids, onGrid) {
    again = onGrid;
    if (grids.size === watched.size && [...grids].every((one) => watched.has(one))) return;
    watched = grids;
    watch.disconnect();
    for (const grid of grids) watch.observe(grid, { childList: true, characterData: true, subtree: true });
}

/** @param {string} name @param {Range[]} ranges */
function paint(name, ranges) {
    // Older browsers cannot highlight, but they count and scroll.
    if (!('highlights' in CSS)) return;
    if (ranges.length === 0) CSS.highlights.delete(name);
    else {
        const marks = new Highlight(...ranges);
        marks.priority = name === 'found' ? 0 : 1;
        CSS.highlights.set(name, marks);
    }
}

/**
 * The matches in an element's text. Null for a match that the element does not show: a long output
 * is painted in parts.
 * @param {Element} box
 * @param {Span[]} spans
 * @param {string} searched the text that has these matches
 */
function rangesIn(box, spans, searched) {
    if (spans.length === 0) return [];
    /** @type {{node: Text, from: number}[]} */
    const nodes = [];
    let text = '';
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = /** @type {Text} */ (walker.currentNode);
        nodes.push({ node, from: text.length });
        text += node.data;
    }
    let at = 0;
    return spans.map(({ from, to }) => {
        if (text.slice(from, to) !== searched.slice(from, to)) return null;
        while (at + 1 < nodes.length && (nodes[at + 1]?.from ?? 0) <= from) at += 1;
        let end = at;
        while (end + 1 < nodes.length && (nodes[end + 1]?.from ?? 0) < to) end += 1;
        const [first, last] = [nodes[at], nodes[end]];
        if (!first || !last) return null;
        const range = new Range();
        range.setStart(first.node, from - first.from);
        range.setEnd(last.node, to - last.from);
        return range;
    });
}

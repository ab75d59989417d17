// @ts-check
// The edges between nodes, drawn only near the viewport.

import { html } from '../vendor/preact.js';
import { statusOf } from './node-mark.js';
import { ROW, spot } from './geometry.js';

/** @typedef {import('./scene.js').Row} Row */

/**
 * Edges whose ends are both outside the viewport are not drawn in lanes beyond this one: those
 * lanes are too narrow.
 */
const LEGIBLE = 12;

/**
 * @param {Row[]} rows
 * @param {number} first
 * @param {number} last `first` and `last`: the painted rows
 * @param {(row: Row) => boolean} isOnLine
 */
export function edgesOf(rows, first, last, isOnLine) {
    /** @type {any[]} */
    const other = [];
    /** @type {any[]} */
    const own = [];
    for (const [i, row] of rows.slice(first).entries()) {
        const at = first + i;
        const { from, lane } = row.place;
        const parent = rows[from];
        if (!parent || from > last) continue;
        const passes = at > last && from < first;
        const isOwn = isOnLine(row);
        if (passes && lane > LEGIBLE && !isOwn) continue;
        (isOwn ? own : other).push(
            html`<path key=${row.node.run?.exec_id ?? row.id} class="edge" data-line=${isOwn ? '' : null}
                data-beside=${row.place.beside ? '' : null}
                data-status=${row.fold ? null : statusOf(row.node)}
                d=${pathTo(row, parent, first, last)} />`,
        );
    }
    // The current lineage is drawn on top.
    return [...other, ...own];
}

/**
 * The path of an edge: first sideways into the child's lane, then straight down. Parts far outside
 * the viewport are cut off. All paths have the same segments, so that CSS can animate them.
 * @param {Row} row
 * @param {Row} parent
 * @param {number} first
 * @param {number} last
 */
function pathTo(row, parent, first, last) {
    const from = spot(parent.place);
    const to = spot(row.place);
    const end = Math.min(to.y, (last + 2) * ROW);
    if (row.place.beside) {
        const bend = to.y - ROW / 2;
        const start = Math.max(from.y, Math.min(bend, (first - 2) * ROW));
        return (
            `M${from.x} ${start}L${from.x} ${bend}` +
            `C${from.x} ${to.y - 4} ${from.x + 2} ${to.y} ${to.x} ${to.y}`
        );
    }
    if (parent.place.row < first - 2)
        return (
            `M${to.x} ${(first - 2) * ROW}C${to.x} ${(first - 2) * ROW} ${to.x} ${(first - 1) * ROW} ` +
            `${to.x} ${(first - 1) * ROW}L${to.x} ${end}`
        );
    return (
        `M${from.x} ${from.y}C${from.x} ${from.y + ROW * 0.6} ${to.x} ${from.y + ROW * 0.4} ` +
        `${to.x} ${from.y + ROW}L${to.x} ${end}`
    );
}

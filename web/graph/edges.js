// @ts-check
// Draws the lines between nodes, but only near the viewport. A line goes straight down from a node
// to the child in its lane. The branches of the node leave this line to the right.

import { html } from '../vendor/preact.js';
import { statusOf } from './node-mark.js';
import { ROW, laneX, rowY } from './geometry.js';

/** @typedef {import('./scene.js').Row} Row */
/**
 * @typedef {Map<number, number>} Line the rows of the current lineage; for each, the next row of
 *   the lineage, -1 for the last
 */
/**
 * @typedef {{key: string, d: string, colour: number, isOwn: boolean, status: string | null}} Edge
 */

/** The distance of second edges from the left edge of the graph, in px. */
const MARGIN = 4;
/** The radius of the bend where a branch leaves the line. */
const BEND = 9;

/**
 * @param {Row[]} rows
 * @param {number} first the first painted row
 * @param {number} last the last painted row
 * @param {Line} line
 */
export function edgesOf(rows, first, last, line) {
    const painted = rows.slice(first, last + 1);
    const clip = { top: (first - 2) * ROW, bottom: (last + 2) * ROW };
    const bends = painted.flatMap((row) => bendTo(row, rows[row.place.from], line));
    const edges = [
        ...[...painted, ...ancestors(rows, painted[0])].flatMap((row) => below(row, rows, line, clip)),
        ...bends,
    ];
    // Later elements are on top, so the current lineage comes last.
    return [...edges.filter(({ isOwn }) => !isOwn), ...edges.filter(({ isOwn }) => isOwn)].map(
        ({ key, d, colour, isOwn, status }) => html`<path key=${key} class="edge" d=${d}
            data-branch=${colour} data-line=${isOwn ? '' : null} data-status=${status} />`,
    );
}

/**
 * The shown ancestors of a row. Of the nodes above the viewport, only they have lines in it.
 * @param {Row[]} rows
 * @param {Row | undefined} row
 */
function ancestors(rows, row) {
    const above = [];
    for (let at = row && rows[row.place.from]; at; at = rows[at.place.from]) above.push(at);
    return above;
}

/**
 * The vertical lines below a node: to its last branch, and from there to the child in its lane; on
 * top, the part that the current lineage uses.
 * @param {Row} row
 * @param {Row[]} rows
 * @param {Line} line
 * @param {{top: number, bottom: number}} clip the part of the graph that is drawn
 * @returns {Edge[]}
 */
function below(row, rows, line, clip) {
    const { lane, colour, straight, lastBranch } = row.place;
    const top = rowY(row.place.row);
    const forked = lastBranch < 0 ? top : rowY(lastBranch) - BEND;
    const child = rows[straight];
    const next = line.get(row.place.row) ?? -1;
    const own = next < 0 ? top : next === straight ? rowY(next) : rowY(next) - BEND;
    const parts = [
        { part: 'branches', from: top, to: forked, isOwn: false, status: null },
        child && {
            part: 'straight',
            from: forked,
            to: rowY(straight),
            isOwn: false,
            status: shownStatus(child),
        },
        { part: 'own', from: top, to: own, isOwn: true, status: child ? shownStatus(child) : null },
    ];
    return parts.flatMap((one) => {
        if (!one) return [];
        const [from, to] = [Math.max(one.from, clip.top), Math.min(one.to, clip.bottom)];
        const d = `M${laneX(lane)} ${from}V${to}`;
        const { isOwn, status } = one;
        return from < to ? [{ key: `${keyOf(row)} ${one.part}`, d, colour, isOwn, status }] : [];
    });
}

/**
 * The bend from the lane of the parent to a branch.
 * @param {Row} row
 * @param {Row | undefined} parent
 * @param {Line} line
 * @returns {Edge[]}
 */
function bendTo(row, parent, line) {
    if (!parent || parent.place.lane === row.place.lane) return [];
    const [from, to, y] = [laneX(parent.place.lane), laneX(row.place.lane), rowY(row.place.row)];
    const d = `M${from} ${y - BEND}Q${from} ${y} ${from + BEND} ${y}H${to}`;
    const { colour, row: at } = row.place;
    return [{ key: keyOf(row), d, colour, isOwn: line.has(at), status: shownStatus(row) }];
}

/**
 * The second edges of states that took variables: from the state that gave them along the left
 * margin, so that they cross no text.
 * @param {Row[]} rows
 * @param {import('./scene.js').Taking[]} takings
 * @param {number} first the first painted row
 * @param {number} last the last painted row
 */
export function takenEdges(rows, takings, first, last) {
    return takings.flatMap(({ from, to }) => {
        const [source, target] = [rows[from], rows[to]];
        if (!source || !target || Math.max(from, to) < first || Math.min(from, to) > last) return [];
        const turn = from < to ? BEND : -BEND;
        const d =
            `M${laneX(source.place.lane)} ${rowY(from)}H${MARGIN + BEND}` +
            `Q${MARGIN} ${rowY(from)} ${MARGIN} ${rowY(from) + turn}V${rowY(to) - turn}` +
            `Q${MARGIN} ${rowY(to)} ${MARGIN + BEND} ${rowY(to)}H${laneX(target.place.lane)}`;
        return html`<path key=${`taken ${keyOf(target)}`} class="taken-edge" d=${d} />`;
    });
}

/** @param {Row} row */
const shownStatus = (row) => (row.fold ? null : statusOf(row.node));

/** @param {Row} row */
const keyOf = (row) => row.node.run?.exec_id ?? row.id;

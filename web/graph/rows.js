// @ts-check
// Renders the rows, edges and marks of the graph that are near the viewport.

import { html } from '../vendor/preact.js';
import { edgesOf, takenEdges } from './edges.js';
import { Mark } from './node-mark.js';
import { comparedIn, othersByState, revsOf } from './row-annotations.js';
import { letterOf } from '../compare/compare-command-words.js';
import { GraphRow } from './graph-row.js';
import { ROW, laneX, textLeft, widthOf } from './geometry.js';

/** @typedef {import('./scene.js').Row} Row */

/**
 * @typedef {object} Seen
 * @property {import('./scene.js').Scene} scene
 * @property {import('../notebook/page.js').Page} page
 * @property {import('./node-search.js').Hit[] | null} hits null if no search is active
 * @property {number} first the first painted row
 * @property {number} last the last painted row
 * @property {number} cursorAt the row with the keyboard cursor; -1 for none
 * @property {(node: Row['node']) => boolean} isNew
 */

/** @param {Seen} seen */
export function renderRows({ scene, page, hits, first, last, cursorAt, isNew }) {
    const { model } = page;
    const { rows } = scene;
    const at = page.attempt ?? page.here;
    const line = lineOf(scene, at);
    const [standing, compared] = [othersByState(page), comparedIn(page)];
    const found = hits && new Map(hits.map((hit) => [hit.at, hit]));
    const shown = rows.slice(first, last + 1);
    const isOnLine = (/** @type {Row} */ row) => line.has(row.place.row);
    // People at rows of a folded sweep.
    const inside = (/** @type {Row} */ { place }) =>
        [...standing].flatMap(([state, people]) => (scene.rowAt(state) === place.row ? people : []));
    const isHere = (/** @type {Row} */ row) => row.place.row === scene.rowAt(at) && !row.fold;
    /** @type {Map<Row, string>} */
    const stamps = new Map();
    return html`
        <div class="rows" role="presentation" data-found=${found ? '' : null}
            style=${{ height: `${rows.length * ROW}px`, minWidth: `${widthOf(scene.lanes)}px` }}>
            ${shown.map((row) => {
                const { id } = row.node;
                const hit = found?.get(row.node.at);
                const looks = {
                    left: textLeft(row.place.lane),
                    siblings: rows[row.place.from]?.place.children ?? 1,
                    isHere: isHere(row),
                    isOnLine: isOnLine(row),
                    isCursor: row.place.row === cursorAt,
                    letter: compared.includes(id) ? letterOf(compared.indexOf(id)) : '',
                    isFiltered: scene.found !== null,
                    isDim: found !== null && (!hit || row.fold !== null),
                    changes: hit?.changes ?? null,
                    people: row.node.sweep ? inside(row) : (standing.get(id) ?? []),
                };
                const shape = [row.place, row.fold?.length, row.closed];
                const stamp = JSON.stringify([shape, looks, revsOf(row.node, model)]);
                stamps.set(row, stamp);
                return html`<${GraphRow} key=${keyOf(row)} row=${row} model=${model} stamp=${stamp}
                    ...${looks} />`;
            })}
            <svg class="lanes" aria-hidden="true"
                style=${{ top: `${first * ROW}px` }} width=${laneX(scene.lanes)}
                height=${Math.max(0, last - first + 1) * ROW}>
                <g transform=${`translate(0 ${-first * ROW})`}>
                    ${takenEdges(rows, scene.takings, first, last)}
                    ${edgesOf(rows, first, last, line)}
                    ${shown.map(
                        (row) => html`<${Mark} key=${keyOf(row)} row=${row} stamp=${stamps.get(row)}
                        progress=${model.replays.get(row.node.id)} isHere=${isHere(row)}
                        isOnLine=${isOnLine(row)} isNew=${isNew(row.node)} />`,
                    )}
                </g>
            </svg>
        </div>`;
}

/**
 * The rows from the root to a node.
 * @param {import('./scene.js').Scene} scene
 * @param {string} at
 * @returns {import('./edges.js').Line}
 */
function lineOf(scene, at) {
    const line = new Map();
    let next = -1;
    for (let row = scene.rows[scene.rowAt(at)]; row; row = scene.rows[row.place.from]) {
        line.set(row.place.row, next);
        next = row.place.row;
    }
    return line;
}

/**
 * The key of a row for Preact. The key does not change when a run creates a state, so that Preact
 * reuses the row's element.
 * @param {Row} row
 */
const keyOf = (row) => (row.fold ? row.id : (row.node.run?.exec_id ?? row.id));

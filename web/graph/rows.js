// @ts-check
// Renders the rows and edges of the graph near the viewport.

import { html } from '../vendor/preact.js';
import { edgesOf } from './edges.js';
import { Mark } from './node-mark.js';
import { comparedIn, othersByState } from './row-annotations.js';
import { GraphRow } from './graph-row.js';
import { ROW, textLeft } from './geometry.js';

/** @typedef {import('./scene.js').Row} Row */

/**
 * @typedef {object} Seen
 * @property {import('./scene.js').Scene} scene
 * @property {import('../notebook/page.js').Page} page
 * @property {import('./node-search.js').Hit[] | null} hits null without a search
 * @property {number} first
 * @property {number} last the last painted row
 * @property {number} cursorAt the row with the keyboard cursor; -1 for none
 * @property {(node: Row['node']) => boolean} isNew
 * @property {boolean} slides whether lanes are moving
 */

/** @param {Seen} seen */
export function renderRows({ scene, page, hits, first, last, cursorAt, isNew, slides }) {
    const { model } = page;
    const { rows } = scene;
    const at = page.attempt ?? page.here;
    const line = lineOf(scene, at);
    const left = textLeft(scene.layout.lanes.count);
    const [standing, going, compared] = [othersByState(page), page.pendingDeletion, comparedIn(page)];
    const found = hits && new Map(hits.map((hit) => [hit.at, hit]));
    const shown = rows.slice(first, last + 1);
    const isOnLine = (/** @type {Row} */ row) => line.has(row.node.at);
    const isHere = (/** @type {Row} */ row) => row.node.id === at && !row.fold;
    return html`
        <div class="rows" role="presentation" style=${{ height: `${rows.length * ROW}px` }}>
            ${shown.map((row) => {
                const { id } = row.node;
                const hit = found?.get(row.node.at);
                const looks = {
                    left,
                    count: rows.length,
                    isHere: isHere(row),
                    isOnLine: isOnLine(row),
                    isCursor: row.place.row === cursorAt,
                    isGoing: going.has(id),
                    isCompared: compared.includes(id),
                    isDim: found !== null && (!hit || row.fold !== null),
                    changes: hit?.changes ?? null,
                    people: standing.get(id) ?? [],
                };
                const { name, lead } = row.node;
                const stamp = JSON.stringify([
                    model.marksRev,
                    row.place.row,
                    row.fold?.length,
                    name,
                    lead,
                    looks,
                ]);
                return html`<${GraphRow} key=${keyOf(row)} row=${row} model=${model} stamp=${stamp}
                    ...${looks} />`;
            })}
            <svg class="lanes" aria-hidden="true" data-slid=${slides ? '' : null}
                style=${{ top: `${first * ROW}px` }} width=${left}
                height=${Math.max(0, last - first + 1) * ROW}>
                <g transform=${`translate(0 ${-first * ROW})`}>
                    ${edgesOf(rows, first, last, isOnLine)}
                    ${shown.map(
                        (row) => html`<${Mark} key=${keyOf(row)} row=${row}
                        progress=${model.replays.get(row.node.id)} isHere=${isHere(row)}
                        isOnLine=${isOnLine(row)} isNew=${isNew(row.node)} />`,
                    )}
                </g>
            </svg>
        </div>`;
}

/**
 * The nodes from the root to a node.
 * @param {import('./scene.js').Scene} scene
 * @param {string} at
 * @returns {Set<number>}
 */
function lineOf({ nodes }, at) {
    const line = new Set();
    for (let node = nodes.get(at); node; node = nodes.list[node.from]) line.add(node.at);
    return line;
}

/**
 * The key of a row. It stays equal when a run becomes a state, so that the element is reused.
 * @param {Row} row
 */
const keyOf = (row) => (row.fold ? row.id : (row.node.run?.exec_id ?? row.id));

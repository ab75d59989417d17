// @ts-check
// The entries of the outline: the headings of the text cells, the cells of labelled states and, on
// request, all other code cells. Pure.

import { isText, kindOf, runOf, textOf } from '../notebook/cell-list.js';
import { hiding } from '../notebook/sections.js';
import { hasEnded } from '../shell/protocol.js';
import { firstLine } from '../text/format.js';
import { headingsIn } from '../text/headings.js';

/** @typedef {import('../notebook/cell-list.js').Cell} Cell */
/** @typedef {import('../notebook/sections.js').Section} Section */
/** @typedef {'' | 'failed' | 'queued' | 'running'} Status */
/**
 * @typedef {object} Entry
 * @property {string} id
 * @property {string} key the cell's key
 * @property {number} index of a heading among those of its cell
 * @property {number} depth how many headings are around it
 * @property {boolean} isHeading
 * @property {boolean} isLabel whether `text` is the label of the cell's state
 * @property {string} text
 * @property {number | null} number of a cell that ran
 * @property {Status} status of a cell; of a heading: of all cells below it that have no visible
 *   entry nearer to them
 * @property {Section | null} section the section that the entry's cell begins
 */

/** The statuses, the most urgent last. @type {Status[]} */
const URGENCY = ['', 'failed', 'queued', 'running'];

/**
 * The visible entries, in the order of the cells.
 * @param {Cell[]} cells
 * @param {import('../notebook/sections.js').Sections} sections
 * @param {boolean} showsCells
 * @returns {Entry[]}
 */
export function outlineOf(cells, sections, showsCells) {
    /** @type {Entry[]} */
    const entries = [];
    /** The headings around the current cell, outermost first. @type {{level: number}[]} */
    let around = [];
    for (const cell of cells) {
        const isHidden = hiding(sections, cell.key).length > 0;
        if (isText(cell)) {
            const headings = kindOf(cell) === 'markdown' ? headingsIn(textOf(cell)) : [];
            for (const [index, { level, text }] of headings.entries()) {
                around = around.filter((one) => one.level < level);
                if (!isHidden)
                    entries.push({
                        id: `${cell.key} ${index}`,
                        key: cell.key,
                        index,
                        depth: around.length,
                        isHeading: true,
                        isLabel: false,
                        text,
                        number: null,
                        status: '',
                        section: index === 0 ? (sections.byKey.get(cell.key) ?? null) : null,
                    });
                around.push({ level });
            }
            continue;
        }
        const status = statusOf(cell);
        const label = cell.kind === 'ran' ? cell.state.label : null;
        if ((label || (showsCells && textOf(cell).trim())) && !isHidden)
            entries.push({
                id: cell.key,
                key: cell.key,
                index: 0,
                depth: around.length,
                isHeading: false,
                isLabel: label !== null,
                text: label ?? firstLine(textOf(cell)),
                number: cell.kind === 'ran' ? cell.state.exec_count : null,
                status,
                section: null,
            });
        else if (status) warn(entries, status);
    }
    return entries;
}

/** @param {Entry[]} entries @param {Status} status of a cell without an entry */
function warn(entries, status) {
    const heading = entries.findLast(({ isHeading }) => isHeading);
    if (heading && URGENCY.indexOf(status) > URGENCY.indexOf(heading.status)) heading.status = status;
}

/** @param {Cell} cell @returns {Status} */
function statusOf(cell) {
    if (cell.isAsked) return 'queued';
    const status = runOf(cell)?.status;
    if (status === undefined || status === 'ok' || status === 'imported') return '';
    return hasEnded(status) ? 'failed' : /** @type {Status} */ (status);
}

/**
 * The entry of a cell or, if it has none, the last entry above it.
 * @param {Entry[]} entries
 * @param {Cell[]} cells
 * @param {string | null} key
 * @returns {number} its index, or -1
 */
export function entryAt(entries, cells, key) {
    const own = entries.findIndex((entry) => entry.key === key);
    if (own >= 0 || key === null) return own;
    const above = new Set();
    for (const cell of cells) {
        if (cell.key === key) break;
        above.add(cell.key);
    }
    return entries.findLastIndex((entry) => above.has(entry.key));
}

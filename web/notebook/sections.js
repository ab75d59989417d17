// @ts-check
// Sections: a text cell that begins with a heading, and all cells up to the next heading of the
// same or a higher level. A collapsed section hides its cells. Pure.

import { hasEnded } from '../shell/protocol.js';
import { headingsIn } from '../text/headings.js';
import { kindOf, runOf, textOf } from './cell-list.js';

/** @typedef {import('./cell-list.js').Cell} Cell */
/**
 * @typedef {object} Section
 * @property {string} id identifies the section while cells run and branches change: its heading,
 *   and a number if an earlier section has the same heading
 * @property {string} key the key of the heading's cell
 * @property {number} level
 * @property {Section | null} parent
 * @property {number} count the cells in the section, without the heading's own
 * @property {number} open the cells in the section that run or wait
 * @property {number} failed the cells in the section that failed or were stopped
 * @property {boolean} isFolded
 */

/**
 * @typedef {object} Sections
 * @property {Map<string, Section>} byKey the sections, by the keys of their headings' cells
 * @property {Map<string, Section>} around the innermost section around a cell, by the cell's key
 * @property {Set<string>} hidden the keys of the cells that collapsed sections hide
 */

/**
 * The heading that makes a cell begin a section.
 * @param {Cell} cell
 */
const headingOf = (cell) => (kindOf(cell) === 'markdown' ? headingsIn(textOf(cell))[0] : undefined);

/**
 * @param {Cell[]} cells
 * @param {(id: string) => boolean} isFolded
 * @returns {Sections}
 */
export function sectionsOf(cells, isFolded) {
    /** @type {Sections} */
    const found = { byKey: new Map(), around: new Map(), hidden: new Set() };
    /** @type {Map<string, number>} */
    const names = new Map();
    /** @type {Section | null} */
    let section = null;
    for (const cell of cells) {
        const heading = headingOf(cell);
        while (heading && section && section.level >= heading.level) section = section.parent;
        // The empty cell at the end belongs to no section: a user can always type there.
        if (cell.kind === 'draft' && cell.isFresh) continue;
        if (section) {
            found.around.set(cell.key, section);
            count(section, cell);
            if (isHiddenIn(section)) found.hidden.add(cell.key);
        }
        if (!heading) continue;
        const name = `${'#'.repeat(heading.level)} ${heading.text}`;
        const number = (names.get(name) ?? 0) + 1;
        names.set(name, number);
        const id = number === 1 ? name : `${name} (${number})`;
        section = {
            id,
            key: cell.key,
            level: heading.level,
            parent: section,
            count: 0,
            open: 0,
            failed: 0,
            isFolded: isFolded(id),
        };
        found.byKey.set(cell.key, section);
    }
    return found;
}

/** @param {Section | null} section @param {Cell} cell */
function count(section, cell) {
    const status = cell.isAsked ? 'queued' : (runOf(cell)?.status ?? 'ok');
    const isFailed = status === 'error' || status === 'interrupted' || status === 'crashed';
    for (let one = section; one; one = one.parent) {
        one.count += 1;
        if (!hasEnded(status)) one.open += 1;
        else if (isFailed) one.failed += 1;
    }
}

/** @param {Section | null} section @returns {boolean} */
const isHiddenIn = (section) => section !== null && (section.isFolded || isHiddenIn(section.parent));

/**
 * The collapsed sections that hide a cell.
 * @param {Sections} sections
 * @param {string} key
 * @returns {Section[]}
 */
export function hiding({ around }, key) {
    const found = [];
    for (let one = around.get(key) ?? null; one; one = one.parent) if (one.isFolded) found.push(one);
    return found;
}

// @ts-check
// The sections of the notebook, and which of them are collapsed. A collapsed section hides its
// cells.

import { foldedSections } from './folds.js';
import { hiding, sectionsOf } from '../notebook/sections.js';

/** @typedef {import('../notebook/cell-list.js').Cell} CellData */
/**
 * @typedef {object} CellPage What the sections, the focus and the selection need from the page.
 * @property {() => CellData[]} cells the cells shown
 * @property {{paintNow: () => void}} host
 * @property {{onMoved: () => void}} presence
 */

export class SectionFolds {
    /** @param {CellPage} page */
    constructor(page) {
        this.page = page;
    }

    /** The sections of some cells, and the cells that collapsed ones hide. */
    of(cells = this.page.cells()) {
        return sectionsOf(cells, (id) => foldedSections.has(id));
    }

    /** The cells that no collapsed section hides. @returns {CellData[]} */
    shownCells(cells = this.page.cells()) {
        const { hidden } = this.of(cells);
        return hidden.size ? cells.filter(({ key }) => !hidden.has(key)) : cells;
    }

    /** Collapses or expands sections. @param {string[]} ids @param {boolean} isFolded */
    set(ids, isFolded) {
        for (const id of ids) foldedSections.set(id, isFolded);
        if (ids.length) this.page.host.paintNow();
    }

    /** Expands the collapsed sections that hide a cell. @param {string} key */
    reveal(key) {
        this.set(
            hiding(this.of(), key).map(({ id }) => id),
            false,
        );
    }
}

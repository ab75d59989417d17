// @ts-check
// The rows of a table that the page has, and which ones to request next. Pure.

/** The number of rows that one request asks for. */
export const PAGE = 100;
/** The number of rows that the page keeps. */
export const KEPT = 5000;

/** @typedef {(string | null)[]} Row The texts of a row; null for a missing value. */

export class LoadedRows {
    /** @type {Map<number, Row>} by their position in the sorted and filtered table */
    rows = new Map();

    clear() {
        this.rows.clear();
    }

    /**
     * Adds rows. Beyond `KEPT` rows, forgets those that were added first.
     * @param {number} from
     * @param {Row[]} rows
     */
    add(from, rows) {
        for (const [i, row] of rows.entries()) {
            this.rows.delete(from + i);
            this.rows.set(from + i, row);
        }
        for (const at of this.rows.keys()) {
            if (this.rows.size <= KEPT) break;
            this.rows.delete(at);
        }
    }

    /** @param {number} at */
    at(at) {
        return this.rows.get(at);
    }

    /**
     * The request for the first missing rows among those in view; null if none is missing. It
     * begins at a multiple of `PAGE`, if those rows are missing as well, because users scroll in
     * both directions.
     * @param {number} first
     * @param {number} end the position after the last row in view
     * @returns {{offset: number, limit: number} | null}
     */
    missing(first, end) {
        let at = first;
        while (at < end && this.rows.has(at)) at += 1;
        if (at >= end) return null;
        let offset = at;
        const begin = at - (at % PAGE);
        while (offset > begin && !this.rows.has(offset - 1)) offset -= 1;
        return { offset, limit: PAGE };
    }
}

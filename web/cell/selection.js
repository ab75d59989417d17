// @ts-check
// The selection of cells in command mode: one cell or a range of cells. Pure.

export class Selection {
    /** The cell where the range began. @type {string | null} */
    anchor = null;
    /** The focused cell, where the range ends. @type {string | null} */
    head = null;

    /** Selects one cell. @param {string | null} key */
    only(key) {
        this.anchor = key;
        this.head = key;
    }

    /**
     * Extends the range to a cell.
     * @param {string} from where the range begins if no cell is selected yet
     * @param {string} to
     */
    extend(from, to) {
        this.anchor ??= from;
        this.head = to;
    }

    /**
     * Selects a range of cells.
     * @param {string[]} keys in order
     * @param {string} head the focused one, at either end
     */
    range(keys, head) {
        this.head = head;
        this.anchor = (head === keys[0] ? keys.at(-1) : keys[0]) ?? head;
    }

    /**
     * Selects a cell that received the focus, unless the range already ends there.
     * @param {string | null} key
     */
    moved(key) {
        if (key !== this.head) this.only(key);
    }

    /**
     * The keys of the selected cells, in order.
     * @param {string[]} all the keys of all cells
     * @returns {string[]}
     */
    keys(all) {
        const [from, to] = [all.indexOf(this.anchor ?? ''), all.indexOf(this.head ?? '')];
        if (to < 0) return [];
        return from < 0 ? all.slice(to, to + 1) : all.slice(Math.min(from, to), Math.max(from, to) + 1);
    }
}

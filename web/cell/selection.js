// @ts-check
// The cells selected in command mode: one, or a range. Pure.

export class Selection {
    /** The cell where the range began. @type {string | null} */
    anchor = null;
    /** The focused cell. @type {string | null} */
    head = null;

    /** Selects one cell. @param {string | null} key */
    only(key) {
        this.anchor = key;
        this.head = key;
    }

    /**
     * Extends the range to a cell.
     * @param {string} from where the range begins, if there is none yet
     * @param {string} to
     */
    extend(from, to) {
        this.anchor ??= from;
        this.head = to;
    }

    /** The focus moved without extending the range. @param {string | null} key */
    moved(key) {
        if (key !== this.head) this.only(key);
    }

    /** The selected cells, in order. @param {string[]} all @returns {string[]} */
    keys(all) {
        const [from, to] = [all.indexOf(this.anchor ?? ''), all.indexOf(this.head ?? '')];
        if (to < 0) return [];
        return from < 0 ? all.slice(to, to + 1) : all.slice(Math.min(from, to), Math.max(from, to) + 1);
    }
}

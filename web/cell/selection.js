// @ts-check
// Which cells are selected in command mode: one, or a row of them. Pure.

export class Selection {
    /** Where a longer selection began. @type {string | null} */
    anchor = null;
    /** The cell that has the focus. @type {string | null} */
    head = null;

    /** One cell. @param {string | null} key */
    only(key) {
        this.anchor = key;
        this.head = key;
    }

    /** Up to a cell. @param {string} from where it begins, unless it has begun @param {string} to */
    extend(from, to) {
        this.anchor ??= from;
        this.head = to;
    }

    /** The focus came to a cell by another way than by extending. @param {string | null} key */
    moved(key) {
        if (key !== this.head) this.only(key);
    }

    /** The selected cells, in their order. @param {string[]} all @returns {string[]} */
    keys(all) {
        const [from, to] = [all.indexOf(this.anchor ?? ''), all.indexOf(this.head ?? '')];
        if (to < 0) return [];
        return from < 0 ? [all[to]] : all.slice(Math.min(from, to), Math.max(from, to) + 1);
    }
}

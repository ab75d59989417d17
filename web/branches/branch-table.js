// @ts-check
// The table of branches, as far as the page needs it before the table is loaded: whether it is
// open, and what the user chose to see. The address contains the choice, so a reload or a shared
// link shows the same table, and this tab remembers it while the table is closed. Pure.

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {{by: string, isDown: boolean}} Order `by`: an expression, or see branch-rows.js */
/**
 * @typedef {object} Choice
 * @property {string[]} columns Python expressions
 * @property {Order | null} order null: the order of the graph
 * @property {string} filter
 * @property {string | null} baseline the state with which the other rows are compared
 * @property {string[]} picked states that have a row besides the ends of branches
 */

/** How many expressions one command may evaluate; see docs/api.md. */
export const MAX_COLUMNS = 50;
/** The most states besides the ends of branches. */
const MAX_PICKED = 200;

/** The address fragment of the table, before its query; see docs/api.md. */
const ADDRESS = 'branches?';
/** @type {Readonly<Choice>} */
const NOTHING = Object.freeze({ columns: [], order: null, filter: '', baseline: null, picked: [] });
/** The key under which the tab remembers the choice. */
const CHOICE = 'branchTable';
/** The key under which the tab remembers the expressions that its user has entered or allowed. */
const ALLOWED = 'branchExpressions';

/** Whether a fragment is that of the table: a query, which must not be decoded as a whole. */
export const isTableAddress = (/** @type {string} */ fragment) => fragment.startsWith(ADDRESS);

/** @param {Choice} choice @returns {string} the address fragment, without the # */
export function addressOf({ columns, order, filter, baseline, picked }) {
    const query = new URLSearchParams();
    for (const column of columns) query.append('column', column);
    if (order) query.set(order.isDown ? 'descending' : 'ascending', order.by);
    if (filter) query.set('filter', filter);
    if (baseline) query.set('baseline', baseline);
    for (const state of picked) query.append('state', state);
    return ADDRESS + query;
}

/**
 * The choice that an address fragment describes; null if it is another address.
 * @param {string} fragment
 * @returns {Choice | null}
 */
export function choiceIn(fragment) {
    if (!isTableAddress(fragment)) return null;
    const query = new URLSearchParams(fragment.slice(ADDRESS.length));
    const all = (/** @type {string} */ key, /** @type {number} */ most) =>
        [...new Set(query.getAll(key).map((text) => text.trim()))].filter(Boolean).slice(0, most);
    const [down, up] = [query.get('descending'), query.get('ascending')];
    const by = down ?? up;
    return {
        columns: all('column', MAX_COLUMNS),
        order: by ? { by, isDown: down !== null } : null,
        filter: query.get('filter') ?? '',
        baseline: query.get('baseline'),
        picked: all('state', MAX_PICKED),
    };
}

export class BranchTable {
    /**
     * @param {import('../notebook/page.js').Page} page
     * @param {import('../notebook/page.js').Host} host
     */
    constructor(page, host) {
        this.page = page;
        this.host = host;
        this.isOpen = false;
        /** @type {Readonly<Choice>} */
        this.choice = { ...NOTHING, ...host.recall(CHOICE) };
        /** @type {Set<string>} */
        this.allowed = new Set(host.recall(ALLOWED) ?? []);
    }

    /** The address fragment of the open table. @returns {string | null} */
    get address() {
        return this.isOpen ? addressOf(this.choice) : null;
    }

    /** The states besides the ends of branches that still exist. */
    get picked() {
        return this.choice.picked.filter((id) => this.page.model.states.has(id));
    }

    open() {
        this.isOpen = true;
        this.host.setAddress(addressOf(this.choice), false);
        this.host.requestPaint();
    }

    close() {
        if (!this.isOpen) return;
        this.hide();
        this.host.setAddress(this.page.address, false);
    }

    /** Closes the table at once, so that the focus is back before anything else takes it. */
    hide() {
        if (!this.isOpen) return;
        this.isOpen = false;
        this.host.paintNow();
    }

    /** @param {Partial<Choice>} change */
    change(change) {
        this.choice = { ...this.choice, ...change };
        this.host.remember(CHOICE, this.choice);
        if (this.isOpen) this.host.setAddress(addressOf(this.choice), true);
        this.host.requestPaint();
    }

    /**
     * Adds a state to the table, or removes it.
     * @param {string} id
     * @returns {boolean} whether the table has it now
     */
    toggle(id) {
        const { picked } = this;
        const isThere = picked.includes(id);
        this.change({ picked: isThere ? picked.filter((one) => one !== id) : [...picked, id] });
        return !isThere;
    }

    /**
     * Opens the table that an address fragment describes. If the fragment describes none, closes
     * the open table.
     * @param {string} fragment
     * @returns {boolean} whether it describes one
     */
    openAddress(fragment) {
        const choice = this.page.model.states.has(fragment) ? null : choiceIn(fragment);
        this.isOpen = choice !== null;
        if (choice) this.change(choice);
        return this.isOpen;
    }

    // Expressions are code, and a link from anybody may contain some. A name alone runs nothing.

    /** Whether a column may be evaluated without asking. @param {string} column */
    mayEvaluate = (column) => isName(column) || this.allowed.has(column);

    /** The user entered or allowed expressions. @param {string[]} columns */
    allow(columns) {
        for (const column of columns) this.allowed.add(column);
        this.host.remember(ALLOWED, [...this.allowed]);
    }
}

/** Whether an expression is only the name of a variable. @param {string} text */
export const isName = (text) => /^[\p{L}_][\p{L}\p{N}_]*$/u.test(text);

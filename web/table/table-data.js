// @ts-check
// One data frame of a state, as the grid reads it: its order and filters, the rows in view, and its
// whole text for copying and CSV. Pure.
//
// At most one request for rows is under way. Scrolling only changes what the next one asks for, so
// fast scrolling through a million rows leaves no queue.

import { LoadedRows, PAGE } from './loaded-rows.js';

/** @typedef {import('../shell/protocol-types').Table} Table */
/** @typedef {import('../shell/protocol-types').TableSort} Sort */
/** @typedef {import('../shell/protocol-types').TableFilter} Filter */
/** @typedef {import('../shell/protocol-types').TableSummaries} Summaries */
/** @typedef {import('../shell/protocol-types').TableView} View */
/** @typedef {import('../shell/protocol.js').Reply} Reply */
/** @typedef {Extract<Reply, {kind: 'refused'}>} Refusal */
/** @typedef {{sort: Sort | null, filters: Filter[]}} Order Which rows are shown, and how sorted. */
/**
 * @typedef {{form: 'csv' | 'tsv', from: number, count: number, columns?: number[],
 *   names?: boolean, most?: number}} Part `most`: the number of characters after which reading ends
 */

/** The number of rows that one request for text asks for; the server's maximum. */
const TEXT_PAGE = 5000;

export class TableData {
    /** The order of the rows that are shown. @type {Order} */
    order = { sort: null, filters: [] };
    /** The order that was requested last; a second click on a header follows it. */
    wanted = this.order;
    rows = new LoadedRows();
    /**
     * The columns and the numbers of rows; null before the first answer.
     * @type {Pick<Table, 'columns' | 'columns_left_out' | 'total' | 'matching'> | null}
     */
    table = null;
    /** The summaries of the matching rows. @type {Summaries | null} */
    summaries = null;
    /** Why rows in view are missing. @type {Refusal | null} */
    refusal = null;
    /** Whether another order was requested. */
    isOrdering = false;
    #version = 0;
    #isReading = false;
    #inView = { first: 0, end: 0 };

    /**
     * @param {(command: import('../shell/protocol.js').Command) => Promise<Reply>} send
     * @param {{state: string, expression: string}} of
     * @param {() => void} changed
     */
    constructor(send, { state, expression }, changed) {
        this.send = send;
        this.state = state;
        this.expression = expression;
        this.changed = changed;
    }

    /**
     * Shows other rows or another order. If the server refuses, the rows stay as they are.
     * @param {Order} order
     * @returns {Promise<Refusal | null>}
     */
    async show(order) {
        const version = ++this.#version;
        this.wanted = order;
        const summaries = this.table === null || order.filters !== this.order.filters;
        this.isOrdering = true;
        this.changed();
        const reply = await this.#ask({ offset: 0, limit: PAGE, summaries }, order);
        if (version !== this.#version) return null;
        this.isOrdering = false;
        if (reply.kind === 'table') {
            const { table } = reply;
            this.order = order;
            this.table = table;
            if (summaries) this.summaries = table.summaries;
            this.refusal = null;
            this.rows.clear();
            this.rows.add(0, table.rows ?? []);
        }
        this.wanted = this.order;
        this.changed();
        this.#read();
        return reply.kind === 'refused' ? reply : null;
    }

    /** The user sees these rows now. @param {number} first @param {number} end */
    onView(first, end) {
        this.#inView = { first, end };
        this.#read();
    }

    /** Requests the missing rows in view again. */
    retry() {
        this.refusal = null;
        this.#read();
    }

    /** Reads the rows in view, one request after the other. */
    async #read() {
        if (this.#isReading) return;
        this.#isReading = true;
        for (let page = this.#missing(); page; page = this.#missing()) {
            const version = this.#version;
            const reply = await this.#ask(page, this.order);
            if (version !== this.#version) continue;
            if (reply.kind === 'refused') this.refusal = reply;
            else if (reply.kind === 'table') this.rows.add(page.offset, reply.table.rows ?? []);
            // An answer without rows would be requested again and again.
            if (reply.kind !== 'table' || reply.table.count === 0) {
                this.changed();
                break;
            }
            this.changed();
        }
        this.#isReading = false;
    }

    #missing() {
        if (!this.table || this.isOrdering || this.refusal) return null;
        const { first, end } = this.#inView;
        return this.rows.missing(first, Math.min(end, this.table.matching));
    }

    /**
     * Reads rows as text.
     * @param {Part} part
     * @param {(done: number) => boolean} onRows receives the number of rows read so far; `false`
     *   stops
     * @returns {Promise<{kind: 'text', text: string[], rows: number} | Refusal | null>} null if
     *   stopped
     */
    async text({ form, from, count, columns, names, most = Infinity }, onRows) {
        const [text, order] = [/** @type {string[]} */ ([]), this.order];
        let [done, length] = [0, 0];
        while (done < count && length < most) {
            if (!onRows(done)) return null;
            const limit = Math.min(TEXT_PAGE, count - done);
            // The names come once, above the first rows.
            const heads = names === undefined ? {} : { names: names && done === 0 };
            const some = columns ? { columns } : {};
            const reply = await this.#ask({ form, offset: from + done, limit, ...heads, ...some }, order);
            if (reply.kind === 'refused') return reply;
            if (reply.kind !== 'table' || reply.table.count === 0) break;
            const part = reply.table.text ?? '';
            text.push(part);
            length += part.length;
            done += reply.table.count;
        }
        return { kind: 'text', text, rows: done };
    }

    /** @param {Omit<View, 'expression' | 'sort' | 'filters'>} view @param {Order} order */
    #ask(view, order) {
        const { state, expression } = this;
        return this.send({ do: 'table', state, view: { expression, ...order, ...view } });
    }
}

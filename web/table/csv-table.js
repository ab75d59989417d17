// @ts-check
// A CSV or TSV file as a table. Answers the command `table` as the server does for a data frame
// (`ratoon_kernel/table.py`), with the same order of rows and the same filters. Pure.

import { csvWriter } from '../text/csv.js';
import { recordsIn, separatorOf } from './csv-records.js';
import { TABLE_WORDS as SAY } from './table-words.js';

/** @typedef {import('../shell/protocol.js').Reply} Reply */
/** @typedef {import('../shell/protocol-types').Condition} Condition */
/** @typedef {import('../shell/protocol-types').ColumnSummary} Summary */
/** @typedef {import('../shell/protocol-types').TableSort} Sort */
/** @typedef {import('../shell/protocol-types').TableFilter} Filter */
/** @typedef {import('../shell/protocol-types').TableView} View */

/** The most columns that are read, and the longest text of a cell, in characters. */
const MOST_COLUMNS = 200;
const LONGEST = 300;
/** The most cells. A file of 10 MB has more only if one row is much longer than the others. */
const MOST_CELLS = 10_000_000;
/** The most rows that the summary of a column reads. */
const SAMPLE = 20_000;
/** The number of bars of a histogram, and of values that are listed by frequency. */
const BARS = 20;
const MOST_FREQUENT = 3;

const NUMBER = /^\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?\s*$/i;

/** @type {Record<string, (order: number) => boolean>} by the order of a value and the filter's */
const COMPARISONS = {
    equal: (order) => order === 0,
    unequal: (order) => order !== 0,
    less: (order) => order < 0,
    at_most: (order) => order <= 0,
    greater: (order) => order > 0,
    at_least: (order) => order >= 0,
};

/** @template {number | string} T @param {T} a @param {T} b */
const compared = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
/** @param {string} text */
const cut = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);

/** A column. An empty field, and one that its row does not have, is a missing value: ''. */
class Column {
    /** @param {string[]} texts one per row @param {string} name */
    constructor(texts, name) {
        this.texts = texts;
        this.name = cut(name);
        /** The numbers of all rows, NaN if missing; null if a text is no number. */
        this.numbers = numbersOf(texts);
    }

    get kind() {
        return this.numbers ? /** @type {const} */ ('number') : /** @type {const} */ ('text');
    }

    /** @param {number} row */
    text(row) {
        return this.texts[row] ?? '';
    }

    /**
     * Sorts rows. Equal rows keep their order, and missing values come last.
     * @param {Uint32Array} order
     * @param {boolean} isDescending
     */
    sorted(order, isDescending) {
        const [present, missing] = [this.#which(order, true), this.#which(order, false)];
        // `sort` is stable.
        const sign = isDescending ? -1 : 1;
        const values = this.numbers ?? this.texts;
        present.sort((a, b) => sign * compared(values[a] ?? '', values[b] ?? ''));
        const sorted = new Uint32Array(order.length);
        sorted.set(present);
        sorted.set(missing, present.length);
        return sorted;
    }

    /** @param {Uint32Array} order @param {boolean} isPresent */
    #which(order, isPresent) {
        return order.filter((row) => (this.text(row) !== '') === isPresent);
    }

    /**
     * The rows that match a condition; null if numbers are compared with something else.
     * @param {Uint32Array} order
     * @param {Condition} is
     * @param {string} value
     */
    matching(order, is, value) {
        if (is === 'missing' || is === 'present') return this.#which(order, is === 'present');
        if (is === 'contains') {
            const wanted = value.toLowerCase();
            return order.filter((row) => {
                const text = this.text(row);
                return text !== '' && text.toLowerCase().includes(wanted);
            });
        }
        const { numbers } = this;
        const number = numbers && numberIn(value.replaceAll(/[_,]/g, ''));
        if (numbers && number === null) return null;
        return order.filter((row) => {
            const text = this.text(row);
            if (text === '') return is === 'unequal';
            const compare = COMPARISONS[is];
            return compare?.(numbers ? compared(numbers[row] ?? 0, number ?? 0) : compared(text, value));
        });
    }

    /**
     * A histogram of numbers, else the most frequent texts.
     * @param {Uint32Array} order
     * @returns {Summary}
     */
    summary(order) {
        const { numbers } = this;
        if (numbers) return this.#histogram(order, numbers);
        const sample = sampled(order);
        /** @type {Map<string, number>} */
        const counts = new Map();
        let missing = 0;
        for (const row of sample) {
            const text = cut(this.text(row));
            if (text === '') missing += 1;
            else counts.set(text, (counts.get(text) ?? 0) + 1);
        }
        const frequent = [...counts]
            .sort(([, a], [, b]) => b - a)
            .slice(0, MOST_FREQUENT)
            .map(([text, count]) => ({ text, count }));
        return { distinct: counts.size, frequent, missing };
    }

    /** @param {Uint32Array} order @param {Float64Array} numbers @returns {Summary} */
    #histogram(order, numbers) {
        const finite = order.filter((row) => Number.isFinite(numbers[row]));
        const missing = order.reduce((sum, row) => sum + (this.text(row) === '' ? 1 : 0), 0);
        if (!finite.length) return { distinct: 0, frequent: [], missing };
        const of = (/** @type {number | undefined} */ row) => Number(numbers[Number(row)]);
        let [low, high] = [Number(finite[0]), Number(finite[0])];
        for (const row of finite) {
            if (of(row) < of(low)) low = row;
            if (of(row) > of(high)) high = row;
        }
        const bars = Array(BARS).fill(0);
        // Divided first, because the range of the largest numbers has no finite length.
        const width = of(high) / BARS - of(low) / BARS;
        for (const row of sampled(finite)) {
            const bar = width ? Math.trunc(of(row) / width - of(low) / width) : 0;
            bars[Math.min(bar, BARS - 1)] += 1;
        }
        return { bars, low: cut(this.text(low)), high: cut(this.text(high)), missing };
    }
}

/** @param {string} text @returns {number | null} null if the text is no number */
const numberIn = (text) => (NUMBER.test(text) ? Number(text) : null);

/** @param {string[]} texts @returns {Float64Array | null} */
function numbersOf(texts) {
    const numbers = new Float64Array(texts.length).fill(Number.NaN);
    let isEmpty = true;
    for (let i = 0; i < texts.length; i += 1) {
        const text = texts[i] ?? '';
        if (text === '') continue;
        const number = numberIn(text);
        if (number === null) return null;
        numbers[i] = number;
        isEmpty = false;
    }
    return isEmpty ? null : numbers;
}

/** At most `SAMPLE` rows, evenly. @param {Uint32Array} order */
function sampled(order) {
    const step = Math.max(1, Math.ceil(order.length / SAMPLE));
    return step === 1 ? order : order.filter((_, i) => i % step === 0);
}

/**
 * Rows as CSV (RFC 4180) or TSV.
 * @param {string[][]} rows
 * @param {string} separator
 */
function delimited(rows, separator) {
    const line = csvWriter(separator);
    // A line without any character would be no row.
    return rows.map((row) => `${line(row) || (row.length ? '""' : '')}\n`).join('');
}

export class CsvTable {
    /**
     * The order that was asked for last, as JSON, and its rows.
     * @type {{of: string, rows: Uint32Array}}
     */
    #order = { of: '', rows: new Uint32Array() };

    /**
     * @param {string} text
     * @param {{isCut?: boolean, separator?: string}} [options] `isCut`: the file has more
     */
    constructor(text, { isCut = false, separator } = {}) {
        const plain = text.replaceAll(/\r\n?/g, '\n');
        const rows = recordsIn(plain, separator ?? separatorOf(plain, isCut), { isCut });
        /** The names of the columns, as the first record has them. */
        this.names = rows.shift() ?? [];
        this.total = rows.length;
        const width = rows.reduce((most, { length }) => Math.max(most, length), this.names.length);
        const count = Math.min(width, MOST_COLUMNS, Math.floor(MOST_CELLS / (rows.length || 1)));
        this.columns = Array.from({ length: count }, (_, at) => {
            const texts = rows.map((row) => row[at] ?? '');
            return new Column(texts, this.names[at] || SAY.unnamed(at + 1));
        });
        this.columnsLeftOut = width - count;
    }

    /** @param {View} view @returns {Reply} */
    answer({ sort, filters, offset = 0, limit, form = 'cells', columns, names, summaries }) {
        const found = this.#rows(sort ?? null, filters ?? []);
        if (!(found instanceof Uint32Array)) return found;
        const wanted = [...found.subarray(offset, offset + limit)];
        const sent = columns ?? this.columns.map((_, at) => at);
        const texts = (/** @type {number} */ row) => sent.map((at) => this.columns[at]?.text(row) ?? '');
        const heads = (names ?? offset === 0) ? [sent.map((at) => this.names[at] ?? '')] : [];
        const isText = form !== 'cells';
        return {
            kind: 'table',
            table: {
                columns: this.columns.map(({ name, kind }) => ({
                    name,
                    dtype: SAY.dtype[kind],
                    kind,
                    is_index: false,
                })),
                columns_left_out: this.columnsLeftOut,
                total: this.total,
                matching: found.length,
                count: wanted.length,
                rows: isText ? null : wanted.map((row) => texts(row).map((text) => cut(text) || null)),
                text: isText
                    ? delimited([...heads, ...wanted.map(texts)], form === 'csv' ? ',' : '\t')
                    : null,
                summaries: summaries ? this.#summaries(found) : null,
            },
        };
    }

    /**
     * The rows that match all filters, in the wanted order; else why there are none.
     * @param {Sort | null} sort
     * @param {Filter[]} filters
     */
    #rows(sort, filters) {
        const of = JSON.stringify([sort, filters]);
        if (of === this.#order.of) return this.#order.rows;
        /** @type {Uint32Array} */
        let rows = Uint32Array.from({ length: this.total }, (_, row) => row);
        for (const { column, is, value = '' } of filters) {
            const one = this.columns[column];
            const some = one?.matching(rows, is, value);
            if (!some) return refusal(SAY.notANumber(one?.name ?? '', value));
            rows = some;
        }
        rows = (sort && this.columns[sort.column]?.sorted(rows, sort.descending === true)) ?? rows;
        this.#order = { of, rows };
        return rows;
    }

    /** @param {Uint32Array} rows */
    #summaries(rows) {
        return {
            columns: this.columns.map((one) => one.summary(rows)),
            sampled: rows.length > SAMPLE ? sampled(rows).length : null,
        };
    }
}

/** @param {{what: string, why: string, how: string}} why @returns {Reply} */
const refusal = (why) => ({ kind: 'refused', code: 'bad_request', ...why });

// @ts-check
// Finds the differences between three or more states, as rows with one column for each state. Pure.

import { align, equality, shownBy } from './differences.js';
import { sharedCount } from './state-names.js';
import { diffLines } from '../text/diff.js';
import { difference, grouped, numberOf, shortly } from '../text/number.js';
import { isImport } from '../variables/variables.js';

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {import('../shell/model.js').Run} Run */
/** @typedef {import('../shell/protocol.js').State} State */
/** @typedef {import('../shell/protocol.js').Variable} Variable */

// Cells

/** @typedef {{text: string, isOther: boolean}} Line `isOther`: not in the first cell of the row */
/**
 * @typedef {{state: State, same: number | null, lines: Line[]}} CodeCell `same`: the number of an
 *   earlier column with the same code
 */
/** @typedef {{cells: (CodeCell | null)[], isEqual: boolean}} CodeRow `isEqual`: in all columns */

/**
 * Aligns the cells of lineages below their common ancestor.
 * @param {Model} model
 * @param {State[]} states
 * @returns {{ancestor: State | null, shared: number, rows: CodeRow[]}} `shared`: the number of
 *   common cells
 */
export function codeRows(model, states) {
    const lines = states.map(({ id }) => model.lineage(id));
    const common = sharedCount(lines);
    /** @type {(State | null)[][]} */
    let rows = [];
    for (const [column, line] of lines.entries())
        rows = withColumn(model, rows, line.slice(common), column, states.length);
    return {
        ancestor: lines[0]?.[common - 1] ?? null,
        // The root is in all lineages, and is no cell.
        shared: Math.max(0, common - 1),
        rows: rows.map((row) => codeRow(model, row)),
    };
}

/**
 * Adds the cells of one more lineage to aligned rows.
 * @param {Model} model
 * @param {(State | null)[][]} rows
 * @param {State[]} line
 * @param {number} column
 * @param {number} width
 */
function withColumn(model, rows, line, column, width) {
    const empty = () => /** @type {(State | null)[]} */ (Array(width).fill(null));
    // Each row is represented by its first cell.
    const first = rows.map((row) => /** @type {State} */ (row.find((state) => state !== null)));
    /** @type {(State | null)[][]} */
    const all = [];
    /** The rows since the last pair, which have no cell of this lineage. @type {number[]} */
    let free = [];
    let at = 0;
    for (const pair of align(model, first, line)) {
        if (pair.sign === '+') {
            // Cells at the same place stand side by side, also if they are not alike.
            const place = free.shift();
            if (place === undefined) all.push(empty().with(column, pair.state));
            else all[place] = (all[place] ?? empty()).with(column, pair.state);
            continue;
        }
        const row = rows[at] ?? empty();
        at += 1;
        if ('b' in pair) free = [];
        else free.push(all.length);
        all.push('b' in pair ? row.with(column, pair.b) : row);
    }
    return all;
}

/** @param {Model} model @param {(State | null)[]} row @returns {CodeRow} */
function codeRow(model, row) {
    const codes = row.map((state) => (state ? (model.runOf(state)?.code ?? '') : null));
    const first = codes.find((code) => code !== null) ?? '';
    const cells = row.map((state, column) => {
        const code = codes[column];
        if (!state || code == null) return null;
        const same = codes.indexOf(code);
        return { state, same: same < column ? same : null, lines: linesOf(first, code) };
    });
    return { cells, isEqual: codes.every((code) => code === codes[0]) };
}

/** @param {string} first @param {string} code @returns {Line[]} */
const linesOf = (first, code) =>
    diffLines(first, code).flatMap(({ sign, parts }) =>
        sign === '-' ? [] : [{ text: parts.map(({ text }) => text).join(''), isOther: sign === '+' }],
    );

// Variables

/**
 * @typedef {{variable: Variable, same: number | null, text: string, isNumber: boolean,
 *   difference: string, facts: [keyof import('../shell/protocol.js').Stats, string][]}} Value
 *   `same`: the number of an earlier column with the same value; `difference`: from the first
 *   number; `facts`: of an array
 */
/** @typedef {{name: string, values: (Value | null)[]}} VariableRow null: the state lacks it */

/**
 * @param {(Variable[] | null)[]} lists the variables of each state; null if they are unknown
 * @returns {{rows: VariableRow[], equal: string[], alike: string[], imports: string[]}} `rows`: the
 *   variables that differ; for the others, see differences.js
 */
export function variableRows(lists) {
    const maps = lists.map((list) => list && new Map(list.map((one) => [one.name, one])));
    const names = new Set(lists.flatMap((list) => (list ?? []).map(({ name }) => name)));
    /** @type {ReturnType<typeof variableRows>} */
    const found = { rows: [], equal: [], alike: [], imports: [] };
    for (const name of names) {
        const known = maps.flatMap((map) => (map ? [map.get(name)] : []));
        const [first] = known;
        const how = known.map((one) => (first && one ? equality(first, one) : 'differs'));
        if (known.some((one) => !one) && known.every((one) => !one || isImport(one)))
            found.imports.push(name);
        else if (how.includes('differs'))
            found.rows.push({ name, values: valuesOf(maps.map((map) => map?.get(name))) });
        else found[how.includes('alike') ? 'alike' : 'equal'].push(name);
    }
    return found;
}

/** @param {(Variable | undefined)[]} variables @returns {(Value | null)[]} */
function valuesOf(variables) {
    const numbers = variables.map((one) => (one ? numberOf(one) : null));
    const first = numbers.find((number) => number !== null) ?? null;
    return variables.map((variable, column) => {
        if (!variable) return null;
        const same = variables.findIndex((other) => other && equality(other, variable) !== 'differs');
        const number = numbers[column] ?? null;
        const isFirst = numbers.findIndex((one) => one !== null) === column;
        return {
            variable,
            same: same >= 0 && same < column ? same : null,
            text: number === null ? variable.repr : grouped(number),
            isNumber: number !== null,
            difference: number === null || first === null || isFirst ? '' : difference(first, number),
            facts: factsOf(variable),
        };
    });
}

/** The statistics of an array. @param {Variable} variable @returns {Value['facts']} */
function factsOf({ summary }) {
    if (summary?.kind !== 'array') return [];
    return /** @type {const} */ (['min', 'max', 'mean', 'nulls']).flatMap((what) => {
        const fact = summary[what];
        return fact == null || (what === 'nulls' && !fact)
            ? []
            : [
                  /** @type {Value['facts'][number]} */ ([
                      what,
                      String(typeof fact === 'number' ? shortly(fact) : fact),
                  ]),
              ];
    });
}

// Outputs

/**
 * @typedef {{states: (State | null)[], runs: (Run | undefined)[], same: (number | null)[],
 *   isTip: boolean}} OutputRow `same`: the number of an earlier column with the same output;
 *   `isTip`: the compared states themselves
 */

/**
 * The rows of cells whose outputs differ, and always the outputs of the compared states.
 * @param {Model} model
 * @param {State[]} states
 * @param {CodeRow[]} rows
 * @returns {OutputRow[]}
 */
export function outputRows(model, states, rows) {
    const found = rows
        .map(({ cells }) =>
            outputRow(
                model,
                cells.map((cell) => cell?.state ?? null),
                states,
            ),
        )
        .filter(
            ({ isTip, runs, states: shown, same }) =>
                isTip ||
                (shown.filter(Boolean).length > 1 &&
                    runs.some((run) => run?.outputs.length) &&
                    same.some((one, i) => one === null && shown[i] && i > shown.findIndex(Boolean))),
        );
    return found.some(({ isTip }) => isTip) ? found : [...found, outputRow(model, states, states)];
}

/**
 * @param {Model} model
 * @param {(State | null)[]} row
 * @param {State[]} states
 * @returns {OutputRow}
 */
function outputRow(model, row, states) {
    const runs = row.map((state) => (state ? (model.runOf(state) ?? undefined) : undefined));
    const texts = row.map((state, i) => (state ? shownBy(runs[i]) : null));
    const same = texts.map((text, column) => {
        const at = text === null ? -1 : texts.indexOf(text);
        return at >= 0 && at < column ? at : null;
    });
    return { states: row, runs, same, isTip: row.every((state, i) => state === states[i]) };
}

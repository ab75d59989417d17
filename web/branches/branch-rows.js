// @ts-check
// The rows of the table of branches: one for the end of each branch and for each state that the
// user added. What they differ in, and how they are filtered and sorted. Pure.

import { isInMemory } from '../checkpoints/residency.js';
import { sharedCount } from '../compare/state-names.js';
import { variableRows } from '../compare/many-differences.js';
import { Branches } from '../graph/branches.js';
import { treeOf } from '../graph/layout.js';
import { fullName } from '../graph/node-names.js';
import { nodesOf } from '../graph/nodes.js';
import { hasEnded } from '../shell/protocol.js';
import { pictureOf } from '../outputs/mime.js';
import { difference } from '../text/number.js';
import { isTool } from '../variables/variables.js';

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {import('../shell/protocol.js').State} State */
/** @typedef {import('../graph/nodes.js').Node} Node */
/** @typedef {import('../shell/model.js').Run} Run */
/** @typedef {import('../shell/protocol.js').Variable} Variable */
/** @typedef {import('./branch-table.js').Order} Order */
/**
 * @typedef {import('../shell/protocol.js').Evaluated | {isPending: true} | {refusal: string}} Value
 *   the value of an expression at a state; still to come; or why there is none
 */
/** @typedef {Map<string, Map<string, Value>>} Values by state, then by expression */
/**
 * @typedef {object} BranchRow
 * @property {State} state the last state of the branch, or the state that the user added
 * @property {boolean} isPicked whether the user added the state
 * @property {string} name the last label on the branch, else the name of its first cell
 * @property {string} last the name of its last cell, if it is another one
 * @property {number} colour see graph/layout.js
 * @property {Run | null} run the run that made `state`
 * @property {number} duration how long the cells since the fork ran, in milliseconds
 * @property {number | null} memory the bytes that only the process of `state` uses, if it has one
 */

/** Columns that are no expressions: in Python, they would be comments. */
export const BY_NAME = '#name';
export const BY_DURATION = '#duration';
export const BY_MEMORY = '#memory';
export const BY_TIME = '#time';
/** What a column holds that is no expression. @type {Record<string, (row: BranchRow) => any>} */
const FIXED = {
    [BY_NAME]: ({ name }) => name,
    [BY_DURATION]: ({ duration }) => duration,
    [BY_MEMORY]: ({ memory }) => memory,
    [BY_TIME]: ({ state }) => state.created_at,
};

/** How many cells of a line are looked at for code that differs: the last ones. */
const MAX_CELLS = 100;
/** How many variables are offered as columns. */
const MAX_OFFERED = 8;

/**
 * The ends of all branches and further states, in the order of the graph.
 * @param {Model} model
 * @param {string[]} [picked] the states that the user added
 * @param {{branches?: Branches, going?: Set<string>}} [page] `going`: states that are about to be
 *   deleted
 * @returns {BranchRow[]}
 */
export function branchRows(model, picked = [], { branches = new Branches(), going = new Set() } = {}) {
    const nodes = nodesOf(model);
    const isGone = (/** @type {State} */ { living, id }) => living === 'deleted' || going.has(id);
    const { order, colours } = treeOf(nodes, branches.given);
    const rowAt = (/** @type {number} */ at) => {
        const node = nodes[at];
        if (!node?.state || node.from < 0 || isGone(node.state)) return null;
        const { state, run } = node;
        const isPicked = !isEnd(nodes, node, isGone);
        if (isPicked && !picked.includes(node.id)) return null;
        const [last, own] = [fullName(node), sinceFork(nodes, node)];
        const name = isPicked
            ? (state.label ?? last)
            : (branches.labelOf(model, state.id) ?? fullName(own[0] ?? node));
        return {
            state,
            run,
            name,
            last: last === name ? '' : last,
            colour: colours[at] ?? 0,
            isPicked,
            duration: own.reduce((sum, one) => sum + (one.run?.duration_ms ?? 0), 0),
            memory: isInMemory(state) ? state.memory_bytes : null,
        };
    };
    return order.flatMap((at) => rowAt(at) ?? []);
}

/**
 * Whether no state follows a node. The rows of sweeps have a table of their own, so only those from
 * which somebody has continued count.
 * @param {Node[]} nodes
 * @param {Node} node
 * @param {(state: State) => boolean} isGone
 */
const isEnd = (nodes, { children }, isGone) =>
    children.every((child) => {
        const next = nodes[child];
        if (next?.sweep) return next.children.length === 0;
        return !next?.state || isGone(next.state);
    });

/**
 * The nodes between the fork at which a branch begins and a node of the branch, which is the last.
 * @param {Node[]} nodes
 * @param {Node} end
 */
function sinceFork(nodes, end) {
    const own = [end];
    for (
        let above = nodes[end.from];
        above && above.from >= 0 && !above.sweep && isSingle(nodes, above);
        above = nodes[above.from]
    )
        own.push(above);
    return own.reverse();
}

/** Whether exactly one state follows a node. @param {Node[]} nodes @param {Node} node */
const isSingle = (nodes, { children }) => children.filter((child) => nodes[child]?.state).length === 1;

/**
 * The variants whose cells failed. They made no state, so they have no row.
 * @param {Model} model
 */
export const failedVariants = (model) =>
    [...model.runs.values()].filter(({ variant, status, state }) => variant && !state && hasEnded(status))
        .length;

/** @param {BranchRow} row */
export const hasPicture = ({ run }) => run !== null && pictureOf(run.outputs) !== null;

/**
 * Whether an expression reads a variable that no row has.
 * @param {BranchRow[]} rows
 * @param {Values} values
 * @param {string} column
 */
export const isNowhere = (rows, values, column) =>
    rows.length > 0 &&
    rows.every(({ state }) => {
        const value = values.get(state.id)?.get(column);
        return value && 'text' in value && missingVariable(value) !== null;
    });

/**
 * The lines of code in which each state differs: from the baseline or, without one, those that not
 * all of the states have run.
 * @param {Model} model
 * @param {State[]} states
 * @param {State | null} baseline
 * @returns {Map<string, string[]>} by state: what fewest have run comes first, then in the order of
 *   the code
 */
export function differingCode(model, states, baseline) {
    const lines = [...states, ...(baseline ? [baseline] : [])].map(({ id }) => model.lineage(id));
    const shared = sharedCount(lines);
    const codes = lines.map((line) =>
        line
            .slice(shared)
            .slice(-MAX_CELLS)
            .flatMap((state) => codeLines(model, state)),
    );
    const sets = codes.map((code) => new Set(code));
    /** In how many lines of cells a text is. @type {Map<string, number>} */
    const counts = new Map();
    for (const set of sets) for (const text of set) counts.set(text, (counts.get(text) ?? 0) + 1);
    const count = (/** @type {string} */ text) => counts.get(text) ?? 0;
    const isCommon = (/** @type {string} */ text) =>
        baseline ? sets.at(-1)?.has(text) : count(text) === sets.length;
    const differing = (/** @type {string[]} */ code) =>
        code.filter((text) => !isCommon(text)).sort((a, b) => count(a) - count(b));
    return new Map(states.map(({ id }, i) => [id, differing(codes[i] ?? [])]));
}

/** @param {Model} model @param {State} state */
const codeLines = (model, state) =>
    (model.runOf(state)?.code ?? '')
        .split('\n')
        .map((line) => line.trimEnd())
        .filter(Boolean);

/**
 * The variables that differ between states, without imports and definitions. Numbers come first.
 * @param {Variable[][]} lists the variables of each state
 * @param {string[]} columns the present columns, which are not offered again
 * @returns {string[]}
 */
export function offeredColumns(lists, columns) {
    if (lists.length < 2) return [];
    const rows = variableRows(lists).rows.filter(
        ({ name, values }) =>
            !columns.includes(name) && !values.some((value) => value && isTool(value.variable)),
    );
    const isNumber = (/** @type {typeof rows[number]} */ { values }) =>
        values.some((value) => value?.isNumber);
    return [...rows.filter(isNumber), ...rows.filter((row) => !isNumber(row))]
        .map(({ name }) => name)
        .slice(0, MAX_OFFERED);
}

/**
 * The number in a cell of the table; null if it holds none.
 * @param {Values} values
 * @param {string} state
 * @param {string} column
 * @returns {number | null}
 */
export function numberAt(values, state, column) {
    const value = values.get(state)?.get(column);
    if (!value || !('number' in value)) return null;
    // JSON has no infinity.
    const [, sign] = (!value.failed && value.text.match(/^(?:np\.\w+\()?(-?)inf\b/)) || [];
    return sign === undefined ? value.number : sign ? -Infinity : Infinity;
}

/**
 * The text in a cell of the table; null if it holds none.
 * @param {Values} values
 * @param {string} state
 * @param {string} column
 */
function textAt(values, state, column) {
    const value = values.get(state)?.get(column);
    return value && 'text' in value && !value.failed ? value.text : null;
}

/**
 * The difference of a number from the one in the same column of the baseline; '' if there is none.
 * @param {Values} values
 * @param {string} state
 * @param {string | null} baseline
 * @param {string} column
 */
export function differenceAt(values, state, baseline, column) {
    if (!baseline || state === baseline) return '';
    const [from, to] = [baseline, state].map((id) => numberAt(values, id, column) ?? Infinity);
    return Number.isFinite(from) && Number.isFinite(to) ? difference(from ?? 0, to ?? 0) : '';
}

// Filter

/** @type {Record<string, (a: number, b: number) => boolean>} */
const RELATIONS = {
    '<': (a, b) => a < b,
    '<=': (a, b) => a <= b,
    '>': (a, b) => a > b,
    '>=': (a, b) => a >= b,
    '=': (a, b) => a === b,
    '==': (a, b) => a === b,
    '!=': (a, b) => a !== b,
};

/**
 * The rows that match a filter: `r2 > 0.9` for a column, or a text in the name, code or values.
 * @param {BranchRow[]} rows
 * @param {string} filter
 * @param {{values: Values, columns: string[], code: Map<string, string[]>}} table
 */
export function matchingRows(rows, filter, { values, columns, code }) {
    const wanted = filter.trim().toLowerCase();
    if (!wanted) return rows;
    const [, column = '', relation = '', number = ''] =
        filter.match(/^\s*(.+?)\s*(<=|>=|==|!=|<|>|=)\s*([-+]?[\d.]+(?:e[-+]?\d+)?)\s*$/i) ?? [];
    if (columns.includes(column))
        return rows.filter(({ state }) => {
            const value = numberAt(values, state.id, column);
            return value !== null && RELATIONS[relation]?.(value, Number(number));
        });
    return rows.filter(({ state, name, last }) =>
        [
            name,
            last,
            ...(code.get(state.id) ?? []),
            ...columns.map((one) => textAt(values, state.id, one)),
        ].some((text) => text?.toLowerCase().includes(wanted)),
    );
}

// Order

/**
 * The variable that an expression reads and that a branch lacks; null if the expression has a value
 * or failed otherwise.
 * @param {import('../shell/protocol.js').Evaluated} value
 * @returns {string | null}
 */
export const missingVariable = ({ failed, text }) =>
    (failed && text.match(/^NameError: name '(.*)' is not defined/)?.[1]) || null;

/**
 * What a row holds in a column: a number, a text or null.
 * @param {BranchRow} row
 * @param {Values} values
 * @param {string} by
 * @returns {number | string | null}
 */
const contentOf = (row, values, by) =>
    FIXED[by] ? FIXED[by](row) : (numberAt(values, row.state.id, by) ?? textAt(values, row.state.id, by));

/**
 * Sorts rows. Numbers come before texts, and rows without a value come last.
 * @param {BranchRow[]} rows
 * @param {Values} values
 * @param {Order | null} order
 * @returns {BranchRow[]}
 */
export function sortedRows(rows, values, order) {
    if (!order) return rows;
    const sign = order.isDown ? -1 : 1;
    const rank = { number: 0, string: 1, object: 2 };
    return rows.toSorted((a, b) => {
        const [one, other] = [contentOf(a, values, order.by), contentOf(b, values, order.by)];
        const [kind, otherKind] = [one, other].map(
            (content) => rank[/** @type {keyof typeof rank} */ (typeof content)],
        );
        if (kind !== otherKind || one === null || other === null) return (kind ?? 0) - (otherKind ?? 0);
        if (typeof one === 'string') return sign * one.localeCompare(String(other));
        return one === other ? 0 : sign * (one < Number(other) ? -1 : 1);
    });
}

/**
 * Puts rows into an order that was decided before. Rows that it does not have come last.
 * @param {BranchRow[]} rows
 * @param {string[]} ids the states, in their order
 * @returns {BranchRow[]}
 */
export function inOrder(rows, ids) {
    const ranks = new Map(ids.map((id, rank) => [id, rank]));
    const rank = (/** @type {BranchRow} */ { state }) => ranks.get(state.id) ?? ids.length;
    return rows.toSorted((a, b) => rank(a) - rank(b));
}

/**
 * The states with the highest number in the column that the rows are sorted by, if the order is
 * descending; with the lowest, if it is ascending.
 * @param {BranchRow[]} rows
 * @param {Values} values
 * @param {Order | null} order
 * @returns {Set<string>}
 */
export function extremeStates(rows, values, order) {
    if (!order || FIXED[order.by]) return new Set();
    const numbers = rows.flatMap(({ state }) => numberAt(values, state.id, order.by) ?? []);
    if (numbers.length < 2) return new Set();
    const best = order.isDown ? Math.max(...numbers) : Math.min(...numbers);
    return new Set(
        rows
            .filter(({ state }) => numberAt(values, state.id, order.by) === best)
            .map(({ state }) => state.id),
    );
}

/**
 * The order after a click on a column: descending, ascending, that of the graph.
 * @param {Order | null} order
 * @param {string} by
 * @returns {Order | null}
 */
export function nextOrder(order, by) {
    if (order?.by !== by) return { by, isDown: true };
    return order.isDown ? { by, isDown: false } : null;
}

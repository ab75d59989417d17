// @ts-check
// The table of branches as data: a row for the end of each branch and for each state that the user
// added, a column for each expression, and the values in between. Pure.

import { treeOf } from '../graph/layout.js';
import { fullName } from '../graph/node-names.js';
import { nodesOf } from '../graph/nodes.js';

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {import('../shell/protocol.js').State} State */
/** @typedef {import('../graph/nodes.js').Node} Node */
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
 * @property {import('../shell/model.js').Run | null} run the run that made `state`
 */
/** @typedef {{by: string, isDown: boolean}} Order `by`: an expression, `BY_NAME` or `BY_TIME` */

/** Columns that are no expressions: in Python, they would be comments. */
export const BY_NAME = '#name';
export const BY_TIME = '#time';

/** How many expressions one command may evaluate; see docs/api.md. */
export const MAX_COLUMNS = 50;

/**
 * The ends of all branches and further states, in the order of the graph.
 * @param {Model} model
 * @param {string[]} [picked] the states that the user added
 * @param {{given?: import('../graph/layout.js').GivenColours, going?: Set<string>}} [page] `going`:
 *   states that are about to be deleted
 * @returns {BranchRow[]}
 */
export function branchRows(model, picked = [], { given = new Map(), going = new Set() } = {}) {
    const nodes = nodesOf(model);
    const isGone = (/** @type {State} */ { living, id }) => living === 'deleted' || going.has(id);
    const { order, colours } = treeOf(nodes, given);
    const rowAt = (/** @type {number} */ at) => {
        const node = nodes[at];
        if (!node?.state || node.from < 0 || isGone(node.state)) return null;
        const { state, run } = node;
        const [colour, last] = [colours[at] ?? 0, fullName(node)];
        if (isEnd(nodes, node, isGone)) {
            const { label, first } = beginning(nodes, node);
            const name = label ?? fullName(first);
            return { state, run, name, last: last === name ? '' : last, colour, isPicked: false };
        }
        if (!picked.includes(node.id)) return null;
        const name = state.label ?? last;
        return { state, run, name, last: last === name ? '' : last, colour, isPicked: true };
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
 * The last label between the fork at which a branch begins and its end, and the branch's first
 * node.
 * @param {Node[]} nodes
 * @param {Node} end
 */
function beginning(nodes, end) {
    let first = end;
    let label = end.state?.label ?? null;
    for (
        let above = nodes[end.from];
        above && above.from >= 0 && !above.sweep && isSingle(nodes, above);
        above = nodes[above.from]
    ) {
        first = above;
        label ??= above.state?.label ?? null;
    }
    return { label, first };
}

/** Whether exactly one state follows a node. @param {Node[]} nodes @param {Node} node */
const isSingle = (nodes, { children }) => children.filter((child) => nodes[child]?.state).length === 1;

/**
 * The columns to evaluate for a state: those without a value that is known or on its way.
 * @param {Values} values
 * @param {string} state
 * @param {string[]} columns
 */
export const missingColumns = (values, state, columns) =>
    columns.filter((column) => !values.get(state)?.has(column));

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
 * The text in a cell of the table; null if it holds none, or a number.
 * @param {Values} values
 * @param {string} state
 * @param {string} column
 */
function textAt(values, state, column) {
    const value = values.get(state)?.get(column);
    return value && 'text' in value && !value.failed ? value.text : null;
}

/**
 * The variable that an expression reads and that a branch lacks; null if the expression has a value
 * or failed otherwise.
 * @param {import('../shell/protocol.js').Evaluated} value
 * @returns {string | null}
 */
export const missingVariable = ({ failed, text }) =>
    (failed && text.match(/^NameError: name '(.*)' is not defined/)?.[1]) || null;

/**
 * Sorts rows. When an expression is sorted by, numbers come before texts, and rows without a value
 * come last.
 * @param {BranchRow[]} rows
 * @param {Values} values
 * @param {Order | null} order
 * @returns {BranchRow[]}
 */
export function sortedRows(rows, values, order) {
    if (!order) return rows;
    const sign = order.isDown ? -1 : 1;
    if (order.by === BY_NAME) return rows.toSorted((a, b) => sign * a.name.localeCompare(b.name));
    if (order.by === BY_TIME)
        return rows.toSorted((a, b) => sign * (a.state.created_at - b.state.created_at));
    return rows.toSorted((a, b) => {
        const [one, other] = [a, b].map(({ state }) => numberAt(values, state.id, order.by));
        if (one != null && other != null) return one === other ? 0 : sign * (one < other ? -1 : 1);
        if (one != null || other != null) return Number(one == null) - Number(other == null);
        const [text, otherText] = [a, b].map(({ state }) => textAt(values, state.id, order.by));
        if (text == null || otherText == null) return Number(text == null) - Number(otherText == null);
        return sign * text.localeCompare(otherText);
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
    if (!order || order.by === BY_NAME || order.by === BY_TIME) return new Set();
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

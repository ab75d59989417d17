// @ts-check
// Handles keys while the graph has the focus.

import { compareWithHere, continueFrom, label, goTo, remove, select, togglePin } from './node-actions.js';

/** @typedef {import('./graph.js').Graph} Graph */
/** @typedef {import('./scene.js').Row} Row */

/** Rows per page key. */
const PAGE = 10;

/** @param {Graph} graph @param {KeyboardEvent} event @returns {boolean} whether it was handled */
export function onKey(graph, event) {
    if (event.ctrlKey || event.metaKey) return false;
    const { rows } = graph.scene;
    const at = graph.cursorRow();
    const row = rows[at];
    if (!row) return false;
    const to = walks(rows, graph, at)[`${event.altKey ? 'Alt-' : ''}${event.key}`]?.();
    if (to !== undefined) {
        graph.walk(rows[to] ? to : at);
        return true;
    }
    const act = event.altKey
        ? undefined
        : deeds(graph, row)[`${event.shiftKey && event.key.length > 1 ? 'Shift-' : ''}${event.key}`];
    act?.();
    return act !== undefined;
}

/**
 * The row that each key moves to.
 * @param {Row[]} rows
 * @param {Graph} graph
 * @param {number} at
 * @returns {Record<string, () => number>}
 */
function walks(rows, graph, at) {
    const { list } = graph.scene.nodes;
    const row = rows[at];
    if (!row) return {};
    const { node, place } = row;
    const rowOf = (/** @type {number | undefined} */ of) => graph.scene.rowOf[of ?? -1] ?? -1;
    const child = () => rowOf((row.fold?.at(-1) ?? node).children[0]);
    const sibling = (/** @type {number} */ step) => () => {
        const all = list[node.from]?.children ?? [];
        return rowOf(all[all.indexOf(node.at) + step]);
    };
    return {
        ArrowUp: () => at - 1,
        ArrowDown: () => at + 1,
        ArrowLeft: () => place.from,
        ArrowRight: child,
        Home: () => 0,
        End: () => rows.length - 1,
        PageUp: () => Math.max(0, at - PAGE),
        PageDown: () => Math.min(rows.length - 1, at + PAGE),
        'Alt-ArrowUp': sibling(-1),
        'Alt-ArrowDown': sibling(1),
        '[': sibling(-1),
        ']': sibling(1),
    };
}

/** @param {Graph} graph @param {Row} row @returns {Record<string, () => void>} */
function deeds(graph, row) {
    const { actionContext } = graph;
    const { node, fold } = row;
    const general = { '/': () => graph.head?.focus(), Escape: () => graph.hideCard() };
    if (fold) return { ...general, Enter: () => graph.unfold(row), ' ': () => graph.unfold(row) };
    const isHere = node.id === (actionContext.page.attempt ?? actionContext.page.here);
    return {
        ...general,
        Enter: () => enter(graph, node, isHere),
        'Shift-Enter': () => compareWithHere(actionContext, node),
        ' ': () => graph.showCard(row.place.row, true),
        Delete: () => remove(actionContext, node),
        Backspace: () => remove(actionContext, node),
        p: () => togglePin(actionContext, node),
        l: () => label(actionContext, node),
        'Shift-F10': () => graph.showMenu(row.place.row),
        ContextMenu: () => graph.showMenu(row.place.row),
    };
}

/**
 * Handles Enter: the first press goes to a state, the second continues from that state.
 * @param {Graph} graph
 * @param {Row['node']} node
 * @param {boolean} isHere
 */
function enter(graph, node, isHere) {
    const { actionContext } = graph;
    const isSecond = graph.entered === node.id;
    graph.entered = isHere ? null : node.id;
    if (!isHere) goTo(actionContext, node);
    else if (isSecond) continueFrom(actionContext, node);
    else select(actionContext, node);
}

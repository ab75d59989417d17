// @ts-check
// The keys that work while the graph has the focus.

import { announce } from '../ui/announce.js';
import { GRAPH_WORDS } from './graph-words.js';
import { showBranches } from '../compare/compare-commands.js';
import { removeSweep, showSweep } from '../sweep/sweep-commands.js';
import {
    compareWithHere,
    continueFrom,
    goTo,
    keepBranch,
    label,
    remove,
    select,
    togglePin,
} from './node-actions.js';

/** @typedef {import('./graph.js').Graph} Graph */
/** @typedef {import('./scene.js').Row} Row */

/** The number of rows that PageUp and PageDown move the cursor. */
const PAGE = 10;

/** @param {Graph} graph @param {KeyboardEvent} event @returns {boolean} whether it used the key */
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
 * The keys that move the cursor. Each function returns the row that gets the cursor.
 * @param {Row[]} rows
 * @param {Graph} graph
 * @param {number} at the row with the cursor
 * @returns {Record<string, () => number>}
 */
function walks(rows, graph, at) {
    const { list } = graph.scene.nodes;
    const row = rows[at];
    if (!row) return {};
    const { node, place } = row;
    const rowOf = (/** @type {number | undefined} */ of) => graph.scene.rowOf[of ?? -1] ?? -1;
    const child = () => {
        if (row.closed) graph.close(row, false);
        // Opening a sweep has made new nodes.
        if (node.sweep) return row.closed ? at : rowOf(graph.scene.nodes.get(node.id)?.children[0]);
        return rowOf((row.fold?.at(-1) ?? node).children[0]);
    };
    const sibling = (/** @type {number} */ step) => () => {
        const all = list[node.from]?.children ?? [];
        return rowOf(all[all.indexOf(node.at) + step]);
    };
    return {
        ArrowUp: () => at - 1,
        ArrowDown: () => at + 1,
        ArrowLeft: () => {
            if (!node.sweep || row.closed) return place.from;
            graph.close(row, true);
            return at;
        },
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

/**
 * The keys that act on the row with the cursor.
 * @param {Graph} graph
 * @param {Row} row
 * @returns {Record<string, () => void>}
 */
function deeds(graph, row) {
    const { actionContext } = graph;
    const { node, fold } = row;
    const general = {
        '/': () => graph.head?.focus(),
        Escape: () => graph.hideCard(),
        z: () => actionContext.controller.edits.undo(),
    };
    if (fold) return { ...general, Enter: () => graph.unfold(row), ' ': () => graph.unfold(row) };
    const { sweep } = node;
    if (sweep)
        return {
            ...general,
            Enter: () => graph.close(row, !row.closed),
            ' ': () => graph.showCard(row.place.row, true),
            t: () => void showSweep(actionContext.page, sweep.id),
            Delete: () => void removeSweep(actionContext.page, sweep.id),
            Backspace: () => void removeSweep(actionContext.page, sweep.id),
            f: () => graph.close(row, !row.closed),
            'Shift-F10': () => graph.showMenu(row.place.row),
            ContextMenu: () => graph.showMenu(row.place.row),
        };
    const isHere = node.id === (actionContext.page.attempt ?? actionContext.page.here);
    return {
        ...general,
        Enter: () => enter(graph, node, isHere),
        'Shift-Enter': () => compareWithHere(actionContext, node),
        ' ': () => graph.showCard(row.place.row, true),
        Delete: () => remove(actionContext, node),
        Backspace: () => remove(actionContext, node),
        t: () => void showBranches(actionContext.page),
        f: () => graph.close(row, !row.closed),
        k: () => keepBranch(actionContext, node),
        p: () => togglePin(actionContext, node),
        l: () => label(actionContext, node),
        'Shift-F10': () => graph.showMenu(row.place.row),
        ContextMenu: () => graph.showMenu(row.place.row),
    };
}

/**
 * Handles Enter. On another state, the first press goes to that state, and the second press focuses
 * the editor of the empty cell at the end. On the current state, a press focuses the empty cell in
 * command mode.
 * @param {Graph} graph
 * @param {Row['node']} node
 * @param {boolean} isHere whether `node` is the current state
 */
function enter(graph, node, isHere) {
    const { actionContext } = graph;
    const isSecond = graph.entered === node.id;
    graph.entered = isHere ? null : node.id;
    if (!isHere) {
        goTo(actionContext, node);
        // The focus stays in the graph, so nothing else says it.
        announce(GRAPH_WORDS.wentTo(node.name));
    } else if (isSecond) continueFrom(actionContext, node);
    else select(actionContext, node);
}

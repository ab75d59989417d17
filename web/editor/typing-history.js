// @ts-check
// The undo history of each editor, so that undo works after a reload of the page. Kept by this tab,
// within a limit; a history is used only with exactly the text that it belongs to.

import { EditorState, historyField, redoDepth, undoDepth } from '../vendor/codemirror.js';
import { TabMap } from '../ui/tab-map.js';

/** The most characters that are kept, of one cell and of all. The oldest histories are dropped. */
const MOST_OF_CELL = 100_000;
const MOST = 1_000_000;

/** JSON texts of `{text, history}`, by the cell's key. */
const histories = new TabMap('typing');

/**
 * The state of a new editor, with its history if this tab has kept one.
 * @param {string} key of the cell
 * @param {string} doc
 * @param {any} extensions
 * @returns {EditorState}
 */
export function stateWithHistory(key, doc, extensions) {
    try {
        const { text, history } = JSON.parse(histories.all.get(key) ?? 'null') ?? {};
        if (history && text === doc)
            return EditorState.fromJSON(
                { doc, selection: { ranges: [{ anchor: 0, head: 0 }], main: 0 }, history },
                { extensions },
                { history: historyField },
            );
    } catch {
        // Another version of the page kept it.
    }
    return EditorState.create({ doc, extensions });
}

/**
 * Keeps the histories of all editors. The page is closing.
 * @param {Map<string, import('../cell/cell.js').Cell>} views by the cells' keys
 */
export function keepHistories(views) {
    const map = histories.all;
    for (const [key, { editor }] of views) {
        const state = editor?.view?.state;
        // An editor that was not created since the last reload still has its kept history.
        if (!state) continue;
        map.delete(key);
        if (undoDepth(state) + redoDepth(state) === 0) continue;
        const { history } = state.toJSON({ history: historyField });
        const one = JSON.stringify({ text: state.doc.toString(), history });
        if (one.length <= MOST_OF_CELL) map.set(key, one);
    }
    let size = [...map.values()].reduce((sum, one) => sum + one.length, 0);
    for (const [key, one] of map) {
        if (size <= MOST) break;
        map.delete(key);
        size -= one.length;
    }
    histories.store();
}

// @ts-check
// The actions that keys in an editor trigger, apart from typing.

import {
    acceptCompletion,
    completionStatus,
    indentLess,
    indentMore,
    selectedCompletionIndex,
    setSelectedCompletion,
    startCompletion,
} from '../vendor/codemirror.js';
import { isBlank } from '../text/python.js';
import { inspectHere } from './inspection.js';

export {
    indentLess,
    indentMore,
    selectNextOccurrence,
    selectSelectionMatches,
    startCompletion,
    toggleComment,
} from '../vendor/codemirror.js';
export { toggleNumbers } from './editor-settings.js';

/** @typedef {import('../vendor/codemirror.js').EditorView} EditorView */

/** Whether the cursor follows text on its line and nothing is selected. @param {EditorView} view */
function isBehindText({ state }) {
    const { empty, head } = state.selection.main;
    const line = state.doc.lineAt(head);
    return empty && !isBlank(line.text.slice(0, head - line.from));
}

/** Tab: accepts the shown completion, requests completions, or indents. @param {EditorView} view */
export function complete(view) {
    if (completionStatus(view.state) === 'active') {
        if ((selectedCompletionIndex(view.state) ?? -1) < 0)
            view.dispatch({ effects: setSelectedCompletion(0) });
        if (acceptCompletion(view)) return true;
    }
    return isBehindText(view) ? startCompletion(view) : indentMore(view);
}

/** Shift-Tab: shows documentation, or indents less. @param {EditorView} view */
export const inspect = (view) => (isBehindText(view) ? inspectHere(view) : indentLess(view));

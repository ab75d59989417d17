// @ts-check
// Two functions for typing Python that CodeMirror lacks: dedent after statements such as `return`,
// and type over closing triple quotes.

import { EditorView, indentUnit, keymap, Prec } from '../vendor/codemirror.js';
import { closesTriple, isBlank, leavesBlock } from '../text/python.js';

/**
 * Handles Enter after a statement that leaves a block, such as `return`: dedents the next line.
 * @param {EditorView} view
 */
function leaveBlock(view) {
    const { state } = view;
    const {
        ranges,
        main: { empty, head },
    } = state.selection;
    const line = state.doc.lineAt(head);
    const isAtEnd = ranges.length === 1 && empty && isBlank(line.text.slice(head - line.from));
    if (state.readOnly || !isAtEnd || !leavesBlock(state.doc.toString(), head)) return false;
    const indent = line.text.match(/^\s*/)?.[0] ?? '';
    const less = indent.endsWith('\t')
        ? indent.slice(0, -1)
        : indent.slice(0, -state.facet(indentUnit).length);
    const insert = state.lineBreak + less;
    view.dispatch({
        changes: { from: head, to: line.to, insert },
        selection: { anchor: head + insert.length },
        userEvent: 'input',
        scrollIntoView: true,
    });
    return true;
}

/**
 * Moves the cursor over one closing quote of a triple quote for each typed quote. CodeMirror would
 * move it over all three at the first key press, and the next two presses would begin a new string.
 * @param {EditorView} view
 * @param {number} from
 * @param {number} to
 * @param {string} text
 */
function stepOver(view, from, to, text) {
    const { state } = view;
    const isTyped =
        from === to && state.selection.ranges.length === 1 && state.sliceDoc(from, from + 1) === text;
    if (state.readOnly || view.composing || !isTyped || !closesTriple(state.doc.toString(), from))
        return false;
    view.dispatch({ selection: { anchor: from + 1 }, userEvent: 'input.type', scrollIntoView: true });
    return true;
}

export const typing = [
    Prec.high(keymap.of([{ key: 'Enter', run: leaveBlock }])),
    Prec.high(EditorView.inputHandler.of(stepOver)),
];

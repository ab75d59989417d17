// @ts-check
// Links from traceback lines to the lines of cells.

import { runOf } from '../notebook/cell-list.js';

/**
 * The number of a run's cell in tracebacks: the n of `In[n]`.
 * @param {import('../shell/model.js').Model} model
 * @param {import('../shell/model.js').Run} run
 * @returns {number | null}
 */
export function countOf(model, run) {
    const base = model.states.get(model.baseOf(run) ?? '');
    return base ? base.exec_count + 1 : null;
}

/**
 * Shows and selects a line of a cell.
 * @param {import('../cell/cell-controller.js').CellController} controller
 * @param {import('../shell/model.js').Run} run the run with the traceback
 * @param {number} number the n of `In[n]`
 * @param {number} line from 1
 */
export function goToLine(controller, run, number, line) {
    const cells = controller.page.cells();
    const isOwn = number === countOf(controller.page.model, run);
    const cell = cells.find((one) =>
        isOwn ? runOf(one)?.exec_id === run.exec_id : one.kind === 'ran' && one.state.exec_count === number,
    );
    const view = cell && controller.focus.views.get(cell.key);
    if (!view) return;
    view.focus();
    const editor = view.editor?.view;
    if (!editor) return;
    const { doc } = editor.state;
    const { from, to } = doc.line(Math.min(Math.max(1, line), doc.lines));
    editor.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
}

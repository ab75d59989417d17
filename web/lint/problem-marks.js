// @ts-check
// Marks problems in an editor: an underline, a message on hover, and a list of all.

import {
    closeLintPanel,
    forEachDiagnostic,
    nextDiagnostic,
    openLintPanel,
    previousDiagnostic,
    setDiagnostics,
} from '../vendor/lint.js';

/** @typedef {import('../vendor/codemirror.js').EditorView} EditorView */
/** @typedef {import('./problems.js').Problem} Problem */

/**
 * Nothing changes if the editor shows these problems already: new marks would close the message
 * that the user reads.
 * @param {EditorView} view
 * @param {readonly Problem[]} problems
 */
export function markProblems(view, problems) {
    const { length } = view.state.doc;
    const marks = problems
        .filter(({ to }) => to <= length)
        .map(({ from, to, severity, message, source }) => ({ from, to, severity, message, source }));
    /** @type {string[]} */
    const shown = [];
    forEachDiagnostic(view.state, ({ severity, message, source }, from, to) =>
        shown.push(JSON.stringify({ from, to, severity, message, source })),
    );
    const wanted = marks.map((mark) => JSON.stringify(mark));
    if (shown.sort().join() !== wanted.sort().join()) view.dispatch(setDiagnostics(view.state, marks));
}

/** Opens the list of the problems, or closes it. @param {EditorView} view */
export function toggleList(view) {
    if (view.dom.querySelector('.cm-panel-lint')) {
        closeLintPanel(view);
        view.focus();
    } else openLintPanel(view);
    return true;
}

/** @param {EditorView} view */
export const goToNext = (view) => nextDiagnostic(view);

/** @param {EditorView} view */
export const goToPrevious = (view) => previousDiagnostic(view);

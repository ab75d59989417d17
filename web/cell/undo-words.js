// @ts-check
// The texts of the undo history.

export const UNDO_WORDS = Object.freeze({
    why: 'What you changed in this tab, newest first. Undoing a step also undoes all newer ones.',
    none: 'Nothing has been changed yet.',
    undoTo: 'Undo to here',
    redoTo: 'Redo to here',
});

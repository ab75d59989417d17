// @ts-check
// The keys of graph-keys.js, for the shortcut sheet.

/** Keys that do one thing, and what they do. @type {readonly (readonly [string[], string])[]} */
export const GRAPH_KEYS = Object.freeze([
    [['ArrowUp', 'ArrowDown'], 'Row above or below'],
    [['ArrowLeft', 'ArrowRight'], 'State before; first state after'],
    [['[', ']'], 'Previous or next branch'],
    [['Alt-ArrowUp', 'Alt-ArrowDown'], 'Previous or next branch'],
    [['PageUp', 'PageDown'], 'Ten rows up or down'],
    [['Home', 'End'], 'First or last row'],
    [['Enter'], 'Go to the state; again: type below it'],
    [['Space'], 'Show details'],
    [['Shift-Enter'], 'Compare with the current state'],
    [['t'], 'Table of branches, or of a sweep'],
    [['f'], 'Hide or show what is below'],
    [['l'], 'Label the state'],
    [['p'], 'Unload last, or as usual'],
    [['k'], 'Keep this branch, delete the others'],
    [['Delete', 'Backspace'], 'Delete the state or failed attempt'],
    [['z'], 'Undo'],
    [['/'], 'Search'],
    [['Shift-F10', 'ContextMenu'], 'All actions'],
    [['Escape'], 'Close the details'],
]);

// @ts-check
// The texts of the outline.

export const OUTLINE_WORDS = Object.freeze({
    title: 'Outline',
    command: 'Toggle the outline',
    hint: 'Arrow keys move, Enter goes to the cell, Left and Right collapse and expand sections.',
    none: 'Headings of Markdown cells appear here.',
    showCells: 'Code cells',
    showCellsHint: 'Also list the code cells',
    resize: 'Width of the outline',
    untitled: 'Untitled',
    status: Object.freeze({ '': '', running: 'running', queued: 'waiting', failed: 'failed' }),
});

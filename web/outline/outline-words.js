// @ts-check
// The texts of the outline.

export const OUTLINE_WORDS = Object.freeze({
    title: 'Outline',
    command: 'Toggle the outline',
    hint: 'Arrow keys move, Enter goes to the cell, Left and Right collapse and expand sections.',
    none: 'Headings of text cells and labels of states appear here.',
    showCells: 'Code cells',
    showCellsHint: 'List all code cells, not only those with a label',
    resize: 'Width of the outline',
    untitled: 'Untitled',
    status: Object.freeze({ '': '', running: 'running', queued: 'waiting', failed: 'failed' }),
});

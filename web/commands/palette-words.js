// @ts-check
// The texts of the command palette and of the shortcut sheet.

export const PALETTE_WORDS = Object.freeze({
    hint: 'Search commands',
    none: 'No matching commands',
    recent: 'recently used',
    searchKeys: 'Search shortcuts',
    commandMode: 'in command mode',
    graphMode: 'when the graph has the focus',
    keysWhy:
        'Esc leaves the editor for command mode, where single letters are commands. Enter returns to the ' +
        'editor.',
    print: 'Print',
    close: 'Close',
});

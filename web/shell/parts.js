// @ts-check
// The parts of the notebook page that are loaded after the first paint; see lazy-parts.js. Only the
// entry imports this table, so that a part may itself use lazy-parts.js without an import cycle.

export const PARTS = {
    compare: () => import('../compare/compare-view.js'),
    finder: () => import('../find/find-panel.js'),
    markdown: () => import('../outputs/markdown.js'),
    math: () => import('../outputs/formula-view.js'),
    palette: () => import('../commands/palette.js'),
    pick: () => import('../compare/state-picker.js'),
    share: () => import('../share/share-dialog.js'),
    sheet: () => import('../commands/shortcuts-sheet.js'),
    variables: () => import('../variables/variables-pane.js'),
};

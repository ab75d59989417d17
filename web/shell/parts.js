// @ts-check
// The parts of the notebook page that are loaded after the first paint; see lazy-parts.js. Only the
// entry imports this table, so that a part may itself use lazy-parts.js without an import cycle.

export const PARTS = {
    agents: () => import('../agents/agents-view.js'),
    attachPictures: () => import('../files/attach-pictures.js'),
    branches: () => import('../branches/branches-dialog.js'),
    compare: () => import('../compare/compare-view.js'),
    dropped: () => import('../notebook/dropped-files.js'),
    files: () => import('../files/files-pane.js'),
    finder: () => import('../find/find-panel.js'),
    lint: () => import('../lint/lint.js'),
    markdown: () => import('../outputs/markdown.js'),
    markdownEditing: () => import('../editor/markdown-editing.js'),
    math: () => import('../outputs/formula-view.js'),
    outline: () => import('../outline/outline-pane.js'),
    palette: () => import('../commands/palette.js'),
    pick: () => import('../compare/state-picker.js'),
    python: () => import('../python/python-dialog.js'),
    sandbox: () => import('../sandbox/sandbox-view.js'),
    settings: () => import('../settings/settings-dialog.js'),
    share: () => import('../share/share-dialog.js'),
    sheet: () => import('../commands/shortcuts-sheet.js'),
    stateCard: () => import('../graph/state-card.js'),
    sweep: () => import('../sweep/sweep-part.js'),
    table: () => import('../table/grid-dialog.js'),
    take: () => import('../take/take-dialog.js'),
    trash: () => import('../trash/trash-dialog.js'),
    variables: () => import('../variables/variables-pane.js'),
    variants: () => import('../variants/variants-dialog.js'),
    widgets: () => import('../widgets/widget-output.js'),
    vim: () => import('../editor/vim-keys.js'),
};

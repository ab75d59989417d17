// @ts-check
// The texts of the dialog with the settings.

export const SETTINGS_DIALOG_WORDS = Object.freeze({
    title: 'Settings',
    why: Object.freeze({
        owner: 'The server keeps these settings for its owner: they apply to all notebooks, in every browser.',
        guest: 'These settings are kept in this browser. They apply to all notebooks that it opens here.',
    }),
    failed: 'The server did not answer. This browser keeps your changes and sends them later.',
    find: 'Find a setting',
    none: 'No setting has these words.',
    theme: 'Theme',
    themes: Object.freeze({ auto: 'System', light: 'Light', dark: 'Dark' }),
    codeSize: 'Font size of code and printed text',
    tabWidth: 'Tab width',
    tabHint: 'How wide tab characters are shown. The Tab key inserts four spaces.',
    spaces: (/** @type {number} */ n) => `${n} spaces`,
    wraps: 'Wrap long lines of code',
    numbers: 'Line numbers',
    autoclose: 'Close brackets and quotes',
    autocloseHint: 'Typing ( also inserts ), and selected code gets both around it',
    advances: 'Shift-Enter goes to the next cell',
    advancesHint: 'Otherwise it stays in its cell, as Ctrl-Enter does',
    diagnostics: 'Mark problems in code',
    diagnosticsHint: 'Syntax errors, and what ruff finds if it is installed',
    vim: 'Vim keys',
    vimHint: 'Esc in normal mode leaves the editor.',
    notifications: 'Notifications',
    notificationsHint:
        'When cells end, fail or wait for input while you look elsewhere. Kept in this browser.',
});

// @ts-check
// The texts of the settings.

export const SETTINGS_WORDS = Object.freeze({
    menu: 'Settings…',
    title: 'Settings',
    why: 'These settings are stored in this browser. They apply to all notebooks that it opens here.',
    theme: 'Theme',
    themes: Object.freeze({ auto: 'System', light: 'Light', dark: 'Dark' }),
    codeSize: 'Font size of code and printed text',
    tabWidth: 'Tab width',
    tabHint: 'How wide tab characters are shown. The Tab key inserts four spaces.',
    spaces: (/** @type {number} */ n) => `${n} spaces`,
    wraps: 'Wrap long lines of code',
    numbers: 'Line numbers',
    diagnostics: 'Mark problems in code',
    diagnosticsHint: 'Syntax errors, and what ruff finds if it is installed',
    vim: 'Vim keys',
    vimHint: 'Esc in normal mode leaves the editor.',
    notifications: 'Notifications',
    notificationsHint: 'When cells end, fail or wait for input while you look elsewhere',
    also: 'preferences options font size tab width wrap line numbers lint ruff errors vim notifications theme alert',
});

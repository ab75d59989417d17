// @ts-check
// The names by which the settings are found.

export const SETTINGS_WORDS = Object.freeze({
    menu: 'Settings…',
    also: 'preferences options font size tab width wrap line numbers brackets quotes autoclose lint ruff errors vim notifications theme alert',
});

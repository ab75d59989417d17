// @ts-check
// The settings of the editors. This browser stores them for all its tabs, and the server keeps
// those of its owner (kept-settings.js). The theme (ui/theme.js) and notifications
// (notebook/away.js) are stored beside them.

/**
 * @typedef {object} Settings
 * @property {number} codeSize the font size of code, in px
 * @property {number} tabWidth the width of a tab character, in spaces
 * @property {boolean} wraps whether long lines of code wrap
 * @property {boolean} numbers whether editors show line numbers
 * @property {boolean} autoclose whether typing an opening bracket or quote inserts the closing one
 * @property {boolean} advances whether Shift-Enter goes to the next cell
 * @property {boolean} diagnostics whether problems in code are marked
 * @property {boolean} vim whether editors have the keys of vim
 */

/** @type {(from: number, to: number) => number[]} */
const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

/** The possible values of each setting. The first is the default. */
export const CHOICES = Object.freeze({
    codeSize: [13, 12, ...range(14, 20)],
    tabWidth: [4, 2, 8],
    wraps: [false, true],
    numbers: [false, true],
    autoclose: [true, false],
    advances: [true, false],
    diagnostics: [true, false],
    vim: [false, true],
});

/** @param {keyof Settings} name */
const storageKey = (name) => `ratoon.${name === 'numbers' ? 'lineNumbers' : name}`;

/** The text that stands for a value. @param {number | boolean} value */
export const written = (value) => (typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value));

/**
 * The settings from their texts. A missing or invalid text is replaced by the default.
 * @param {(name: keyof Settings) => string | null} read
 * @returns {Settings}
 */
export function settingsIn(read) {
    /** @type {Record<string, number | boolean | undefined>} */
    const found = {};
    for (const [name, values] of Object.entries(CHOICES)) {
        const text = read(/** @type {keyof Settings} */ (name));
        found[name] = values.find((value) => written(value) === text) ?? values[0];
    }
    return /** @type {Settings} */ (/** @type {unknown} */ (found));
}

/** The settings of this browser. */
export const settings = () => settingsIn((name) => localStorage.getItem(storageKey(name)));

/** @type {Set<() => void>} */
const listeners = new Set();
let isWatching = false;

/** Calls all listeners. */
export const announce = () => {
    for (const listener of listeners) listener();
};

/**
 * @template {keyof Settings} N
 * @param {N} name
 * @param {Settings[N]} value
 */
export function setSetting(name, value) {
    if (value === CHOICES[name][0]) localStorage.removeItem(storageKey(name));
    else localStorage.setItem(storageKey(name), written(value));
    announce();
}

/**
 * @param {() => void} listener called after a change of the settings in this or in another tab
 * @returns {() => void} removes the listener
 */
export function onSettings(listener) {
    if (!isWatching) addEventListener('storage', announce);
    isWatching = true;
    listeners.add(listener);
    return () => listeners.delete(listener);
}

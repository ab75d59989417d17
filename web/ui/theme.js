// @ts-check
// Light, dark or system theme, remembered in this browser. early.js applies it before the first
// paint.

const KEY = 'ratoon.theme';
/** The themes that users can choose; `auto` is that of the system. */
export const THEMES = Object.freeze(['auto', 'light', 'dark']);
const system = matchMedia('(prefers-color-scheme: dark)');
/** @type {Set<() => void>} */
const listeners = new Set();

/** The chosen theme. @returns {string} */
export function chosenTheme() {
    const chosen = localStorage.getItem(KEY) ?? '';
    return THEMES.includes(chosen) ? chosen : 'auto';
}

/** The theme in effect. @returns {'light' | 'dark'} */
export function shownTheme() {
    const chosen = chosenTheme();
    if (chosen === 'light' || chosen === 'dark') return chosen;
    return system.matches ? 'dark' : 'light';
}

/** @param {string} theme one of `THEMES` */
export function setTheme(theme) {
    if (theme === 'auto') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
    apply();
}

/** Switches to the next of the three themes. */
export const nextTheme = () =>
    setTheme(THEMES[(THEMES.indexOf(chosenTheme()) + 1) % THEMES.length] ?? 'auto');

function apply() {
    const chosen = chosenTheme();
    if (chosen === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
    for (const listener of listeners) listener();
}

/**
 * @param {() => void} listener called when the theme in effect may have changed
 * @returns {() => void} removes the listener
 */
export function onTheme(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
}

system.addEventListener('change', apply);
// Another tab has changed the theme.
addEventListener('storage', ({ key }) => (key === KEY || key === null) && apply());

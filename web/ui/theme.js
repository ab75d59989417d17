// @ts-check
// Light, dark or system theme, remembered in this browser. early.js applies it before the first
// paint.

const KEY = 'ratoon.theme';
const ORDER = ['auto', 'light', 'dark'];
const system = matchMedia('(prefers-color-scheme: dark)');
/** @type {Set<() => void>} */
const listeners = new Set();

/** The chosen theme. @returns {string} */
export const chosenTheme = () => localStorage.getItem(KEY) ?? 'auto';

/** The theme in effect. @returns {'light' | 'dark'} */
export function shownTheme() {
    const chosen = chosenTheme();
    if (chosen === 'light' || chosen === 'dark') return chosen;
    return system.matches ? 'dark' : 'light';
}

/** Switches to the next of the three themes. */
export function nextTheme() {
    const next = ORDER[(ORDER.indexOf(chosenTheme()) + 1) % ORDER.length] ?? 'auto';
    if (next === 'auto') {
        localStorage.removeItem(KEY);
        delete document.documentElement.dataset.theme;
    } else {
        localStorage.setItem(KEY, next);
        document.documentElement.dataset.theme = next;
    }
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

system.addEventListener('change', () => {
    for (const listener of listeners) listener();
});

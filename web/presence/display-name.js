// @ts-check
// What the user wants to be called by the others; kept in this browser.

const KEY = 'ratoon.called';

/** @returns {string | null} */
export const displayName = () => localStorage.getItem(KEY);

/** @param {string} name an empty one: nothing */
export function setDisplayName(name) {
    // What cannot be seen is no name.
    const seen = name.replace(/\p{C}/gu, '').trim();
    if (seen) localStorage.setItem(KEY, seen);
    else localStorage.removeItem(KEY);
}

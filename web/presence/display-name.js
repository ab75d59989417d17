// @ts-check
// The user's display name, stored in this browser.

const KEY = 'ratoon.called';

/** @returns {string | null} */
export const displayName = () => localStorage.getItem(KEY);

/** @param {string} name an empty name removes the stored one */
export function setDisplayName(name) {
    // A name of only invisible characters counts as empty.
    const seen = name.replace(/\p{C}/gu, '').trim();
    if (seen) localStorage.setItem(KEY, seen);
    else localStorage.removeItem(KEY);
}

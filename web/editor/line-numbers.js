// @ts-check
// Line numbers, in all editors or in none. This browser remembers the choice.

import { Compartment, lineNumbers } from '../vendor/codemirror.js';

const KEY = 'ratoon.lineNumbers';
const compartment = new Compartment();
/** @type {Set<import('../vendor/codemirror.js').EditorView>} */
const editors = new Set();

const isWanted = () => localStorage.getItem(KEY) === 'yes';
const wanted = () => (isWanted() ? lineNumbers() : []);

/** Registers an editor. Call the returned function when it is destroyed. */
export const numbers = () => compartment.of(wanted());

/** @param {import('../vendor/codemirror.js').EditorView} view @returns {() => void} unregister */
export function numbered(view) {
    editors.add(view);
    return () => editors.delete(view);
}

export function toggleNumbers() {
    if (isWanted()) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, 'yes');
    for (const view of editors) view.dispatch({ effects: compartment.reconfigure(wanted()) });
}

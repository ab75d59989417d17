// @ts-check
// Line numbers, in all editors or in none. This browser remembers the choice.

import { Compartment, lineNumbers } from '../vendor/codemirror.js';

const KEY = 'ratoon.lineNumbers';
const compartment = new Compartment();
/** @type {Set<import('../vendor/codemirror.js').EditorView>} */
const editors = new Set();

const isWanted = () => localStorage.getItem(KEY) === 'yes';
const wanted = () => (isWanted() ? lineNumbers() : []);

/** The extension of an editor that shows line numbers if they are wanted. */
export const numbers = () => compartment.of(wanted());

/**
 * Registers an editor, so that `toggleNumbers` changes it.
 * @param {import('../vendor/codemirror.js').EditorView} view
 * @returns {() => void} to be called when the editor is destroyed
 */
export function numbered(view) {
    editors.add(view);
    return () => editors.delete(view);
}

export function toggleNumbers() {
    if (isWanted()) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, 'yes');
    for (const view of editors) view.dispatch({ effects: compartment.reconfigure(wanted()) });
}

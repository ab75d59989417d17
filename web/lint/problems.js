// @ts-check
// The problems in the code of the cells, as the server reports them. Pure.

import { LINT_WORDS as WORDS } from './lint-words.js';
import { toUnits } from '../text/points.js';

/** @typedef {{key: string, text: string}} CodeCell */
/**
 * @typedef {{from: number, to: number, severity: 'error' | 'warning', message: string,
 *   source: string}} Problem `from`, `to`: offsets in UTF-16 units
 */

/**
 * @param {string} text the code
 * @param {import('../shell/protocol-types').SyntaxProblem | null} error
 * @returns {Problem[]}
 */
export const ofSyntax = (text, error) =>
    error ? [{ ...range(text, error), severity: 'error', message: error.message, source: WORDS.syntax }] : [];

/**
 * Sorts ruff's problems by cell.
 * @param {readonly CodeCell[]} cells those that were sent
 * @param {readonly import('./lint-api.js').LintProblem[]} found
 * @returns {Map<string, Problem[]>} by the keys of all cells
 */
export function ofRuff(cells, found) {
    const all = new Map(cells.map(({ key }) => [key, /** @type {Problem[]} */ ([])]));
    for (const { cell, from, to, code, message } of found) {
        const { key = '', text = '' } = cells[cell] ?? {};
        all.get(key)?.push({
            ...range(text, { from, to }),
            severity: 'warning',
            message,
            source: WORDS.ruff(code),
        });
    }
    return all;
}

/** @param {string} text @param {{from: number, to: number}} points */
const range = (text, { from, to }) => ({ from: toUnits(text, from), to: toUnits(text, to) });

/**
 * Whether two lists have the same cells with the same code.
 * @param {readonly CodeCell[]} a
 * @param {readonly CodeCell[]} b
 */
export const areSame = (a, b) =>
    a.length === b.length && a.every(({ key, text }, i) => key === b[i]?.key && text === b[i]?.text);

// @ts-check
// The HTTP requests that lint and format code.

import { jsonRequest, serverPath } from '../shell/server-path.js';
import { WORDS } from '../shell/words.js';
import { LINT_WORDS } from './lint-words.js';

/**
 * @typedef {{cell: number, from: number, to: number, code: string, message: string}} LintProblem
 *   `from`, `to`: in code points from the beginning of the cell
 */
/**
 * @typedef {{ruff: string | null, failure: string | null, problems: LintProblem[]}} Linted
 *   `ruff`: null if ruff was not found; `failure`: why ruff failed
 */
/** @typedef {{code: string | null, failure: string | null}} Formatted */

/** @param {string} notebook @param {'lint' | 'format'} what @param {string[]} cells */
const post = (notebook, what, cells) =>
    fetch(serverPath(`/api/notebooks/${encodeURIComponent(notebook)}/${what}`), jsonRequest({ cells }));

/**
 * @param {string} notebook
 * @param {string[]} cells the code of the cells
 * @returns {Promise<Linted | null>} null without an answer
 */
export async function lint(notebook, cells) {
    try {
        const answer = await post(notebook, 'lint', cells);
        return answer.ok ? await answer.json() : null;
    } catch {
        return null;
    }
}

/**
 * @param {string} notebook
 * @param {string[]} cells the code of the cells
 * @returns {Promise<{cells: Formatted[] | null, why: string, isMissing: boolean}>} `why`: the
 *   refusal; `isMissing`: because there is no ruff
 */
export async function format(notebook, cells) {
    try {
        const answer = await post(notebook, 'format', cells);
        const told = await answer.json();
        if (!answer.ok)
            return {
                cells: null,
                why: WORDS.refused(told.error),
                isMissing: told.error.code === 'not_found',
            };
        return { cells: told.cells, why: '', isMissing: false };
    } catch {
        return { cells: null, why: LINT_WORDS.noAnswer, isMissing: false };
    }
}

/** Installs ruff for Ratoon. @returns {Promise<string>} why it was not installed, else '' */
export async function installRuff() {
    try {
        const answer = await fetch(serverPath('/api/ruff'), jsonRequest({}));
        return answer.ok ? '' : WORDS.refused((await answer.json()).error);
    } catch {
        return LINT_WORDS.noAnswer;
    }
}

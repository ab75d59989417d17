// @ts-check
// The entry script of the worker of Find: runs regular expressions, which may take very long. Gets
// one job after the other; see find/regex-worker.js.

import { matchesIn, replaceIn } from './find/matches.js';

/** @typedef {import('./find/matches.js').Matches} Matches */
/**
 * @typedef {{pattern: RegExp, texts: string[], by?: string, only?: number}} Job Finds the matches
 *   in texts or, with `by`, replaces them; with `only`, just the one at this offset.
 */
/** @typedef {{matches?: Matches[], texts?: string[]}} Result One entry for each text of the job. */

/** @param {Job} job @returns {Result} */
function done({ pattern, texts, by, only }) {
    return by === undefined
        ? { matches: texts.map((text) => matchesIn(text, pattern)) }
        : { texts: texts.map((text) => replaceIn(text, pattern, by, true, only)) };
}

addEventListener('message', ({ data }) => {
    postMessage('begun');
    try {
        postMessage(done(data));
    } catch {
        // The expression needs more memory than there is.
        postMessage('failed');
    }
});

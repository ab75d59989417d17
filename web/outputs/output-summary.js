// @ts-check
// What a run has shown, in a few words: for collapsed outputs and for screen readers. Pure.

import { textOf } from './output-text.js';
import { OUTPUT_WORDS } from './output-words.js';

/** @typedef {import('../shell/model.js').Run} Run */
/** @typedef {import('../shell/model.js').Item} Item */

/** The longest text that `gist` repeats, in characters. */
const SHORT = 80;

/** A short summary of all outputs. @param {Run} run */
export function summary(run) {
    const lines = run.outputs.reduce(
        (sum, item) =>
            item.output_type === 'stream'
                ? sum + item.pieces.reduce((n, piece) => n + lineEnds(piece), 0)
                : sum,
        0,
    );
    const others = run.outputs.filter(
        (item) => item.output_type !== 'stream' && item.output_type !== 'error',
    ).length;
    const isBad = run.error || run.outputs.some((item) => item.output_type === 'error');
    return (
        [
            lines && OUTPUT_WORDS.lines(lines),
            others && OUTPUT_WORDS.others(others),
            isBad && OUTPUT_WORDS.error,
        ]
            .filter(Boolean)
            .join(', ') || OUTPUT_WORDS.lines(1)
    );
}

/** @param {string} text */
function lineEnds(text) {
    let n = 0;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) n += 1;
    return n;
}

/** The text of a run's only output if it is short, otherwise a summary. @param {Run} run */
export function gist(run) {
    const [item, ...more] = run.outputs;
    if (!item) return OUTPUT_WORDS.silent;
    const text = more.length === 0 && isPlain(item) ? textOf(item).trim() : '';
    return text && text.length <= SHORT && !/[\n\r\x1b]/.test(text) ? text : summary(run);
}

/**
 * Whether an output is printed text, or a result without another representation.
 * @param {Item} item
 */
const isPlain = (item) =>
    item.output_type === 'stream' || (item.output_type !== 'error' && Object.keys(item.data).length === 1);

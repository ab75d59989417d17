// @ts-check
// The texts of a cell's outputs that Find searches: prints, plain results and error messages. Pure.

import { choose } from '../outputs/mime.js';
import { textOf } from '../outputs/output-text.js';
import { plainLines } from '../text/terminal.js';

/** @typedef {import('../shell/model.js').Run} Run */
/** @typedef {import('../shell/model.js').Item} Item */

/** How much of an output is searched, in characters. */
const MOST = 1_000_000;

/** What was read, by run: outputs grow, and each paint asks again. */
/** @type {WeakMap<Run, {rev: number, texts: string[]}>} */
const read = new WeakMap();

/**
 * The texts of a run's outputs as they are shown, one per output; '' for an output without text.
 * The error that ended the run is the last one.
 * @param {Run | undefined} run
 * @returns {string[]}
 */
export function outputTexts(run) {
    if (!run) return [];
    const known = read.get(run);
    if (known?.rev === run.rev) return known.texts;
    const texts = run.outputs.map(shownText);
    if (run.error && !run.outputs.some((item) => item.output_type === 'error'))
        texts.push(messageOf(run.error));
    read.set(run, { rev: run.rev, texts });
    return texts;
}

/** @param {Item} item */
function shownText(item) {
    if (item.output_type === 'error') return messageOf(item);
    if (item.output_type !== 'stream' && !isPlain(item)) return '';
    return plainLines(textOf(item).slice(0, MOST)).join('\n');
}

/** @param {{ename: string, evalue: string}} error */
const messageOf = ({ ename, evalue }) => (evalue ? `${ename}: ${evalue}` : ename);

/**
 * Whether a result is shown as text, or as a table that is also given as text.
 * @param {Extract<Item, {data: any}>} item
 */
function isPlain({ data }) {
    const chosen = choose(data);
    return chosen.how === 'text' || (chosen.how === 'frame' && /<table/i.test(chosen.data));
}

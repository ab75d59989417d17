// @ts-check
// The text of a run's outputs: its last line, for a row of the graph, and what a search reads.
// Pure.

import { plainLines } from '../text/terminal.js';

/** @typedef {import('../shell/model.js').Run} Run */
/** @typedef {import('../shell/model.js').Item} Item */

/** How much of the end of a text is read for its last line, in characters. */
const READ = 2000;
/** How much of the begin and of the end of a run's text a search reads, in characters. */
const SEARCHED = 10_000;

/**
 * What `lastValue` has found, by run, as each paint asks again.
 * @type {WeakMap<Run, {rev: number, value: string}>}
 */
const found = new WeakMap();
/** What a search has read, by run. @type {WeakMap<Run, {rev: number, text: string}>} */
const read = new WeakMap();

/**
 * @param {Run} run
 * @returns {string} one line; '' if there is none
 */
export function lastValue(run) {
    const known = found.get(run);
    if (known?.rev === run.rev) return known.value;
    let value = '';
    for (let at = run.outputs.length - 1; at >= 0 && !value; at -= 1) value = lastLine(run.outputs[at]);
    found.set(run, { rev: run.rev, value });
    return value;
}

/**
 * What a run has printed and shown as text, in lower case. Of a long text only the begin and the
 * end.
 * @param {Run} run
 */
export function searchedText(run) {
    const known = read.get(run);
    if (known?.rev === run.rev) return known.text;
    const all = run.outputs.map(textOf).join('\n');
    const text = all.length > 2 * SEARCHED ? `${all.slice(0, SEARCHED)}\n${all.slice(-SEARCHED)}` : all;
    const lowered = text.toLowerCase();
    read.set(run, { rev: run.rev, text: lowered });
    return lowered;
}

/** The text that an output was printed as or is shown as. @param {Item} item */
export function textOf(item) {
    if (item.output_type === 'stream') return item.pieces.join('');
    if (item.output_type === 'error') return `${item.ename}: ${item.evalue}`;
    return [item.data['text/plain'] ?? ''].flat().join('');
}

/** @param {Item | undefined} item */
function lastLine(item) {
    if (!item || item.output_type === 'error' || (item.output_type === 'stream' && item.name === 'stderr'))
        return '';
    const lines = plainLines(endOf(item)).map((line) => line.trim());
    const line = lines.findLast(Boolean)?.slice(0, 120) ?? '';
    // The text of a formula or a frame names only its class.
    const isRich = item.output_type !== 'stream' && Object.keys(item.data).length > 1;
    return isRich && line.startsWith('<') ? '' : line;
}

/** @param {Exclude<Item, {output_type: 'error'}>} item */
function endOf(item) {
    if (item.output_type !== 'stream') return textOf(item).slice(-READ);
    let text = '';
    for (let at = item.pieces.length - 1; at >= 0 && text.length < READ; at -= 1)
        text = (item.pieces[at] ?? '') + text;
    return text.slice(-READ);
}

// @ts-check
// The texts of a cell's outputs that Find searches: prints, plain results, tables and error
// messages. Pure.

import { choose } from '../outputs/mime.js';
import { textOf } from '../outputs/output-text.js';
import { plainLines } from '../text/terminal.js';
import { tableText } from './table-text.js';

/** @typedef {import('../shell/model.js').Run} Run */
/** @typedef {import('../shell/model.js').Item} Item */

/** How much of an output is searched, in characters. */
const MOST = 1_000_000;

/**
 * @typedef {{text: string, table: import('./table-text.js').TableText | null}} Searched `table`: if
 *   the text is that of a table's cells
 */

/**
 * What was read, by run: outputs grow, and each paint asks again.
 * @type {WeakMap<Run, {rev: number, isHeld: boolean, outputs: Searched[]}>}
 */
const read = new WeakMap();

/** @param {string} text @returns {Searched} */
const asText = (text) => ({ text, table: null });

/**
 * The texts of a run's outputs as they are shown, one per output; '' for an output without text.
 * The error that ended the run is the last one.
 * @param {Run | undefined} run
 * @param {boolean} [isHeld] whether imported tables are shown as plain text
 * @returns {Searched[]}
 */
export function searchedOutputs(run, isHeld = false) {
    if (!run) return [];
    const known = read.get(run);
    if (known?.rev === run.rev && known.isHeld === isHeld) return known.outputs;
    const isPlain = isHeld && run.status === 'imported';
    const outputs = run.outputs.map((item) => searched(item, isPlain));
    if (run.error && !run.outputs.some((item) => item.output_type === 'error'))
        outputs.push(asText(messageOf(run.error)));
    read.set(run, { rev: run.rev, isHeld, outputs });
    return outputs;
}

/** @param {Item} item @param {boolean} isPlain whether tables are shown as plain text */
function searched(item, isPlain) {
    if (item.output_type === 'error') return asText(messageOf(item));
    if (item.output_type !== 'stream') {
        const { how, data } = choose(item.data);
        if (how === 'frame' && !/<table/i.test(data)) return asText('');
        if (how !== 'text' && how !== 'frame') return asText('');
        const table = how === 'frame' && !isPlain ? tableText(data.slice(0, MOST)) : null;
        if (table?.starts.length) return { text: table.text, table };
    }
    return asText(plainLines(textOf(item).slice(0, MOST)).join('\n'));
}

/** @param {{ename: string, evalue: string}} error */
const messageOf = ({ ename, evalue }) => (evalue ? `${ename}: ${evalue}` : ename);

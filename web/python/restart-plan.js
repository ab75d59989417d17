// @ts-check
// What comes back, and how, when a notebook is restarted in another Python. Pure.

import { PYTHON_WORDS as WORDS } from './python-words.js';
import { otherSeries } from './python-names.js';

/**
 * The sentences that say what comes back. `version` is null if it is not known yet.
 * @param {Iterable<import('../shell/protocol.js').State>} states
 * @param {string | null} version
 * @returns {string[]}
 */
export function restartPlan(states, version) {
    let [whole, lacking, untrusted, replay] = [0, 0, 0, 0];
    /** The number of states that each other series saved. @type {Map<string, number>} */
    const values = new Map();
    /** @type {Set<string>} */
    const series = new Set();
    for (const { parent, living, checkpoint } of states) {
        if (parent === null || living === 'deleted') continue;
        const other = version === null ? null : otherSeries(checkpoint, { version });
        if (!checkpoint) replay += 1;
        else if (!checkpoint.is_trusted) untrusted += 1;
        else if (other) values.set(other, (values.get(other) ?? 0) + 1);
        else if (checkpoint.missing.length > 0 || checkpoint.form === 'data') lacking += 1;
        else whole += 1;
        if (checkpoint?.is_trusted && checkpoint.python && version === null) series.add(checkpoint.python);
    }
    return [
        whole > 0 && WORDS.whole(whole),
        ...[...series].map((by) => WORDS.valuesIfOther(by)),
        ...[...values].map(([by, n]) => WORDS.values(n, by)),
        lacking > 0 && WORDS.lacking(lacking),
        untrusted > 0 && WORDS.untrusted(untrusted),
        replay > 0 && WORDS.replay(replay),
    ].flatMap((sentence) => sentence || []);
}

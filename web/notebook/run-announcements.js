// @ts-check
// Announces to screen readers how the runs of this tab end: each failure at once, and the successes
// when no run is left, so that twenty cells say one sentence. Pure.

import { gist } from '../outputs/output-summary.js';
import { WORDS } from '../shell/words.js';

/** @typedef {import('../shell/model.js').Run} Run */

/** The longest error that is announced, in characters. */
const LONGEST = 200;

export class RunAnnouncements {
    /** @param {(text: string) => void} announce */
    constructor(announce) {
        this.announce = announce;
        /** The number of cells that have finished since the last announcement. */
        this.finished = 0;
    }

    /**
     * @param {Run} run the run that has ended
     * @param {number} count the number of the cell; 0 if the run left no state
     * @param {boolean} isLast whether no other run of this tab is open
     */
    ended(run, count, isLast) {
        // The run before it failed or was stopped, which has been announced.
        if (run.status === 'interrupted' && run.started_at === null && !isLast) return;
        if (run.status === 'ok') this.finished += 1;
        if (run.status === 'ok' && !isLast) return;
        const said =
            run.status !== 'ok'
                ? WORDS.endedBadly(
                      WORDS.failed[/** @type {'error'} */ (run.status)] ?? run.status,
                      run.error ? `${run.error.ename}: ${run.error.evalue}`.slice(0, LONGEST) : '',
                  )
                : this.finished > 1
                  ? WORDS.endedAll(this.finished, count, gist(run))
                  : WORDS.endedWell(count, gist(run));
        this.finished = 0;
        this.announce(said);
    }
}

// Deterministic random notebooks for the graph tests.

import { Model } from '../../web/shell/model.js';
import { run, snapshot, state } from './records.mjs';

/** A random number generator: equal seeds give equal numbers. */
export function dice(seed) {
    let at = seed * 7919 + 1;
    return (below) => {
        at = (at * 48271) % 2147483647;
        return at % below;
    };
}

/**
 * The state that a run ran against.
 * @param {import('./records.mjs').Run | import('../../web/shell/model.js').Run} run
 */
export const baseOf = ({ on }) => ('state' in on ? on.state : null);

/** A model that receives the events of a growing notebook. */
export class Growing {
    constructor() {
        this.model = new Model();
        this.count = 0;
        this.model.load(snapshot());
    }

    /** Begins a run at a state. @returns {string} the id of the run */
    begin(on, code = `x = ${this.count}`) {
        const exec_id = `r${(this.count += 1)}`;
        this.model.fold({
            event: 'run_added',
            run: run(exec_id, on, { code, status: 'queued', started_at: null, duration_ms: null }),
        });
        this.model.fold({ event: 'run_started', exec_id, on: { state: on }, started_at: this.count });
        return exec_id;
    }

    /**
     * Ends a run, successfully unless another status is given.
     * @param {string} exec_id
     * @param {import('../../web/shell/protocol.js').RunStatus} [status]
     * @returns {string | null} the state
     */
    end(exec_id, status = 'ok', more = {}) {
        const parent = baseOf(this.model.runs.get(exec_id));
        const id = status === 'ok' ? `s${exec_id.slice(1)}` : null;
        if (id)
            this.model.fold({
                event: 'state_added',
                state: state(id, parent, {
                    exec_id,
                    exec_count: this.model.states.get(parent).exec_count + 1,
                    created_at: 1,
                    ...more,
                }),
            });
        this.model.fold({
            event: 'run_ended',
            exec_id,
            status,
            error: status === 'ok' ? null : { ename: 'E', evalue: '', traceback: [] },
            duration_ms: 3,
            state: id,
        });
        return id;
    }

    /** Keeps the changes of a failed run as a state. @returns {string} the state */
    keep(exec_id) {
        const { error } = this.model.runs.get(exec_id);
        const parent = baseOf(this.model.runs.get(exec_id));
        const id = `s${exec_id.slice(1)}`;
        this.model.fold({
            event: 'state_added',
            state: state(id, parent, {
                exec_id,
                exec_count: this.model.states.get(parent).exec_count + 1,
                created_at: 1,
                partial: true,
            }),
        });
        this.model.fold({ event: 'run_ended', exec_id, status: 'error', error, duration_ms: 3, state: id });
        return id;
    }

    run(on, status, more, code) {
        return this.end(this.begin(on, code), status, more);
    }

    /** Runs `count` cells one after another. @returns {string} the last state */
    line(on, count) {
        let at = on;
        for (let i = 0; i < count; i += 1) at = this.run(at);
        return at;
    }
}

/** A notebook that is mostly one lineage, with some branches and failures. */
export function grown(count, seed = 1) {
    const next = dice(seed);
    const growing = new Growing();
    const states = ['initial'];
    for (let i = 1; i < count; i += 1) {
        const on = next(10) < 8 ? states.at(-1) : states[next(states.length)];
        const state = growing.run(on, next(10) === 0 ? 'error' : 'ok');
        if (state) states.push(state);
    }
    return Object.assign(growing, { states });
}

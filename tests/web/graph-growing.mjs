// Notebooks that grow at random, the same each time, for the tests of the graph.

import { Model } from '../../web/shell/model.js';

const STATE = {
    prose: [],
    warnings: [],
    forks: true,
    pinned: false,
    living: 'memory',
    checkpoint: null,
    saving: { now: 'idle' },
    revival: null,
    memory_bytes: null,
    changes: null,
    label: null,
};
const RUN = { draft: null, outputs: [], error: null, prompt: null, duration_ms: null, state: null };

/** The same numbers for the same seed. */
export function dice(seed) {
    let at = seed * 7919 + 1;
    return (below) => {
        at = (at * 48271) % 2147483647;
        return at % below;
    };
}

/** A notebook as the server would tell of it. */
export class Growing {
    constructor() {
        this.model = new Model();
        this.count = 0;
        this.model.load({
            name: 'main',
            states: [
                {
                    ...STATE,
                    id: 'initial',
                    name: 'initial',
                    parent: null,
                    exec_id: null,
                    exec_count: 0,
                    created_at: 0,
                },
            ],
            runs: [],
            drafts: [],
            trouble: null,
            people: [],
        });
    }

    /** A run begins at a state. @returns {string} its id */
    begin(on, code = `x = ${this.count}`) {
        const exec_id = `r${(this.count += 1)}`;
        this.model.fold({
            event: 'run_added',
            run: { ...RUN, exec_id, on: { state: on }, code, status: 'queued', started_at: null },
        });
        this.model.fold({ event: 'run_started', exec_id, on: { state: on }, started_at: this.count });
        return exec_id;
    }

    /** It ends; well, unless a status is given. @returns {string | null} the state */
    end(exec_id, status = 'ok', more = {}) {
        const parent = this.model.runs.get(exec_id).on.state;
        const id = status === 'ok' ? `s${exec_id.slice(1)}` : null;
        if (id)
            this.model.fold({
                event: 'state_added',
                state: {
                    ...STATE,
                    id,
                    name: id,
                    parent,
                    exec_id,
                    exec_count: this.model.states.get(parent).exec_count + 1,
                    created_at: 1,
                    ...more,
                },
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

    /** What it had set until it failed is kept. @returns {string} the state */
    keep(exec_id) {
        const {
            error,
            on: { state: parent },
        } = this.model.runs.get(exec_id);
        const id = `s${exec_id.slice(1)}`;
        this.model.fold({
            event: 'state_added',
            state: {
                ...STATE,
                id,
                name: id,
                parent,
                exec_id,
                exec_count: this.model.states.get(parent).exec_count + 1,
                created_at: 1,
                partial: true,
            },
        });
        this.model.fold({ event: 'run_ended', exec_id, status: 'error', error, duration_ms: 3, state: id });
        return id;
    }

    run(on, status, more, code) {
        return this.end(this.begin(on, code), status, more);
    }

    /** A straight line of cells. @returns {string} the last */
    line(on, count) {
        let at = on;
        for (let i = 0; i < count; i += 1) at = this.run(at);
        return at;
    }
}

/** One that grew mostly straight, branched now and then and failed now and then. */
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

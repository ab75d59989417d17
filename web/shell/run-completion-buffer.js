// @ts-check
// Groups the events of a run's completion. Pure.

/** @typedef {import('./protocol.js').Event} Event */

/**
 * When a run leaves a state, the server sends several events: the state, the moved drafts, the end.
 * They are applied together, so that no paint shows a draft twice or not at all.
 */
export class RunCompletionBuffer {
    constructor() {
        /** Events held until the run has ended. @type {Event[]} */
        this.held = [];
    }

    /** @param {Event} event @returns {Event[]} the events to apply now */
    add(event) {
        const [first = event] = this.held;
        if (first.event !== 'state_added') return [event];
        this.held.push(event);
        const isLast = event.event === 'run_ended' && event.exec_id === first.state.exec_id;
        return isLast || !first.state.exec_id ? this.held.splice(0) : [];
    }
}

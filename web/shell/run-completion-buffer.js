// @ts-check
// Events that belong together. Pure.

/** @typedef {import('./protocol.js').Event} Event */

/**
 * A run that leaves a state says so in several events: the state, the drafts that move on, the end. They are taken together, so
 * that no paint between them shows a draft in two places, or in none.
 */
export class RunCompletionBuffer {
    constructor() {
        /** Events that wait for the end of a run. @type {Event[]} */
        this.held = [];
    }

    /** @param {Event} event @returns {Event[]} what is to be taken now */
    add(event) {
        const [first = event] = this.held;
        if (first.event !== 'state_added') return [event];
        this.held.push(event);
        const isLast = event.event === 'run_ended' && event.exec_id === first.state.exec_id;
        return isLast || !first.state.exec_id ? this.held.splice(0) : [];
    }
}

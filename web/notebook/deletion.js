// @ts-check
// Deleting states and failed attempts, with a moment in which it can be taken back: nothing is sent before that moment is over. No DOM; time
// comes in as `later`.

import { PEOPLE_WORDS as WORDS } from '../presence/presence-words.js';

/** @typedef {import('../shell/model.js').Model} Model */

/** How long it can be taken back, in milliseconds. */
export const UNDO_MS = 8000;
/** More states than this are not deleted without a question. */
const MANY = 50;

export class Deleting {
    /**
     * @param {import('./page.js').Page} page @param {import('./page.js').Around} around
     * @param {{later: (what: () => void, ms: number) => unknown, notLater: (timer: any) => void}} time
     */
    constructor(page, around, time) {
        this.page = page;
        this.around = around;
        this.time = time;
        /** The states, and the runs of attempts, that are shown as going. @type {Set<string>} */
        this.going = new Set();
        /** What waits to be sent. @type {{command: import('../shell/protocol.js').Command, stood: string | null, timer: unknown} | null} */
        this.waiting = null;
        this.offer = { text: WORDS.undo, act: () => this.undo() };
    }

    /** Deletes a state, or it and all that grew from it. @param {string} state @param {boolean} subtree */
    async begin(state, subtree) {
        const { model } = this.page;
        const parent = model.states.get(state)?.parent;
        if (!parent) return;
        const ids = subtree ? subtreeOf(model, state) : [state];
        if (subtree && !(await this.#mayGo(ids))) return;
        const { here } = this.page;
        const stood = ids.includes(here) ? here : null;
        this.#wait({ do: 'delete_state', state, subtree }, ids, stood);
        if (stood) this.page.goTo(parent, true);
        const count = ids.filter((id) => model.states.get(id)?.living !== 'deleted').length;
        this.page.say(WORDS.deleted(count), false, { act: this.offer });
    }

    /** Forgets a failed attempt. @param {string} exec_id */
    forget(exec_id) {
        if (this.going.has(exec_id)) return;
        const stood = this.page.attempt === exec_id ? exec_id : null;
        this.#wait({ do: 'drop_attempt', exec_id }, [exec_id], stood);
        if (stood) this.page.goTo(this.page.here, true);
        this.page.say(WORDS.forgotten, false, { act: this.offer });
    }

    /** @param {import('../shell/protocol.js').Command} command @param {string[]} ids @param {string | null} stood */
    #wait(command, ids, stood) {
        this.commit();
        this.going = new Set([...this.going, ...ids]);
        this.waiting = { command, stood, timer: this.time.later(() => this.commit(), UNDO_MS) };
        this.around.changed();
    }

    /** @param {string[]} ids */
    async #mayGo(ids) {
        const { model } = this.page;
        const running = model.openRuns().filter((run) => ids.includes(model.baseOf(run) ?? '')).length;
        if (ids.length <= MANY && !running) return true;
        return this.around.ask({
            title: WORDS.deleteAsk(ids.length),
            why: WORDS.deleteWhy(running),
            act: WORDS.deleteDo(ids.length),
            isBad: true,
        });
    }

    /** Takes back what was not sent yet. */
    undo() {
        const { waiting } = this;
        if (!waiting) return;
        this.time.notLater(waiting.timer);
        this.waiting = null;
        this.going = new Set();
        if (waiting.stood) this.page.goTo(waiting.stood, true);
        this.#hush();
        this.around.changed();
    }

    /** Sends what waits: its moment is over, or the page is going. */
    async commit() {
        const { waiting } = this;
        if (!waiting) return;
        this.time.notLater(waiting.timer);
        this.waiting = null;
        this.#hush();
        const ids = [...this.going];
        const reply = await this.around.send(waiting.command);
        // Others may be going by now.
        this.going = new Set([...this.going].filter((id) => !ids.includes(id)));
        const isGone = reply.kind === 'refused' && reply.code === 'not_found';
        if (!isGone) this.page.refused(reply);
        this.around.changed();
    }

    /** The offer to take it back is over. */
    #hush() {
        if (this.page.notice?.act === this.offer) this.page.hush();
    }
}

/** A state and all that grew from it, in the order in which they grew. @param {Model} model @param {string} id @returns {string[]} */
export function subtreeOf(model, id) {
    const found = [id];
    for (const one of found) found.push(...(model.children.get(one) ?? []));
    return found;
}

/** How many states below one are still there. @param {Model} model @param {string} id @param {Set<string>} [going] */
export const countBelow = (model, id, going = new Set()) =>
    subtreeOf(model, id)
        .slice(1)
        .filter((one) => model.states.get(one)?.living !== 'deleted' && !going.has(one)).length;

// @ts-check
// The steps by which a person has changed the notebook, and how to undo and redo them. A step is
// data: the difference that it made to the drafts and texts of the page. So it survives a reload,
// and an undo is a step like any other, which can be undone too. Pure.

import { pieceKey } from './cell-operations.js';
import { newId } from '../text/format.js';
import { EDITOR_WORDS as WORDS } from '../editor/editor-words.js';

/** @typedef {import('../shell/protocol.js').Draft} Draft */
/** @typedef {import('../notebook/state-deletion.js').Deleted} Deleted */
/**
 * @typedef {{draft: Draft, after: string | null}} Placed a draft, and the one above it at its
 *   position
 */

/**
 * A change of the notebook's cells. Of each pair, the first is what was there before; null:
 * nothing.
 * @typedef {object} Step
 * @property {string} said what was done, for the list
 * @property {number} at when, in milliseconds since 1970
 * @property {string} key of the cell that has the focus after an undo
 * @property {{id: string, was: Placed | null, now: Placed | null}[]} drafts in order; added,
 *   deleted, or with another text or kind
 * @property {{id: string, after: string | null}[]} moved drafts, in their former order, each with
 *   the one that was above it
 * @property {{state: string, was: string[], now: string[]}[]} prose the texts above the code of
 *   states
 * @property {[string, string] | null} stood where the page was, if it went elsewhere
 * @property {Deleted | null} deletion of states or a failed attempt
 * @property {Deleted | null} again of a step that was undone: the deletion that it repeats
 */

/** @typedef {import('../notebook/page.js').Page} Page */
/** What a step can change. @typedef {ReturnType<typeof shownOn>} Shown */

/** The maximum number of steps, and of characters that the tab keeps of them. */
const KEPT = 50;
const KEPT_CHARACTERS = 500_000;

export class UndoHistory {
    /**
     * The deletion that belongs to the step that is being made.
     * @type {{deletion: Deleted | null} | null}
     */
    #open = null;

    /**
     * @param {import('../notebook/page.js').Page} page
     * @param {{onUndo: () => void, clock: () => number}} host `onUndo`: called by the Undo button
     *   of a notice; `clock`: milliseconds since 1970
     */
    constructor(page, { onUndo, clock }) {
        this.page = page;
        this.clock = clock;
        const kept = page.host.recall('undo');
        /** The steps that can be undone, newest last. @type {Step[]} */
        this.done = kept?.done ?? [];
        /** The steps that were undone, newest last. @type {Step[]} */
        this.undone = kept?.undone ?? [];
        /** The Undo button of the notice about the newest step. */
        this.offer = { text: WORDS.undo, act: onUndo };
        page.deletion.onDeleted = (deletion, said) => {
            if (this.#open) this.#open.deletion ??= deletion;
            else this.#push({ ...nothing(said, ''), deletion });
        };
    }

    /**
     * Makes a change as one step.
     * @template T
     * @param {() => T} change
     * @param {{said: string | ((made: T) => string), key?: string, isTold?: boolean,
     *   untilRun?: boolean, moved?: string[]}} how `said`: names the step; `key`: see `Step`;
     *   `isTold`: whether a notice offers the undo; `untilRun`: whether only until a cell runs,
     *   because it says what waits to run; `moved`: the drafts that it moves
     * @returns {T}
     */
    record(change, { said, key = '', isTold = false, untilRun = false, moved = [] }) {
        const { made, step } = this.#recorded(change, moved);
        if (!isEmpty(step)) {
            step.said = typeof said === 'string' ? said : said(made);
            step.key = key;
            this.undone = [];
            this.#push(step);
            if (isTold) this.page.notify(step.said, false, { act: this.offer, untilRun });
        }
        return made;
    }

    /**
     * @template T
     * @param {() => T} change
     * @param {string[]} moved
     */
    #recorded(change, moved) {
        const { page } = this;
        const before = shownOn(page);
        const open = (this.#open = { deletion: null });
        const made = change();
        this.#open = null;
        // The drafts that it opened.
        page.saveTabState();
        const step = { ...nothing('', ''), ...difference(before, shownOn(page)), ...open };
        if (made)
            step.moved = [...before.drafts.values()].flatMap(({ draft: { id }, after }) =>
                moved.includes(id) ? [{ id, after }] : [],
            );
        return { made, step };
    }

    /** @param {Step} step */
    #push(step) {
        // The Undo button of an older notice would undo this newer step.
        this.dismissOffer();
        this.done.push({ ...step, at: this.clock() });
        this.done.splice(0, this.done.length - KEPT);
        this.#keep();
    }

    dismissOffer() {
        if (this.page.notice?.act === this.offer) this.page.dismissNotice();
    }

    /** Keeps the newest steps for the time after a reload. */
    #keep() {
        let room = KEPT_CHARACTERS;
        const fitting = (/** @type {Step[]} */ steps) =>
            steps.slice(steps.findLastIndex((step) => (room -= JSON.stringify(step).length) < 0) + 1);
        this.page.host.remember('undo', { done: fitting(this.done), undone: fitting(this.undone) });
    }

    /**
     * Undoes the newest step.
     * @returns {Step | null} the step, with the key that its cell now has; null if nothing of it
     *   can be undone any more
     */
    undo() {
        return this.#revert(this.done, this.undone);
    }

    /** Makes the step again that was undone last. @returns {Step | null} */
    redo() {
        return this.#revert(this.undone, this.done);
    }

    /** @param {Step[]} from @param {Step[]} to @returns {Step | null} */
    #revert(from, to) {
        const step = from.pop();
        if (!step) return null;
        this.dismissOffer();
        const { made: ids, step: back } = this.#recorded(
            () => takeBack(this.page, step),
            step.moved.map(({ id }) => id),
        );
        if (ids) this.#rename(ids);
        const shown = { ...step, key: ids?.get(step.key) ?? step.key };
        const known = { said: step.said, at: step.at, key: shown.key, again: step.deletion };
        if (ids && !isEmpty({ ...back, ...known })) to.push({ ...back, ...known });
        this.#keep();
        return ids ? shown : null;
    }

    /**
     * Restored drafts have new ids.
     * @param {Map<string | null, string>} ids the new ids by the old ones
     */
    #rename(ids) {
        if (!ids.size) return;
        const renamed = (/** @type {Step[]} */ steps) =>
            JSON.parse(JSON.stringify(steps), (_, value) => ids.get(value) ?? value);
        for (const steps of [this.done, this.undone]) steps.splice(0, steps.length, ...renamed(steps));
    }
}

/** @param {string} said @param {string} key @returns {Step} */
const nothing = (said, key) => ({
    ...{ said, key, at: 0, stood: null, deletion: null, again: null },
    ...{ drafts: [], moved: [], prose: [] },
});

/** Whether there is nothing to undo. @param {Step} step */
const isEmpty = ({ drafts, moved, prose, stood, deletion, again }) =>
    !stood && !deletion && !again && [drafts, moved, prose].every((all) => all.length === 0);

/** @param {import('../notebook/page.js').Page} page */
const shownOn = (page) => ({
    drafts: page.drafts.placed(),
    prose: new Map([...page.model.states.values()].map(({ id, prose }) => [id, prose])),
    here: page.here,
});

/**
 * What of a step can be read off the page.
 * @param {Shown} before
 * @param {Shown} after
 * @returns {Pick<Step, 'drafts' | 'prose' | 'stood'>}
 */
function difference(before, after) {
    const ids = [...new Set([...before.drafts.keys(), ...after.drafts.keys()])];
    const drafts = ids.flatMap((id) => {
        const [was, now] = [before.drafts.get(id) ?? null, after.drafts.get(id) ?? null];
        const isSame = was && now && pieceKey(was.draft) === pieceKey(now.draft);
        return isSame ? [] : [{ id, was, now }];
    });
    const prose = [...before.prose].flatMap(([state, was]) => {
        const now = after.prose.get(state) ?? [];
        return now === was || isSame(now, was) ? [] : [{ state, was, now }];
    });
    return { drafts, prose, stood: before.here === after.here ? null : [before.here, after.here] };
}

/**
 * Takes a step back, except where something has changed since: then the newer text stays.
 * @param {import('../notebook/page.js').Page} page
 * @param {Step} step
 * @returns {Map<string | null, string> | null} the new ids of restored drafts by the old ones; null
 *   if there is nothing left to take back
 */
function takeBack(page, { said, drafts, moved, prose, stood, deletion, again }) {
    const { model } = page;
    const isAsLeft = prose.every(({ state, now }) => isSame(model.states.get(state)?.prose, now));
    // A text that came from elsewhere and was changed since would stand twice.
    if (!isAsLeft && prose.some(({ was, now }) => now.some((text) => !was.includes(text)))) return null;
    let isDone = false;
    if (deletion) isDone = page.deletion.undoOf(deletion.id) !== null;
    if (again) isDone = page.deletion.again(again, said);
    const ids = putBack(page, drafts);
    isDone ||= ids.size > 0;
    for (const { id, was, now } of drafts) {
        const draft = page.drafts.get(id);
        if (!now || !draft || pieceKey(draft) !== pieceKey(now.draft)) continue;
        if (model.openRuns().some((run) => run.draft === id)) continue;
        if (!was) page.drafts.remove(id);
        else page.drafts.put({ ...draft, kind: was.draft.kind, source: was.draft.source });
        page.drafts.flush(id);
        isDone = true;
    }
    for (const { id, after } of moved) {
        const draft = page.drafts.get(id);
        if (draft) page.drafts.place(draft, after);
        isDone ||= draft !== undefined;
    }
    for (const { state, was, now } of prose) {
        const texts = model.states.get(state)?.prose;
        const lost = was.flatMap((text, i) => (now.includes(text) ? [] : [{ text, i }]));
        const again = (/** @type {string[]} */ there) =>
            lost.reduce((all, { text, i }) => all.toSpliced(i, 0, text), there);
        if (!isAsLeft && !lost.length) continue;
        if (texts) void page.prose.set(state, isAsLeft ? was : again(texts));
        else for (const { text } of lost) page.drafts.add(markdown(page.here, text), null);
        isDone = true;
    }
    if (stood && model.states.has(stood[0]) && page.here !== stood[0]) {
        page.goTo(stood[0]);
        isDone = true;
    }
    return isDone ? ids : null;
}

/**
 * Adds deleted drafts again, with new ids, because the server may still delete the old ones.
 * @param {import('../notebook/page.js').Page} page
 * @param {Step['drafts']} drafts
 */
function putBack(page, drafts) {
    /** @type {Map<string | null, string>} */
    const ids = new Map();
    for (const { id, was, now } of drafts) {
        if (!was || now) continue;
        const { draft, after } = was;
        if (draft.instead_of && !isUnedited(page, draft.instead_of)) continue;
        const on = page.model.states.has(draft.on) ? draft.on : page.here;
        // The outputs of its run now stand below another draft.
        const { runOfDraft, importedOf } = page.model;
        const stale_run = draft.stale_run ?? runOfDraft.get(id) ?? importedOf.get(id) ?? null;
        const added = { ...draft, id: newId(), on, stale_run };
        ids.set(id, page.addShown(added, ids.get(after) ?? after));
    }
    return ids;
}

/** Whether a cell that ran shows the code that ran. @param {Page} page @param {string} id */
const isUnedited = ({ model, drafts }, id) => {
    const state = model.states.get(id);
    return state !== undefined && !drafts.editOf(state);
};

/** @param {string} on @param {string} source @returns {Draft} */
const markdown = (on, source) => ({ id: newId(), on, kind: 'markdown', source });

/** @param {string[] | undefined} one @param {string[]} other */
const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// @ts-check
// The state that a grid reads its data frame from.
//
// A state in memory is read at once. A state on disk is read if the user asks for it, because the
// server then loads all of it into memory. All rows come from the state itself, so the grid of an
// older state shows its data frame as it was.

import { html } from '../vendor/preact.js';
import { TABLE_WORDS as SAY } from './table-words.js';

/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {import('./grid-view.js').GridSource} GridSource */

/** @implements {GridSource} */
export class StateSource {
    /** Whether the user has asked to load the state from disk. */
    #mayLoad = false;

    /** @param {Page} page @param {import('./shown-table.js').ShownTable} what */
    constructor(page, what) {
        this.page = page;
        this.what = what;
    }

    get title() {
        return this.what.title || this.what.expression;
    }

    /** Where the state is. */
    get place() {
        return SAY.after(this.page.model.states.get(this.what.state)?.exec_count ?? 0);
    }

    get #living() {
        return this.page.model.states.get(this.what.state)?.living ?? 'deleted';
    }

    get #progress() {
        return this.page.checkpoints.progressOf(this.what.state);
    }

    get canRead() {
        const living = this.#living;
        return living === 'memory' || living === 'freezing' || (living === 'disk' && this.#mayLoad);
    }

    /** Differs when `waiting` does. */
    get stamp() {
        return JSON.stringify([this.#living, this.#progress]);
    }

    /** @param {import('../shell/protocol.js').Command} command */
    send(command) {
        return this.page.host.send(command);
    }

    /** Why there is no table yet. @param {() => void} look looks whether it can be read */
    waiting(look) {
        const { page, what } = this;
        const [living, progress] = [this.#living, this.#progress];
        if (living === 'deleted') return html`<p>${SAY.gone}</p>`;
        if (progress) return html`<p role="status">${SAY.replaying(progress)}</p>`;
        if (living === 'replay')
            return html`<p>${SAY.needsReplay}</p><p><button class="button" data-frame
                onClick=${() => void page.checkpoints.replay(what.state)}>${SAY.replay}</button></p>`;
        if (living !== 'disk' || this.#mayLoad) return html`<p role="status">${SAY.loading}</p>`;
        const load = () => {
            this.#mayLoad = true;
            look();
        };
        return html`<p>${SAY.onDisk}</p><p><button class="button" data-main autofocus onClick=${load}>
            ${SAY.load}</button></p>`;
    }
}

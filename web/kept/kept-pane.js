// @ts-check
// The pane with the outputs that the user keeps in view. It stays until the last one is closed.
// Another pane on the right covers it.

import { followed, shownOf, withHeld, withOutput } from './kept-outputs.js';
import { KEPT_WORDS as WORDS } from './kept-words.js';
import { codeName } from '../graph/code-name.js';
import { Name } from '../graph/name-view.js';
import { Outputs, hasOutput } from '../outputs/outputs.js';
import { CloseIcon, PinIcon } from '../ui/icons.js';
import { PaneEdge } from '../ui/pane-edge.js';
import { Component, html } from '../vendor/preact.js';

/** @typedef {import('./kept-outputs.js').Kept} Kept */
/** @typedef {import('./kept-outputs.js').Shown} Shown */
/** @typedef {import('../cell/cell-controller.js').CellController} CellController */
/** @typedef {import('../notebook/page.js').Page} Page */
/**
 * @typedef {{page: Page, controller: CellController, isCovered: boolean, rev: number,
 *   cells: import('../notebook/cell-list.js').Cell[]}} KeptProps `isCovered`: whether another pane
 *   is in its place
 */

/** @param {Page} page @param {Kept[]} kept */
function store(page, kept) {
    page.kept = kept;
    page.host.remember('kept', kept);
}

/**
 * Keeps the output of a run in view.
 * @param {CellController} controller
 * @param {import('../shell/model.js').Run} run
 */
export function keep(controller, run) {
    const { page } = controller;
    store(page, withOutput(page.kept, page.cells(), run));
    controller.panes?.uncover();
    page.host.announce?.(WORDS.said(toldOf(page, run).name));
    page.host.paintNow();
    document.querySelector('.kept-list')?.scrollTo(0, 0);
}

/**
 * The name of a run's cell, as in the graph.
 * @param {Page} page
 * @param {import('../shell/model.js').Run} run
 * @returns {import('../graph/node-names.js').Told}
 */
const toldOf = (page, { state, code }) =>
    page.model.states.has(state ?? '') ? page.nameOf(state ?? '') : { name: codeName(code), lead: '' };

/** @extends {Component<KeptProps, {}>} */
export class KeptPane extends Component {
    /** @type {HTMLElement | null} */
    list = null;

    /** Goes to the cell, on its branch. @param {number} at */
    #go(at) {
        const { page, controller } = this.props;
        const one = page.kept[at];
        if (!one) return;
        const { cell, run } = shownOf(one, page.cells(), page.model);
        const isHidden = page.comparison.isOpen || page.branchTable.isOpen;
        if (!cell && run) page.goTo(run.state ? page.model.newestBelow(run.state) : run.exec_id);
        else if (isHidden) page.goTo(page.here);
        const found = cell ?? shownOf(one, page.cells(), page.model).cell;
        if (found) controller.focus.go({ key: found.key, asCell: true });
    }

    /** Stops keeping an output; the focus goes to the next one. @param {number} at */
    #drop(at) {
        const { page } = this.props;
        store(page, page.kept.toSpliced(at, 1));
        page.host.paintNow();
        const buttons = [...(this.list?.querySelectorAll(/** @type {'button'} */ ('[data-close]')) ?? [])];
        buttons[Math.min(at, buttons.length - 1)]?.focus();
    }

    /** @param {number} at */
    #hold(at) {
        const { page } = this.props;
        store(page, withHeld(page.kept, at));
        page.host.paintNow();
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        const { focus } = this.props.controller;
        if (event.key !== 'Escape' || event.defaultPrevented) return;
        event.preventDefault();
        if (focus.last) focus.cell(focus.last.key);
        else focus.fresh(true);
    }

    /** @param {KeptProps} props */
    render({ page, cells, isCovered }) {
        if (page.isLoaded) {
            const kept = followed(page.kept, cells, page.model);
            if (kept !== page.kept) store(page, kept);
        }
        if (isCovered || !page.isLoaded) return null;
        return html`
            <aside class="side kept-pane" aria-label=${WORDS.title} tabindex="-1"
                onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}>
                <${PaneEdge} name="kept" label=${WORDS.resize} />
                <h2>${WORDS.title}</h2>
                <div class="kept-list"
                    ref=${(/** @type {HTMLElement | null} */ list) => (this.list = list)}>
                    ${page.kept.map((one, at) => this.#entry(one, shownOf(one, cells, page.model), at))}
                </div>
            </aside>`;
    }

    /** @param {Kept} one @param {Shown} shown @param {number} at */
    #entry({ keys: [key], isHeld }, { run, status, place }, at) {
        const { page, controller } = this.props;
        // Held outputs of a cell have its key, too. The numbers stay when newer ones are added.
        const number = page.kept.slice(at + 1).filter((older) => older.keys[0] === key).length;
        const told = run ? toldOf(page, run) : { name: WORDS.deleted };
        const mark = place === 'stale' || place === 'elsewhere' ? WORDS[place] : null;
        return html`
            <section class="kept" key=${`${key} ${number}`} aria-label=${told.name}>
                <div class="kept-head">
                    <button class="text-button" aria-label=${told.name} title=${WORDS.goTo} disabled=${!run}
                        onClick=${() => this.#go(at)}><${Name} ...${told} /></button>
                    ${
                        status &&
                        html`<span class="kept-status" data-status=${status}>
                            ${WORDS.status[status]}</span>`
                    }
                    ${mark && html`<span class="kept-status" title=${mark.hint}>${mark.text}</span>`}
                    ${
                        run &&
                        html`<button class="tool" aria-pressed=${isHeld ? 'true' : 'false'}
                            aria-label=${`${WORDS.hold}: ${told.name}`} title=${WORDS.holdHint}
                            onClick=${() => this.#hold(at)}><${PinIcon} /></button>`
                    }
                    <button class="tool" data-close title=${WORDS.stop}
                        aria-label=${`${WORDS.stop}: ${told.name}`} onClick=${() => this.#drop(at)}><${CloseIcon} /></button>
                </div>
                <div class=${place === 'stale' ? 'stale' : null}>${
                    run && hasOutput(run)
                        ? html`<${Outputs} key=${run.exec_id} run=${run} rev=${run.rev} isCopy
                            controller=${controller} mayRun=${page.mayRun && place !== 'stale'} />`
                        : html`<p class="hint">${run ? WORDS.none : WORDS.gone}</p>`
                }</div>
            </section>`;
    }
}

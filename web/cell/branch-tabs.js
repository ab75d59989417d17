// @ts-check
// The tabs above a cell that is not alone: one for each branch that begins at the state above it. A
// click shows the cells of another branch below the same tabs, which stay where they are.

import { html } from '../vendor/preact.js';
import { COMPARE_COMMAND_WORDS } from '../compare/compare-command-words.js';
import { showBranches } from '../compare/compare-commands.js';
import { Name } from '../graph/name-view.js';
import { fullName, numbered } from '../graph/node-names.js';
import { lastValue } from '../outputs/output-text.js';
import { keepInPlace } from '../notebook/steady-pointer.js';
import { WORDS } from '../shell/words.js';

/** @typedef {Extract<import('../notebook/cell-list.js').Cell, {beside: Beside[]}>} Branching */
/** @typedef {import('../notebook/cell-list.js').Beside} Beside */
/** @typedef {import('./cell-controller.js').CellController} CellController */

/** The number of tabs shown. More would be too narrow to read; the table of branches has all. */
const SHOWN = 7;
/** The number of branches that *Compare* opens. */
const COMPARED = 6;
/** @type {Record<string, 1 | -1>} */
const STEPS = { ArrowLeft: -1, ArrowRight: 1 };

/**
 * @param {{cell: Branching, controller: CellController, mayRun: boolean}} props
 */
export function BranchTabs({ cell, controller, mayRun }) {
    const { page } = controller;
    const { beside } = cell;
    const { at, on, own } = placeOf(page, cell);
    const first = Math.max(0, Math.min(own - Math.floor(SHOWN / 2), beside.length - SHOWN));
    const shown = beside.slice(first, first + SHOWN);
    const names = numbered(beside.map(({ id }) => page.nameOf(id)));
    const more = beside.length - shown.length;
    const states = beside.filter(({ state }) => state);
    /** Compares the ends of the branches, in the order of the tabs. */
    const compare = () => {
        const others = states.filter(({ id }) => id !== at).slice(0, COMPARED - 1);
        const compared = states.filter((one) => one.id === at || others.includes(one));
        page.compare(...compared.map(({ id }) => (id === at ? page.here : page.model.newestBelow(id))));
    };
    const onKey = (/** @type {KeyboardEvent} */ event) => {
        const step = STEPS[event.key];
        if (!step || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        event.stopPropagation();
        stepBeside(controller, cell, step)?.focus({ preventScroll: true });
    };
    return html`<div class="branch-tabs" data-on=${on}>
        <div role="tablist" aria-label=${WORDS.besideHere} onKeyDown=${onKey} ref=${watchOwn}>${shown.map(
            (one, i) => {
                const told = names[first + i] ?? { name: '' };
                const name = fullName(told);
                const isOwn = one.id === at;
                const { state } = one;
                const value = state && one.run ? lastValue(one.run) : '';
                return html`<button key=${one.id} type="button" role="tab" class="branch-tab"
                aria-selected=${isOwn ? 'true' : 'false'} tabindex=${isOwn ? '0' : '-1'}
                data-branch=${one.colour} data-status=${state ? null : one.run?.status}
                title=${state ? name : `${name} (${WORDS.nodeStatus[one.run?.status ?? 'queued']})`}
                onClick=${() => !isOwn && goBeside(controller, on, one)?.focus({ preventScroll: true })}
                onDblClick=${() => isOwn && state && mayRun && void controller.label(state)}>
                <i aria-hidden="true"></i><${Name} ...${told} />${
                    value && html`<span class="printed" aria-hidden="true">${value}</span>`
                }${
                    one.run?.status && one.run.status in WORDS.failed && !state
                        ? html`<span class="failed">${WORDS.nodeStatus[one.run.status]}</span>`
                        : null
                }</button>`;
            },
        )}</div>
        ${
            more > 0 &&
            html`<button type="button" class="text-button" title=${WORDS.moreBesideHint}
            onClick=${() => void showBranches(page)}>${WORDS.moreBeside(more)}</button>`
        }
        ${
            states.length > 1 &&
            states.some(({ id }) => id === at) &&
            html`<button type="button" class="text-button" title=${COMPARE_COMMAND_WORDS.compareBesideHint}
            onClick=${compare}>${COMPARE_COMMAND_WORDS.compareVersions}</button>`
        }</div>`;
}

/** @type {ResizeObserver | undefined} */
let watcher;

/**
 * Keeps the tab of the cell visible where the tabs scroll, also when there is less room.
 * @param {HTMLElement | null} list
 */
function watchOwn(list) {
    watcher ??= new ResizeObserver((entries) => {
        for (const { target } of entries) showOwn(target);
    });
    if (list) watcher.observe(list);
}

/** Scrolls the tabs to that of the cell. @param {Element} list */
function showOwn(list) {
    const own = list.querySelector('[aria-selected="true"]');
    if (own instanceof HTMLElement) list.scrollLeft = own.offsetLeft + own.offsetWidth - list.clientWidth;
}

/**
 * `at`: the id of the cell's own state or run; `on`: the state at which its branches begin; `own`:
 * the index of its own branch.
 * @param {import('../notebook/page.js').Page} page
 * @param {Branching} cell
 */
function placeOf(page, cell) {
    const at = cell.kind === 'ran' ? cell.state.id : cell.run.exec_id;
    const on = (cell.kind === 'ran' ? cell.state.parent : page.here) ?? '';
    return { at, on, own: cell.beside.findIndex(({ id }) => id === at) };
}

/**
 * Shows the branch before or after that of a cell.
 * @param {CellController} controller
 * @param {import('../notebook/cell-list.js').Cell} cell
 * @param {1 | -1} step
 * @returns {HTMLElement | undefined} the tab of that branch; undefined if there is none
 */
export function stepBeside(controller, cell, step) {
    if (!('beside' in cell)) return undefined;
    const { on, own } = placeOf(controller.page, cell);
    const next = cell.beside[own + step];
    return next && goBeside(controller, on, next);
}

/**
 * Shows another branch below the same tabs.
 * @param {CellController} controller
 * @param {string} on the state at which the branches begin
 * @param {Beside} branch
 * @returns {HTMLElement | undefined} its tab
 */
function goBeside({ page }, on, { id, state }) {
    const tabs = () => document.querySelector(`.branch-tabs[data-on="${CSS.escape(on)}"]`);
    keepInPlace(tabs, () => {
        page.goTo(state ? page.model.newestBelow(id) : id);
        page.host.paintNow();
    });
    const own = tabs()?.querySelector('[aria-selected="true"]') ?? undefined;
    return /** @type {HTMLElement | undefined} */ (own);
}

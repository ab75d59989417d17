// @ts-check
// The residency of the current state, shown below its cell: one line, and lists of the variables
// that are missing or changed after loading, with the reasons.

import { changedOf, isForeign, lacksNames, missingOf, residencyParts, savedByOther } from './residency.js';
import { PYTHON_STATUS_WORDS } from '../python/python-status-words.js';
import { html } from '../vendor/preact.js';
import { WORDS } from '../shell/words.js';

/** @typedef {Extract<import('../notebook/cell-list.js').Cell, {kind: 'ran'}>} Ran */
/** @typedef {import('../cell/cell-controller.js').CellController} Acts */
/** @typedef {import('../shell/protocol.js').Missing} Missing */

/** The maximum number of variables in a list. The page only counts further variables. */
const LISTED = 20;

/** The residency of a state, in the line of remarks below its cell. @param {{cell: Ran}} props */
export function ResidencyLine({ cell: { state } }) {
    const { saving } = state;
    // CSS shows this text after a delay, so that the text does not flicker during a short save.
    const late =
        saving.now === 'writing'
            ? WORDS.saving(saving.percent)
            : saving.now === 'waiting'
              ? WORDS.waitsToBeSaved
              : '';
    return html`<span class="residency-line">
        ${residencyParts(state).join(' · ')}${late && html`<span class="late"> · ${late}</span>`}</span>`;
}

/** @param {{cell: Ran, controller: Acts, mayRun: boolean}} props */
export function ResidencyNotice({ cell: { state, progress }, controller, mayRun }) {
    const { checkpoints, scope } = controller.page;
    const missing = missingOf(state);
    const isLacking = lacksNames(state);
    const parts = [];
    if (progress)
        parts.push(
            html`<${ReplayProgress} ...${progress}
                stop=${mayRun ? () => checkpoints.stopReplay(state.id) : null} />`,
        );
    if (state.living === 'replay') parts.push(html`<p>${WORDS.needsReplay}</p>`);
    if (isForeign(state))
        parts.push(
            html`<p>${WORDS.foreign} ${
                mayRun &&
                scope === 'owner' &&
                html`<button class="text-button"
                onClick=${() => checkpoints.trust()}>${WORDS.trust}</button>`
            }</p>`,
        );
    const other = savedByOther(state, controller.page.model.python);
    if (other) parts.push(html`<p>${PYTHON_STATUS_WORDS.otherVersion(other)}</p>`);
    if (missing.length > 0 && state.living !== 'deleted') {
        const title =
            state.revival?.by === 'checkpoint'
                ? WORDS.restored
                : state.living === 'disk'
                  ? WORDS.onDiskWithout
                  : WORDS.livesOnly;
        parts.push(
            html`<${NamesWithReasons} key=${title(missing.length)} title=${title(missing.length)}
                names=${missing} isOpen=${isLacking} />`,
        );
    }
    const changed = changedOf(state);
    if (changed.length > 0) {
        const isRestored = state.revival?.by === 'checkpoint';
        const title = (isRestored ? WORDS.restoredChanged : WORDS.changesOnLoad)(changed.length);
        const reasons = changed.map(({ what, ...name }) => ({ ...name, reason: what }));
        parts.push(html`<${NamesWithReasons} key=${title} title=${title} names=${reasons}
            isOpen=${isRestored || state.living === 'disk'} />`);
    }
    if (state.saving.now === 'failed') {
        parts.push(
            html`<p class="save-failure">
                <b aria-hidden="true">!</b> ${WORDS.saveFailedLong(state.saving.why)} ${
                    mayRun &&
                    html`<button
                    class="text-button" onClick=${() => checkpoints.save(state.id)}>
                    ${WORDS.saveAgain}</button>`
                }</p>`,
        );
    }
    if (mayRun && !progress && (isLacking || other || state.living === 'replay')) {
        parts.push(
            html`<p><button class="button" data-frame onClick=${() => checkpoints.replay(state.id)}>
                ${WORDS.replay}</button></p>`,
        );
    }
    return parts.length > 0 && html`<div class="residency">${parts}</div>`;
}

/** @param {{done: number, total: number, stop: (() => void) | null}} props */
function ReplayProgress({ done, total, stop }) {
    const said = WORDS.replayingLong(done, total);
    return html`<p class="replaying"><span>${said}</span>
    <progress aria-label=${said} value=${total ? done : null} max=${total || 1}></progress>
    ${stop && html`<button class="text-button" onClick=${stop}>${WORDS.stop}</button>`}</p>`;
}

/** @param {{title: string, names: Missing[], isOpen: boolean}} props */
function NamesWithReasons({ title, names, isOpen }) {
    return html`
        <details open=${isOpen}>
            <summary>${title}</summary>
            <ul>${names.slice(0, LISTED).map(
                ({ name, type, reason }) => html`<li key=${name}><code>
                ${name}</code> <span class="type">${type}</span> <span>${reason}</span></li>`,
            )}
                ${names.length > LISTED && html`<li>${WORDS.moreNames(names.length - LISTED)}</li>`}</ul>
        </details>`;
}

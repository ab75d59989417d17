// @ts-check
// One compared state: its card above the sections, and why its variables are missing.
//
// Users recognise a state by its letter, by the colour of its branch in the graph, and by its name.

import { missingOf, lacksNames } from '../checkpoints/residency.js';
import { canRun } from '../shell/protocol.js';
import { Name } from '../graph/name-view.js';
import { fullName } from '../graph/node-names.js';
import { html } from '../vendor/preact.js';
import { CloseIcon } from '../ui/icons.js';
import { letterOf } from './compare-command-words.js';
import { COMPARE_WORDS as SAY } from './compare-words.js';

/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {import('../shell/protocol.js').State} State */

/**
 * @param {{page: Page, at: number, state: State, told: {name: string, lead?: string},
 *   side?: 'a' | 'b'}} props `told`: the state's name; `side`: of a comparison of two states;
 *   others can be taken out of the comparison
 */
export function ComparedState({ page, at, state, told, side }) {
    const letter = letterOf(at);
    return html`
        <div class="side-card" data-side=${side} role="group" aria-label=${SAY.stateName(letter)}
            data-branch=${page.branches.colourOf(page.model, state.id)}>
            <span class="letter" aria-hidden="true">${letter}</span>
            <div class="card-what">
                <span class=${state.label ? 'card-name' : 'card-name card-code'} title=${fullName(told)}><${Name} ...${told} /></span>
                <span class="hint">${state.parent !== null && `${SAY.cell(state.exec_count)} · `}
                <time datetime=${new Date(state.created_at).toISOString()}>
                    ${when(state.created_at)}</time></span>
            </div>
            <button class="text-button" title=${SAY.goHint} onClick=${() => page.goTo(state.id)}>
                ${SAY.go}</button>
            ${
                !side &&
                html`<button class="tool" aria-label=${SAY.remove(letter)} title=${SAY.remove(letter)}
                onClick=${() => page.comparison.remove(state.id)}><${CloseIcon} /></button>`
            }
        </div>`;
}

/** @param {number} time */
const when = (time) => new Date(time).toLocaleString([], { dateStyle: 'medium', timeStyle: 'medium' });

/**
 * Says why the variables of a state are missing or incomplete. Returns false if they are complete.
 * @param {Page} page
 * @param {string} letter of the state
 * @param {State} state
 * @param {import('../shell/protocol.js').Variable[] | string | null | undefined} known the
 *   variables, or an error text
 */
export function whyNoVariables(page, letter, state, known) {
    if (state.living === 'deleted') return html`<p class="hint">${SAY.isGone(letter)}</p>`;
    if (!canRun(state.living)) {
        const isComing = page.checkpoints.progressOf(state.id);
        return html`<p class="hint">
            ${isComing ? SAY.looking(letter) : SAY.needsReplay(letter)} ${
                page.mayRun &&
                !isComing &&
                html`<button
                class="button" data-frame onClick=${() => page.checkpoints.replay(state.id)}>
                ${SAY.replay(letter)}</button>`
            }</p>`;
    }
    if (typeof known === 'string') return html`<p class="hint">${SAY.failed(letter, known)}</p>`;
    if (!known) return html`<p class="hint">${SAY.looking(letter)}</p>`;
    return lacksNames(state) && html`<p class="hint">${SAY.lacks(letter, missingOf(state).length)}</p>`;
}

// @ts-check
// The dialog *Undo history*: the steps of this tab, newest first, and the way back to each.

import { html } from '../vendor/preact.js';
import { EDITOR_WORDS } from '../editor/editor-words.js';
import { WORDS as ALL } from '../shell/words.js';
import { ago } from '../text/format.js';
import { show } from '../ui/dialog.js';
import { UNDO_WORDS as WORDS } from './undo-words.js';

/** @typedef {import('./edit-commands.js').EditCommands} EditCommands */
/** @typedef {import('./undo-history.js').Step} Step */

/** Shows the dialog. @param {EditCommands} edits */
export async function showHistory(edits) {
    const { done, undone } = edits.history;
    const answer = await show((close) => dialog(done, undone, close), 'history');
    if (answer === null) return;
    const [which = '', left = ''] = answer.split(' ');
    if (which === 'undo') edits.undo(Number(left));
    else edits.redo(Number(left));
}

/** What follows says what came of it. @param {string} said */
const firstSentence = (said) => said.replace(/(?<=\.) .*$/s, '');

/**
 * @param {Step[]} done
 * @param {Step[]} undone
 * @param {(answer: string | null) => void} close called with what to do, and the number of steps
 *   that then remain
 */
function dialog(done, undone, close) {
    const row = (
        /** @type {Step} */ step,
        /** @type {number} */ at,
        /** @type {'undo' | 'redo'} */ which,
    ) => {
        const text = which === 'undo' ? WORDS.undoTo : WORDS.redoTo;
        return html`
            <li key=${`${which} ${at}`} data-undone=${which === 'redo' ? '' : null}>
                <p>${firstSentence(step.said)} <small title=${new Date(step.at).toLocaleString()}>
                    ${ago(step.at, Date.now())}</small></p>
                <button class="button" aria-label=${`${text}: ${firstSentence(step.said)}`}
                    onClick=${() => close(`${which} ${at}`)}>${text}</button>
            </li>`;
    };
    return html`
        <h2>${EDITOR_WORDS.undoHistory}</h2>
        <p>${WORDS.why}</p>
        ${
            done.length + undone.length > 0
                ? html`<ul class="deletions">
                    ${undone.map((step, i) => row(step, i, 'redo'))}
                    ${done.map((step, i) => row(step, i, 'undo')).reverse()}
                </ul>`
                : html`<p>${WORDS.none}</p>`
        }
        <div class="answers">
            <button class="button" data-main onClick=${() => close(null)}>${ALL.close}</button>
        </div>`;
}

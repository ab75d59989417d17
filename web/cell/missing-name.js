// @ts-check
// Below a NameError: the name is set by a cell above that has not run to its end on this branch.

import { MENU_WORDS } from './menu-words.js';
import { WORDS } from '../shell/words.js';
import { html } from '../vendor/preact.js';

/**
 * The missing name.
 * @param {import('../shell/model.js').Run} run
 */
const nameIn = ({ error }) => error?.evalue.match(/^name '([\p{L}_][\p{L}\p{N}_]*)' is not defined/u)?.[1];

/**
 * Whether a code sets a name. Only a hint depends on it, so patterns are enough.
 * @param {string} code
 * @param {string} name
 */
export const sets = (code, name) =>
    [
        `^\\s*(?:[\\w\\s,.*]*,\\s*)?${name}\\s*(?:,[\\w\\s,.*]*)?(?::[^=\\n]+)?[-+*/|&@%]?=(?!=)`,
        `(?<![\\w.])${name}\\s*:=`,
        `^\\s*(?:async\\s+)?(?:def|class|for|with|import|from|except)\\b[^\\n]*(?<![\\w.])${name}(?!\\w)`,
    ].some((pattern) => new RegExp(pattern, 'mu').test(code));

/**
 * @param {{run: import('../shell/model.js').Run, cell: import('../notebook/cell-list.js').Cell,
 *   page: import('../notebook/page.js').Page}} props
 */
export function MissingName({ run, cell, page }) {
    const name = nameIn(run);
    const above = name && cell.kind === 'draft' ? page.ownRuns.runnableAbove(cell.key) : [];
    const setters = above.filter(({ draft }) => sets(draft.source, name ?? ''));
    if (!name || !setters.length) return null;
    const partial = setters.findLast((one) => one.run?.keepable)?.run?.exec_id;
    return html`<p class="undone-changes">${MENU_WORDS.setAbove(name)} ${
        page.mayRun &&
        partial &&
        html`<button class="text-button" title=${WORDS.keepPartialHint}
            onClick=${() => void page.checkpoints.keepPartial(partial)}>${WORDS.keepPartial}</button> `
    } ${
        page.mayRun &&
        html`<button class="text-button" onClick=${() => page.ownRuns.runTo(cell.key)}>
            ${MENU_WORDS.runTo(above.length)}</button>`
    }</p>`;
}

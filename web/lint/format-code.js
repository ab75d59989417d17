// @ts-check
// Formats code with the user's ruff.

import { isText, textOf } from '../notebook/cell-list.js';
import { changesBetween } from '../text/changes.js';
import { isolateHistory } from '../vendor/codemirror.js';
import { caretAfter } from './caret.js';
import { format, installRuff } from './lint-api.js';
import { LINT_WORDS as WORDS } from './lint-words.js';

/** @typedef {import('../cell/cell.js').Cell} CellView */
/** @typedef {import('../cell/cell-controller.js').CellController} CellController */

/**
 * Formats a cell, as one step of undo. The caret stays where it is in the code.
 * @param {CellController} controller
 * @param {CellView} view
 */
export async function formatCell(controller, view) {
    const { page } = controller;
    const { text } = view;
    if (isText(view.props.cell) || !text.trim()) return;
    const answer = await format(page.model.name, [text]);
    if (!answer.cells) return void notFormatted(controller, answer, () => formatCell(controller, view));
    const [formatted] = answer.cells;
    if (!formatted) return;
    const { code, failure } = formatted;
    if (code === null) return void page.notify(WORDS.notFormatted(failure ?? ''), true);
    // The user has typed on.
    if (view.text !== text) return;
    const editor = view.editor?.view;
    if (!editor) controller.edits.replaceTexts([{ key: view.props.cell.key, text: code }], false);
    else if (code !== text) {
        const { anchor, head } = editor.state.selection.main;
        editor.dispatch({
            changes: changesBetween(text, code),
            selection: { anchor: caretAfter(text, code, anchor), head: caretAfter(text, code, head) },
            userEvent: 'format',
            annotations: isolateHistory.of('full'),
        });
    }
}

/** Formats all drafts. A notice offers to undo it. @param {CellController} controller */
export async function formatDrafts(controller) {
    const { page } = controller;
    const drafts = page
        .cells()
        .filter((cell) => cell.kind === 'draft' && !isText(cell) && textOf(cell).trim())
        .map((cell) => ({ key: cell.key, text: textOf(cell) }));
    if (drafts.length === 0) return;
    const answer = await format(
        page.model.name,
        drafts.map(({ text }) => text),
    );
    const { cells } = answer;
    if (!cells) return void notFormatted(controller, answer, () => formatDrafts(controller));
    const now = new Map(page.cells().map((cell) => [cell.key, textOf(cell)]));
    const changes = drafts.flatMap(({ key, text }, i) => {
        const code = cells[i]?.code;
        return code != null && code !== text && now.get(key) === text ? [{ key, text: code }] : [];
    });
    const failed = cells.filter(({ code }) => code === null);
    const changed = controller.edits.replaceTexts(changes);
    if (failed.length) page.notify(WORDS.someNotFormatted(failed.length, failed[0]?.failure ?? ''), true);
    else if (!changed) page.notify(WORDS.allFormatted, false);
}

/**
 * Says why nothing was formatted. If there is no ruff, offers the owner to install it.
 * @param {CellController} controller
 * @param {{why: string, isMissing: boolean}} refusal
 * @param {() => Promise<void>} again formats again
 */
function notFormatted(controller, { why, isMissing }, again) {
    const { page } = controller;
    if (!isMissing || page.scope !== 'owner') return void page.notify(why, true);
    const install = async () => {
        page.notify(WORDS.installing, false, { stays: true });
        const refused = await installRuff();
        if (refused) return void page.notify(refused, true);
        page.notify(WORDS.ruffInstalled, false);
        controller.problems?.onInstalled();
        return again();
    };
    const act = { text: WORDS.installRuff, act: () => void install() };
    return void page.notify(WORDS.ruffMissing, false, { stays: true, act });
}

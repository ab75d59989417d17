// @ts-check
// The menu of a cell.

import { residencyActions } from '../checkpoints/residency-actions.js';
import { beforeRunText } from '../checkpoints/residency.js';
import { compareWith } from '../compare/compare-commands.js';
import { COMPARE_COMMAND_WORDS } from '../compare/compare-command-words.js';
import { EDITOR_WORDS } from '../editor/editor-words.js';
import { LINT_WORDS } from '../lint/lint-words.js';
import { isText, runOf, runOrStale } from '../notebook/cell-list.js';
import { hasOutput, isOutputFolded, keepInView, toggleFold } from '../outputs/outputs.js';
import { OUTPUT_WORDS } from '../outputs/output-words.js';
import { hasEnded, ROOT_STATE } from '../shell/protocol.js';
import { WORDS } from '../shell/words.js';
import { MENU_WORDS } from './menu-words.js';
import { editActions } from './edit-actions.js';
import { ROW_WORDS } from '../sweep/row-words.js';
import { deleteActions, keepAction } from '../trash/deletions.js';
import { List } from '../ui/menu.js';
import { html } from '../vendor/preact.js';

/** @typedef {import('./cell.js').Cell} CellView */

/**
 * @param {{cells: import('./cell-controller.js').CellController, cell: CellView,
 *   close: (takesFocus: boolean) => void}} props
 */
export const CellMenu = ({ cells, cell, close }) =>
    html`<${List} label=${WORDS.cellMenu} alignEnd close=${close}
        actions=${[...(cell.props.cell.kind === 'attempt' ? [] : editActions(cells.edits, cell)), ...menuOf(cells, cell)]} />`;

/**
 * The actions of the menu that have no key of their own.
 * @param {import('./cell-controller.js').CellController} cells
 * @param {CellView} view
 * @returns {import('../ui/menu.js').Action[]}
 */
export function menuOf(cells, view) {
    const { cell } = view.props;
    const { page, runs, edits, sections } = cells;
    const run = runOf(cell);
    const failed = run && hasEnded(run.status) && !run.state ? run : null;
    const mayDelete = page.scope === 'owner';
    const drop = failed &&
        mayDelete && {
            text: WORDS.dropAttempt,
            hint: failed.draft && cell.kind === 'draft' ? WORDS.dropHint : undefined,
            act: () => edits.forgetAttempt(failed),
        };
    const copy = { text: WORDS.copyCode, act: () => cells.focus.go({ key: page.copyAsDraft(view.text) }) };
    const variants = runs.mayTryVariants(view) && {
        text: WORDS.tryVariants,
        hint: WORDS.tryVariantsHint,
        words: MENU_WORDS.also.variants,
        act: () => void runs.tryVariants(view),
    };
    const sweep = runs.mayTryVariants(view) &&
        view.text.trim() !== '' && {
            text: ROW_WORDS.menu,
            hint: ROW_WORDS.menuHint,
            act: () => void runs.sweep(view),
        };
    const below = page.ownRuns.runnable(cell.key).length;
    const above = page.ownRuns.runnable().length - below;
    const format = page.mayRun && {
        text: LINT_WORDS.format,
        act: () => void cells.format(view),
    };
    const fold = {
        text: view.isFolded ? WORDS.unfoldCode : WORDS.foldCode,
        act: () => view.fold(!view.isFolded),
    };
    const foldOutput = hasOutput(run) && {
        text: isOutputFolded(run?.exec_id) ? OUTPUT_WORDS.unfold : OUTPUT_WORDS.fold,
        act: () => toggleFold(run?.exec_id),
    };
    const output = runOrStale(cell);
    const keep = hasOutput(output) && {
        text: OUTPUT_WORDS.keep,
        hint: MENU_WORDS.keepHint,
        words: MENU_WORDS.also.output,
        act: () => output && keepInView(cells, output),
    };
    const runBelow = {
        text: WORDS.runBelow,
        hint: cell.kind === 'draft' ? MENU_WORDS.runs(below) : MENU_WORDS.runsRest,
        act: () => runs.below(view),
    };
    if (cell.kind === 'attempt') return [copy, fold, foldOutput, keep, drop];
    const edit = isText(cell) && { text: WORDS.editText, act: () => view.focus('end') };
    const own = sections.of().byKey.get(cell.key);
    const section = own !== undefined &&
        own.count > 0 && {
            text: own.isFolded ? WORDS.unfoldSection : WORDS.foldSection,
            act: () => cells.sectionCommands.set(own, !own.isFolded),
        };
    if (cell.kind === 'text') {
        return [
            edit,
            section,
            { text: WORDS.toCode, act: () => edits.convert(view, 'code') },
            { text: EDITOR_WORDS.toRaw, act: () => edits.convert(view, 'raw') },
            { text: WORDS.removeText, act: () => edits.removeText(cell), isBad: true },
        ];
    }
    if (cell.kind === 'draft') {
        const { kind } = cell.draft;
        const isIdle = !run || hasEnded(run.status);
        const asBranch = isIdle &&
            view.text.trim() !== '' &&
            page.ownRuns.waitsFor(cell) !== undefined && {
                text: WORDS.runAsBranch,
                hint: WORDS.runAsBranchHint,
                act: () => runs.runAsBranch(view),
            };
        return [
            edit,
            asBranch,
            variants,
            sweep,
            !cell.isInside &&
                above > 0 && {
                    text: WORDS.runAbove,
                    hint: MENU_WORDS.runs(above),
                    act: () => runs.above(view),
                },
            !cell.isInside && below > 1 && runBelow,
            section,
            kind !== 'code' && { text: WORDS.toCode, act: () => edits.setKind(cell, 'code') },
            kind !== 'markdown' && { text: WORDS.toText, act: () => edits.setKind(cell, 'markdown') },
            kind !== 'raw' && { text: EDITOR_WORDS.toRaw, act: () => edits.setKind(cell, 'raw') },
            !isText(cell) && format,
            !isText(cell) && fold,
            foldOutput,
            keep,
            drop,
            { text: WORDS.removeDraft, act: () => edits.remove(cell), isBad: true },
        ];
    }
    const isTip = cell.state.id === page.here;
    return [
        cell.state.living !== 'deleted' && {
            text: WORDS.branchHere,
            hint: beforeRunText(page.model, cell.state.id) || WORDS.branchHint,
            words: MENU_WORDS.also.branch,
            act: () => cells.branch(cell.state.id),
        },
        variants,
        sweep,
        !isTip && { text: WORDS.standHere, act: () => page.branchFrom(cell.state.id) },
        {
            text: MENU_WORDS.goBack,
            hint: MENU_WORDS.goBackHint,
            words: MENU_WORDS.also.goBack,
            act: () => cells.branch(cell.state.parent ?? ROOT_STATE),
        },
        isTip &&
            below > 0 && {
                text: WORDS.runAllBelow,
                hint: MENU_WORDS.runs(below),
                act: () => page.ownRuns.runFrom(cell.key),
            },
        !isTip && !cell.isOutdated && runBelow,
        {
            text: MENU_WORDS.leaveOut,
            hint: MENU_WORDS.leaveOutHint,
            act: () => edits.removeSelected(view),
        },
        { text: WORDS.toText, act: () => edits.convert(view, 'markdown') },
        { text: EDITOR_WORDS.toRaw, act: () => edits.convert(view, 'raw') },
        format,
        fold,
        foldOutput,
        keep,
        { text: WORDS.label, words: MENU_WORDS.also.label, act: () => cells.label(cell.state) },
        page.model.states.size > 2 && {
            text: COMPARE_COMMAND_WORDS.compareWith,
            act: () => compareWith(page, cell.state.id),
        },
        ...residencyActions(cell.state, page),
        drop,
        mayDelete && (isTip || cell.beside.length > 1) && keepAction(page, cell.state.id),
        ...(mayDelete ? deleteActions(cell.state, page) : []),
    ];
}

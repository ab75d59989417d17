// @ts-check
// Palette entries for the page's buttons and menus, so that users can find the actions by name.

import { entryOf } from './commands.js';
import { menuOf } from '../cell/cell-menu.js';
import { clearOutputs } from '../cell/clear-outputs.js';
import { MENU_WORDS } from '../cell/menu-words.js';
import { showHistory } from '../cell/undo-dialog.js';
import { EDITOR_WORDS } from '../editor/editor-words.js';
import { COMPARE_COMMAND_WORDS } from '../compare/compare-command-words.js';
import { NOTEBOOK_WORDS } from '../home/notebook-words.js';
import { OUTPUT_WORDS } from '../outputs/output-words.js';
import { OUTLINE_WORDS } from '../outline/outline-words.js';
import { PRESENCE_WORDS } from '../presence/presence-words.js';
import { PYTHON_WORDS } from '../python/python-words.js';
import { TERMINAL_WORDS } from '../terminal/terminal-words.js';
import { showTerminal } from '../terminal/terminals-api.js';
import { TRASH_WORDS } from '../trash/trash-words.js';
import { WORDS } from '../shell/words.js';
import { downloadsOf } from '../notebook/download.js';
import { mayForget, openShare, openTrash } from '../notebook/header.js';
import { askName, duplicate, forgetEverything, rename } from '../notebook/header-menu.js';
import { availableActions } from '../ui/menu.js';
import { serverPath } from '../shell/server-path.js';

/** @typedef {import('./commands.js').Entry} Entry */
/** @typedef {import('../cell/cell-controller.js').CellController} CellController */

const { also } = EDITOR_WORDS;

/** @type {string[]} */
const HAVE_ENTRIES = [
    COMPARE_COMMAND_WORDS.compareWith,
    WORDS.foldCode,
    WORDS.unfoldCode,
    OUTPUT_WORDS.fold,
    OUTPUT_WORDS.unfold,
    WORDS.foldSection,
    WORDS.unfoldSection,
    WORDS.runAbove,
    WORDS.runBelow,
];

/** The header's actions. @param {CellController} controller @returns {Entry[]} */
export function header(controller) {
    const { page } = controller;
    const isOwner = () => page.scope === 'owner';
    const mayReset = () => mayForget(page);
    return [
        entryOf('page.graph', [], EDITOR_WORDS.showGraph, () => controller.panes?.graph(), {
            group: 'graph',
        }),
        entryOf('page.outline', [], OUTLINE_WORDS.command, () => controller.panes?.outline(), {
            words: also.outline,
        }),
        entryOf('page.variables', [], EDITOR_WORDS.showVariables, () => controller.panes?.variables(), {
            words: also.variables,
        }),
        entryOf('page.files', [], EDITOR_WORDS.showFiles, () => controller.panes?.files(), {
            words: also.files,
            when: () => page.scope !== 'view',
        }),
        entryOf('page.terminal', [], TERMINAL_WORDS.open, showTerminal, {
            words: TERMINAL_WORDS.also,
            when: () => page.hasTerminals,
        }),
        entryOf('page.share', [], PRESENCE_WORDS.shareCommand, () => openShare(page), {
            words: also.share,
            when: isOwner,
        }),
        entryOf('page.history', [], EDITOR_WORDS.undoHistory, () => void showHistory(controller.edits), {
            words: also.history,
            when: () => page.mayRun,
        }),
        entryOf('page.trash', [], TRASH_WORDS.menu, () => openTrash(page), {
            words: also.trash,
            when: mayReset,
        }),
        entryOf('page.python', [], PYTHON_WORDS.command, () => controller.showPython(), {
            words: also.python,
            when: () => page.model.python !== null,
        }),
        ...availableActions(downloadsOf(page)).map(({ text, act }) =>
            entryOf(`page.${text}`, [], text, act, { words: also.download }),
        ),
        entryOf('page.clear', [], MENU_WORDS.clearOutputs, () => clearOutputs(controller), {
            group: 'cells',
            words: MENU_WORDS.alsoClear,
            when: () => page.mayRun,
        }),
        entryOf('page.rename', [], NOTEBOOK_WORDS.renameThis, () => void rename(page), { when: isOwner }),
        entryOf('page.duplicate', [], NOTEBOOK_WORDS.duplicateThis, () => void duplicate(page), {
            words: NOTEBOOK_WORDS.alsoDuplicate,
            when: isOwner,
        }),
        entryOf('page.name', [], PRESENCE_WORDS.yourName, () => void askName(page)),
        entryOf('page.forget', [], WORDS.reset, () => void forgetEverything(page), {
            words: also.forget,
            when: mayReset,
        }),
        entryOf('page.home', [], NOTEBOOK_WORDS.homeCommand, () => location.assign(serverPath('/')), {
            words: also.home,
            when: isOwner,
        }),
    ];
}

/**
 * The menu actions of the target cell. If the target cell is a draft or there is no target cell,
 * also the menu actions of the current state's cell.
 * @param {CellController} controller
 * @returns {Entry[]}
 */
export function cellMenus(controller) {
    const { view } = controller.target();
    if (!controller.page.mayRun) return [];
    const here = controller.page.cells().find((cell) => cell.kind === 'ran' && cell.isHere);
    const own = view && view.props.cell.kind !== 'draft' ? view : controller.focus.views.get(here?.key ?? '');
    const draft = view?.props.cell.kind === 'draft' && !view.props.cell.isFresh ? view : null;
    const of = (
        /** @type {import('../cell/cell.js').Cell | null | undefined} */ one,
        /** @type {'cells' | 'graph'} */ group,
    ) =>
        (one ? availableActions(menuOf(controller, one)) : [])
            // These actions already have an entry of their own.
            .filter(({ text }) => !HAVE_ENTRIES.includes(text))
            .map(({ text, act, words }) => entryOf(`menu.${text}`, [], text, () => act(), { group, words }));
    return [...of(draft, 'cells'), ...of(own, 'graph')];
}

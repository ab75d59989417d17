// @ts-check
// Palette entries for the page's buttons and menus, so that users can find the actions by name.

import { menuOf } from '../cell/cell-menu.js';
import { EDITOR_WORDS } from '../editor/editor-words.js';
import { COMPARE_COMMAND_WORDS } from '../compare/compare-command-words.js';
import { NOTEBOOK_WORDS } from '../home/notebook-words.js';
import { OUTPUT_WORDS } from '../outputs/output-words.js';
import { OUTLINE_WORDS } from '../outline/outline-words.js';
import { PRESENCE_WORDS } from '../presence/presence-words.js';
import { PYTHON_WORDS } from '../python/python-words.js';
import { TRASH_WORDS } from '../trash/trash-words.js';
import { WORDS } from '../shell/words.js';
import { downloadsOf } from '../notebook/download.js';
import { askName, forgetEverything, mayForget, openShare, openTrash } from '../notebook/header.js';
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
    return [
        {
            id: 'page.graph',
            title: EDITOR_WORDS.showGraph,
            group: 'graph',
            act: () => controller.panes?.graph(),
        },
        {
            id: 'page.outline',
            title: OUTLINE_WORDS.command,
            words: also.outline,
            act: () => controller.panes?.outline(),
        },
        {
            id: 'page.variables',
            title: EDITOR_WORDS.showVariables,
            words: also.variables,
            act: () => controller.panes?.variables(),
        },
        {
            id: 'page.files',
            title: EDITOR_WORDS.showFiles,
            words: also.files,
            when: () => page.scope === 'owner',
            act: () => controller.panes?.files(),
        },
        {
            id: 'page.share',
            title: PRESENCE_WORDS.shareCommand,
            words: also.share,
            when: () => page.scope === 'owner',
            act: () => openShare(page),
        },
        {
            id: 'page.trash',
            title: TRASH_WORDS.menu,
            words: also.trash,
            when: () => mayForget(page),
            act: () => openTrash(page),
        },
        {
            id: 'page.python',
            title: PYTHON_WORDS.command,
            words: also.python,
            when: () => page.model.python !== null,
            act: () => controller.showPython(),
        },
        ...availableActions(downloadsOf(page)).map(({ text, act }) => ({
            id: `page.${text}`,
            title: text,
            words: also.download,
            act,
        })),
        { id: 'page.name', title: PRESENCE_WORDS.yourName, act: () => void askName(page) },
        {
            id: 'page.forget',
            title: WORDS.reset,
            words: also.forget,
            when: () => mayForget(page),
            act: () => void forgetEverything(page),
        },
        {
            id: 'page.home',
            title: NOTEBOOK_WORDS.homeCommand,
            words: also.home,
            when: () => page.scope === 'owner',
            act: () => location.assign(serverPath('/')),
        },
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
            .map(({ text, act }) => ({
                id: `menu.${text}`,
                title: text,
                group,
                words: text === WORDS.label ? also.label : undefined,
                act: () => act(),
            }));
    return [...of(draft, 'cells'), ...of(own, 'graph')];
}

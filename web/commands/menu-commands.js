// @ts-check
// The page's buttons and menus as palette entries, so that they can be found by name.

import { EDITOR_WORDS } from '../editor/editor-words.js';
import { COMPARE_WORDS } from '../compare/compare-words.js';
import { HOME_WORDS } from '../home/home-words.js';
import { PRESENCE_WORDS } from '../presence/presence-words.js';
import { WORDS } from '../shell/words.js';
import { downloadsOf } from '../notebook/download.js';
import { askName, forgetEverything, mayForget } from '../notebook/header.js';
import { withPart } from '../shell/lazy-parts.js';
import { availableActions } from '../ui/menu.js';

/** @typedef {import('./commands.js').Entry} Entry */
/** @typedef {import('./commands.js').Target} Target */
/** @typedef {import('../cell/cell-commands.js').CellCommands} Gestures */

const { also } = EDITOR_WORDS;

/** The header's actions. @param {Gestures} does @returns {Entry[]} */
export function header(does) {
    const { page } = does;
    return [
        { id: 'page.graph', title: EDITOR_WORDS.showGraph, group: 'graph', act: () => does.panes?.graph() },
        {
            id: 'page.variables',
            title: EDITOR_WORDS.showVariables,
            words: also.variables,
            act: () => does.panes?.variables(),
        },
        {
            id: 'page.share',
            title: PRESENCE_WORDS.shareCommand,
            words: also.share,
            when: () => page.scope === 'owner',
            act: () => void withPart('share', page, ({ showShare }) => showShare(page)),
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
            title: HOME_WORDS.homeCommand,
            words: also.home,
            when: () => page.scope === 'owner',
            act: () => location.assign('/'),
        },
    ];
}

/**
 * The menu actions of the target cell. If it is a draft or there is none, also those of the current
 * state's cell.
 * @param {Gestures} does
 * @returns {(at: Target) => Entry[]}
 */
export const cellMenus =
    (does) =>
    ({ view }) => {
        if (!does.page.mayRun) return [];
        const here = does.page.cells().find((cell) => cell.kind === 'ran' && cell.isHere);
        const own =
            view && view.props.cell.kind !== 'draft' ? view : does.controller.views.get(here?.key ?? '');
        const draft = view?.props.cell.kind === 'draft' && !view.props.cell.isFresh ? view : null;
        const of = (
            /** @type {import('../cell/cell.js').Cell | null | undefined} */ one,
            /** @type {'cells' | 'graph'} */ group,
        ) =>
            (one ? availableActions(does.controller.menuOf(one)) : [])
                // compare-commands.js adds its own entries.
                .filter(({ text }) => text !== COMPARE_WORDS.compareWith)
                .map(({ text, act }) => ({
                    id: `menu.${text}`,
                    title: text,
                    group,
                    words: text === WORDS.label ? also.label : undefined,
                    act: () => act(),
                }));
        return [...of(draft, 'cells'), ...of(own, 'graph')];
    };

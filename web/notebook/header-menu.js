// @ts-check
// The menu of the header: actions on the whole notebook.

import { displayName, setDisplayName } from '../presence/display-name.js';
import { listTrash, notebookAt, Refusal, restore } from '../home/notebooks-api.js';
import { html } from '../vendor/preact.js';
import { MENU_WORDS } from '../cell/menu-words.js';
import { EDITOR_WORDS } from '../editor/editor-words.js';
import { PYTHON_WORDS } from '../python/python-words.js';
import { TERMINAL_WORDS } from '../terminal/terminal-words.js';
import { showTerminal } from '../terminal/terminals-api.js';
import { TRASH_WORDS } from '../trash/trash-words.js';
import { PRESENCE_WORDS } from '../presence/presence-words.js';
import { SETTINGS_WORDS } from '../settings/settings-words.js';
import { LINT_WORDS } from '../lint/lint-words.js';
import { WORDS } from '../shell/words.js';
import { NOTEBOOK_WORDS } from '../home/notebook-words.js';
import { OUTLINE_WORDS } from '../outline/outline-words.js';
import { ask, confirmByName } from '../ui/dialog.js';
import { downloadsOf } from './download.js';
import { mayForget, openSettings, openShare, openTrash } from './header.js';
import { withPart } from '../shell/lazy-parts.js';
import { List } from '../ui/menu.js';

/** @typedef {Parameters<typeof actionsOf>[1]} Acts */

/**
 * @param {{page: import('./page.js').Page, acts: Acts, close: (takesFocus: boolean) => void}} props
 */
export const HeaderMenu = ({ page, acts, close }) =>
    html`<${List} label=${WORDS.more} actions=${actionsOf(page, acts)} alignEnd close=${close} />`;

/** How many cells *Run all* runs. @param {import('./page.js').Page} page */
function waitingHint({ ownRuns }) {
    const { length } = ownRuns.runnable();
    return length > 0 ? MENU_WORDS.runs(length) : EDITOR_WORDS.allRan;
}

/**
 * @param {import('./page.js').Page} page
 * @param {{onPalette: () => void, onOutline: () => void, onPython: () => void, onFiles: () => void,
 *   onRunAll: () => void, onFormat: () => void,
 *   onRestart: (runsAll: boolean) => void}} acts
 * @returns {import('../ui/menu.js').Action[]}
 */
const actionsOf = (page, { onPalette, onOutline, onPython, onFiles, onRunAll, onFormat, onRestart }) => [
    page.mayRun && {
        text: EDITOR_WORDS.runAll,
        hint: waitingHint(page),
        act: onRunAll,
    },
    page.mayRun && { text: WORDS.restartRun, act: () => onRestart(true) },
    page.mayRun && { text: WORDS.restart, act: () => onRestart(false) },
    { text: OUTLINE_WORDS.title, act: onOutline },
    page.scope !== 'view' && { text: WORDS.files, act: onFiles },
    page.hasTerminals && { text: TERMINAL_WORDS.open, act: showTerminal },
    page.scope === 'owner' && { text: PRESENCE_WORDS.shareCommand, act: () => openShare(page) },
    { text: SETTINGS_WORDS.menu, act: () => openSettings(page) },
    { text: EDITOR_WORDS.palette, act: onPalette },
    { text: WORDS.keys, act: () => withPart('sheet', page, ({ showShortcuts }) => showShortcuts()) },
    page.mayRun && { text: LINT_WORDS.formatAll, act: onFormat },
    ...downloadsOf(page),
    page.model.python && {
        text: PYTHON_WORDS.menu(page.model.python.version),
        act: onPython,
    },
    { text: PRESENCE_WORDS.yourName, act: () => askName(page) },
    mayForget(page) && { text: TRASH_WORDS.menu, act: () => openTrash(page) },
    mayForget(page) && { text: WORDS.reset, isBad: true, act: () => forgetEverything(page) },
];

/** Resets the notebook and offers to restore it. @param {import('./page.js').Page} page */
export async function forgetEverything(page) {
    const isSure = await confirmByName({
        title: WORDS.resetAsk,
        why: WORDS.resetWhy,
        act: WORDS.resetDo,
        name: page.model.name,
    });
    if (!isSure || !(await page.reset())) return;
    page.notify(WORDS.forgotten, false, {
        stays: true,
        act: { text: WORDS.restore, act: () => restoreForgotten(page) },
    });
}

/**
 * Restores and opens the copy that the last reset put in the trash.
 * @param {import('./page.js').Page} page
 */
async function restoreForgotten(page) {
    try {
        const copy = (await listTrash()).find(({ name, why }) => name === page.model.name && why === 'reset');
        if (copy) location.assign(notebookAt(await restore(copy.id)));
        else page.notify(WORDS.restoreFailed, true);
    } catch (error) {
        page.notify(error instanceof Refusal ? error.message : NOTEBOOK_WORDS.failed, true);
    }
}

/** @param {import('./page.js').Page} page */
export async function askName(page) {
    const name = await ask({
        title: PRESENCE_WORDS.nameAsk,
        why: PRESENCE_WORDS.nameWhy,
        act: PRESENCE_WORDS.nameDo,
        input: displayName() ?? '',
        longest: 40,
    });
    if (name === null) return;
    setDisplayName(name);
    page.presence.onMoved();
}

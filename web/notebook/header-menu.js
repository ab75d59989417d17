// @ts-check
// The menu of the header: actions on the whole notebook.

import { displayName, setDisplayName } from '../presence/display-name.js';
import * as notebooks from '../home/notebooks-api.js';
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
import { HOME_WORDS } from '../home/home-words.js';
import { askForName } from '../home/rename-dialog.js';
import { NOTEBOOK_WORDS } from '../home/notebook-words.js';
import { OUTLINE_WORDS } from '../outline/outline-words.js';
import { ask, confirmByName } from '../ui/dialog.js';
import { clearOutputs } from '../cell/clear-outputs.js';
import { countOfAll } from '../cell/run-all.js';
import { downloadsOf } from './download.js';
import { isInMemory, missingOf } from '../checkpoints/residency.js';
import { mayForget, openSettings, openShare, openTrash } from './header.js';
import { withPart } from '../shell/lazy-parts.js';
import { List } from '../ui/menu.js';

/** @typedef {import('../cell/cell-controller.js').CellController} CellController */

/** @param {{controller: CellController, close: (takesFocus: boolean) => void}} props */
export const HeaderMenu = ({ controller, close }) =>
    html`<${List} label=${WORDS.more} actions=${actionsOf(controller)} alignEnd close=${close} />`;

/** How many cells *Run all* runs. @param {import('./page.js').Page} page */
function waitingHint(page) {
    const count = countOfAll(page);
    return count > 0 ? MENU_WORDS.runs(count) : MENU_WORDS.allRan;
}

/** @param {CellController} controller @returns {import('../ui/menu.js').Action[]} */
const actionsOf = (controller) => {
    const { page, panes, runs } = controller;
    return [
        page.mayRun && {
            text: EDITOR_WORDS.runAll,
            hint: waitingHint(page),
            act: () => runs.all(),
        },
        page.mayRun && { text: WORDS.restartRun, act: () => void runs.restart(true) },
        page.mayRun && { text: WORDS.restart, act: () => void runs.restart() },
        page.mayRun && { text: MENU_WORDS.clearOutputs, act: () => clearOutputs(controller) },
        { text: OUTLINE_WORDS.title, act: () => panes?.outline() },
        page.scope !== 'view' && { text: WORDS.files, act: () => panes?.files() },
        page.hasTerminals && { text: TERMINAL_WORDS.open, act: showTerminal },
        page.scope === 'owner' && { text: PRESENCE_WORDS.shareCommand, act: () => openShare(page) },
        { text: SETTINGS_WORDS.menu, act: () => openSettings(page) },
        { text: EDITOR_WORDS.palette, act: () => controller.showPalette() },
        { text: WORDS.keys, act: () => withPart('sheet', page, ({ showShortcuts }) => showShortcuts()) },
        page.mayRun && { text: LINT_WORDS.formatAll, act: () => controller.formatDrafts() },
        page.scope === 'owner' && {
            text: NOTEBOOK_WORDS.renameThis,
            hint: page.isStart ? HOME_WORDS.startHint : undefined,
            isOff: page.isStart,
            act: () => void rename(page),
        },
        page.scope === 'owner' && { text: NOTEBOOK_WORDS.duplicateThis, act: () => void duplicate(page) },
        ...downloadsOf(page),
        page.model.python && {
            text: PYTHON_WORDS.menu(page.model.python.version),
            act: () => controller.showPython(),
        },
        { text: PRESENCE_WORDS.yourName, act: () => askName(page) },
        mayForget(page) && { text: TRASH_WORDS.menu, act: () => openTrash(page) },
        mayForget(page) && { text: WORDS.reset, isBad: true, act: () => forgetEverything(page) },
    ];
};

/** Asks for a new name of the notebook. @param {import('./page.js').Page} page */
export async function rename(page) {
    const { name } = page.model;
    if (page.isStart) return page.notify(HOME_WORDS.startWhy(name), false);
    const states = [...page.model.states.values()].filter(
        (state) => state.parent !== null && isInMemory(state),
    );
    const lost = [...new Set(states.flatMap((state) => missingOf(state).map((one) => one.name)))];
    const running = page.model.openRuns().length;
    const about = { name, is_open: true, running, lost: states.every(isSaved) ? lost : undefined };
    const renamed = await askForName(about, (to) =>
        notebooks.rename(name, to, running > 0).then(() => '', messageOf),
    );
    if (renamed !== null && renamed !== name) location.assign(notebooks.notebookAt(renamed) + location.hash);
    return undefined;
}

/** @param {import('../shell/protocol.js').State} state */
const isSaved = ({ checkpoint, saving }) => checkpoint !== null && saving.now !== 'failed';

/** Copies the notebook and offers to open the copy. @param {import('./page.js').Page} page */
export async function duplicate(page) {
    const { name } = page.model;
    page.notify(NOTEBOOK_WORDS.duplicating(name), false, { stays: true });
    try {
        const made = await notebooks.duplicate(name);
        page.notify(NOTEBOOK_WORDS.duplicated(made), false, {
            act: { text: NOTEBOOK_WORDS.openIt(1), act: () => location.assign(notebooks.notebookAt(made)) },
        });
    } catch (error) {
        page.notify(messageOf(error), true);
    }
}

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
        const copy = (await notebooks.listTrash()).find(
            ({ name, why }) => name === page.model.name && why === 'reset',
        );
        if (copy) location.assign(notebooks.notebookAt(await notebooks.restore(copy.id)));
        else page.notify(WORDS.restoreFailed, true);
    } catch (error) {
        page.notify(messageOf(error), true);
    }
}

/** Why a request failed. @param {unknown} error */
const messageOf = (error) => (error instanceof notebooks.Refusal ? error.message : NOTEBOOK_WORDS.failed);

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

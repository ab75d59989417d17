// @ts-check
// The page's header: name, status, and actions on the whole notebook.

import { displayName, setDisplayName } from '../presence/display-name.js';
import { listTrash, notebookAt, Refusal, restore } from '../home/notebooks-api.js';
import { chosenTheme, nextTheme } from '../ui/theme.js';
import { html } from '../vendor/preact.js';
import { EDITOR_WORDS } from '../editor/editor-words.js';
import { PRESENCE_WORDS } from '../presence/presence-words.js';
import { WORDS } from '../shell/words.js';
import { HOME_WORDS } from '../home/home-words.js';
import { ask, confirmByName } from '../ui/dialog.js';
import { downloadsOf } from './download.js';
import { CommandIcon, GraphIcon, LinkIcon, MoreIcon, Sprout, TableIcon } from '../ui/icons.js';
import { withPart } from '../shell/lazy-parts.js';
import { Menu } from '../ui/menu.js';
import { Avatars } from '../presence/avatars.js';

/**
 * @param {{page: import('./page.js').Page, showsGraph: boolean, onGraph: () => void,
 *   onVariables: () => void, onPalette: () => void, onRestart: () => void}} props
 */
export function Header({ page, showsGraph, onGraph, onVariables, onPalette, onRestart }) {
    const { model, scope } = page;
    return html`
        <header class="top">
            <a class="brand" href="/" aria-label=${HOME_WORDS.home} title=${HOME_WORDS.home}><${Sprout} /></a>
            <h1>${model.name}</h1>
            <${Status} page=${page} />
            <div class="buttons">
                <${Avatars} page=${page} />
                <button class="button" aria-pressed=${showsGraph ? 'true' : 'false'} onClick=${onGraph}
                    title=${WORDS.graph}><${GraphIcon} /><span>${WORDS.states}</span></button>
                <button class="button" aria-pressed=${page.variables.isShown ? 'true' : 'false'}
                    onClick=${onVariables} title=${WORDS.variables}><${TableIcon} /><span>
                        ${WORDS.variables}</span></button>
                ${
                    scope === 'owner' &&
                    html`<button class="button" title=${WORDS.share} aria-haspopup="dialog"
                    onClick=${() => withPart('share', page, ({ showShare }) => showShare(page))}>
                    <${LinkIcon} /><span>${WORDS.share}</span></button>`
                }
                <button class="button" data-palette onClick=${onPalette} aria-label=${EDITOR_WORDS.palette}
                    title=${`${EDITOR_WORDS.palette} (Ctrl-Shift-P)`}><${CommandIcon} /></button>
                <${Menu} label=${WORDS.more} alignEnd actions=${() => moreOf(page, onPalette, onRestart)}
                    face=${html`<${MoreIcon} />`} />
            </div>
        </header>`;
}

/** @param {{page: import('./page.js').Page}} props */
function Status({ page }) {
    const open = page.model.openRuns();
    const running = open.filter((run) => run.status === 'running').length;
    const [replay] = page.model.replays.values();
    const isOver = page.connection === 'ended' || page.connection === 'gone' || page.connection === 'left';
    const word =
        page.connection === 'connecting'
            ? WORDS.connecting
            : isOver
              ? WORDS.disconnected
              : page.connection !== 'open'
                ? WORDS.offline
                : replay
                  ? WORDS.replayingLong(replay.done, replay.total)
                  : open.length
                    ? WORDS.running(running, open.length - running)
                    : page.scope === 'view'
                      ? WORDS.viewOnly
                      : WORDS.ready;
    const state = page.connection === 'open' ? (open.length || replay ? 'busy' : 'ready') : 'lost';
    const [first] = open;
    const go = first && page.connection === 'open' ? () => page.goTo(first.exec_id) : null;
    return html`<button class="status" data-state=${state} disabled=${!go} onClick=${go}>
        <i aria-hidden="true"></i><span role="status">${word}</span></button>`;
}

/**
 * @param {import('./page.js').Page} page
 * @param {() => void} onPalette
 * @param {() => void} onRestart
 * @returns {import('../ui/menu.js').Action[]}
 */
const moreOf = (page, onPalette, onRestart) => [
    { text: WORDS.themeOf(chosenTheme()), act: () => (nextTheme(), page.host.requestPaint()) },
    { text: EDITOR_WORDS.palette, act: onPalette },
    { text: WORDS.keys, act: () => withPart('sheet', page, ({ showShortcuts }) => showShortcuts()) },
    ...downloadsOf(page),
    { text: PRESENCE_WORDS.yourName, act: () => askName(page) },
    page.mayRun && { text: WORDS.restart, act: onRestart },
    mayForget(page) && { text: WORDS.reset, isBad: true, act: () => forgetEverything(page) },
];

/** @param {import('./page.js').Page} page */
export const mayForget = (page) => page.mayRun && page.scope === 'owner';

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
        page.notify(error instanceof Refusal ? error.message : HOME_WORDS.failed, true);
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

// @ts-check
// The page's header: name, status, and actions on the whole notebook.

import { Component, html } from '../vendor/preact.js';
import { EDITOR_WORDS } from '../editor/editor-words.js';
import { nameOf } from '../python/python-names.js';
import { PYTHON_STATUS_WORDS } from '../python/python-status-words.js';
import { WORDS } from '../shell/words.js';
import { OUTLINE_WORDS } from '../outline/outline-words.js';
import { saveStatus } from './save-status.js';
import {
    CommandIcon,
    FolderIcon,
    GraphIcon,
    LinkIcon,
    MoreIcon,
    OutlineIcon,
    Sprout,
    TableIcon,
} from '../ui/icons.js';
import { loadedPart, withPart } from '../shell/lazy-parts.js';
import { Menu } from '../ui/menu.js';
import { Avatars } from '../presence/avatars.js';
import { LazyPart } from '../shell/lazy-parts.js';
import { serverPath } from '../shell/server-path.js';

/**
 * @param {{page: import('./page.js').Page, showsGraph: boolean, showsOutline: boolean,
 *   controller: import('../cell/cell-controller.js').CellController}} props
 */
export function Header({ page, controller, showsGraph, showsOutline }) {
    const { model, scope } = page;
    const MemoryStatus = loadedPart('memory')?.MemoryStatus;
    /**
     * The button that shows or hides a pane.
     * @param {'graph' | 'outline' | 'variables' | 'files'} name
     * @param {string} text
     * @param {string} title
     * @param {typeof GraphIcon} icon
     * @param {boolean} isShown
     */
    const pane = (name, text, title, icon, isShown) => html`
        <button class="button" data-pane=${name} aria-pressed=${isShown ? 'true' : 'false'} title=${title}
            onClick=${() => controller.panes?.[name]()}><${icon} /><span>${text}</span></button>`;
    return html`
        <header class="top">
            <a class="brand" href=${serverPath('/')} aria-label=${WORDS.home} title=${WORDS.home}><${Sprout} /></a>
            <h1>${model.name}</h1>
            <${Status} page=${page} />
            <${PythonName} page=${page} onPython=${() => controller.showPython()} />
            <${SaveStatus} page=${page} />
            ${
                page.sandbox &&
                html`<${LazyPart} of="sandbox" view=${sandboxView} page=${page} onFailed=${() => {}} />`
            }
            ${
                page.mayRun &&
                MemoryStatus &&
                html`<${MemoryStatus} page=${page} rev=${page.memoryRev}
                    isOpen=${page.connection === 'open'} />`
            }
            <div class="buttons">
                <${Avatars} page=${page} />
                ${
                    page.others().some(({ agent }) => agent) &&
                    html`<${LazyPart} of="agents" view=${agentsView} page=${page} onFailed=${() => {}} />`
                }
                ${pane('graph', WORDS.states, WORDS.graph, GraphIcon, showsGraph)}
                ${pane('outline', OUTLINE_WORDS.title, OUTLINE_WORDS.title, OutlineIcon, showsOutline)}
                ${pane('variables', WORDS.variables, WORDS.variables, TableIcon, page.variables.isShown)}
                ${scope !== 'view' && pane('files', WORDS.files, WORDS.files, FolderIcon, page.files.isShown)}
                ${
                    scope === 'owner' &&
                    html`<button class="button" data-share title=${WORDS.share} aria-haspopup="dialog"
                    onClick=${() => openShare(page)}>
                    <${LinkIcon} /><span>${WORDS.share}</span></button>`
                }
                <button class="button" data-palette onClick=${() => controller.showPalette()}
                    aria-label=${EDITOR_WORDS.palette} title=${`${EDITOR_WORDS.palette} (Ctrl-Shift-P)`}><${CommandIcon} /></button>
                <${Menu} label=${WORDS.more} alignEnd face=${html`<${MoreIcon} />`}
                    list=${(/** @type {(takesFocus?: boolean) => void} */ close) => html`<${LazyPart}
                        of="headerMenu" view=${headerMenu} page=${page} controller=${controller}
                        onFailed=${close} close=${close} />`} />
            </div>
        </header>`;
}

/** @param {import('../shell/lazy-parts.js').Part<'agents'>} part */
const agentsView = ({ Agents }) => Agents;
/** @param {import('../shell/lazy-parts.js').Part<'headerMenu'>} part */
const headerMenu = ({ HeaderMenu }) => HeaderMenu;
/** @param {import('../shell/lazy-parts.js').Part<'sandbox'>} part */
const sandboxView = ({ SandboxNote }) => SandboxNote;

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
                    ? WORDS.running(running, open.length - running + page.ownRuns.waiting.size)
                    : page.scope === 'view'
                      ? WORDS.viewOnly
                      : page.model.python?.problem
                        ? PYTHON_STATUS_WORDS.noPython
                        : WORDS.ready;
    const isBusy = open.length > 0 || replay !== undefined;
    const canRun = page.connection === 'open' && (isBusy || !page.model.python?.problem);
    const state = canRun ? (isBusy ? 'busy' : 'ready') : 'lost';
    const [first] = open;
    const go = first && page.connection === 'open' ? () => page.goTo(first.exec_id) : null;
    return html`<button class="status" data-state=${state} disabled=${!go} onClick=${go}>
        <i aria-hidden="true"></i><span>${word}</span></button>`;
}

/** Whether all changes are on disk. @extends {Component<{page: import('./page.js').Page}>} */
class SaveStatus extends Component {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    timer = undefined;

    componentWillUnmount() {
        clearTimeout(this.timer);
    }

    render() {
        const now = Date.now();
        const status = saveStatus(this.props.page, now);
        clearTimeout(this.timer);
        if (!status) return null;
        const { state, text, hint, until } = status;
        if (until !== undefined) this.timer = setTimeout(() => this.forceUpdate(), until - now);
        return html`<span class="save-status" data-state=${state} title=${hint} key=${state}>${text}</span>`;
    }
}

/**
 * The name of the notebook's Python.
 * @param {{page: import('./page.js').Page, onPython: () => void}} props
 */
function PythonName({ page, onPython }) {
    const { python } = page.model;
    if (!python) return null;
    return html`<button class="python-name" data-bad=${python.problem ? '' : null} aria-haspopup="dialog"
        title=${python.problem ? `${PYTHON_STATUS_WORDS.unusable}: ${python.path}` : python.path}
        onClick=${onPython}>${nameOf(python.version, python.path)}</button>`;
}

/** @param {import('./page.js').Page} page */
export const openShare = (page) => void withPart('share', page, ({ showShare }) => showShare(page));

/** @param {import('./page.js').Page} page */
export const openSettings = (page) =>
    void withPart('settings', page, ({ showSettings }) => showSettings(page.ownScope === 'owner'));

/** @param {import('./page.js').Page} page */
export const openTrash = (page) => void withPart('trash', page, ({ showTrash }) => showTrash(page));

/** @param {import('./page.js').Page} page */
export const mayForget = (page) => page.mayRun && page.scope === 'owner';

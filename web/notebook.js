// @ts-check
// The entry of the notebook page: connects socket, model, page and view.

import { serverPath } from './shell/server-path.js';
import { OwnTabs } from './presence/own-tabs.js';
import { displayName } from './presence/display-name.js';
import { isTableAddress } from './branches/branch-table.js';
import { Model } from './shell/model.js';
import { Attention } from './notebook/attention.js';
import { COMMANDS, EVENTS } from './shell/protocol.js';
import { Page } from './notebook/page.js';
import { Socket } from './shell/socket.js';
import { registerParts, whenLoaded, withPart } from './shell/lazy-parts.js';
import { PARTS } from './shell/parts.js';
import { h, render } from './vendor/preact.js';
import { App } from './notebook/app.js';
import { announce } from './ui/announce.js';
import { ask } from './ui/dialog.js';
import { forgetScripts } from './outputs/library-scripts.js';
import { keepCodeStyled } from './editor/editor-settings.js';
import { trackKeyboardInset } from './ui/keyboard-inset.js';

/** Notices close after this time, in milliseconds. Notices about failures stay open. */
const NOTICE_MS = 4000;

registerParts(PARTS);

const root = /** @type {HTMLElement} */ (document.getElementById('page'));
// The frame of the page, rendered by the server. The first paint replaces it.
const shell = root.firstElementChild;
const name = root.dataset.notebook ?? '';
const model = new Model(name);

// The page changes the address as soon as it has the notebook.
const opened = location.hash;

let rev = 0;
let isDue = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let hushing;
/** @type {import('./notebook/page.js').Notice | null} */
let hushed = null;

/** Paints at most once per frame. */
function requestPaint() {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => isDue && paintNow());
}

let isAhead = false;

/**
 * Applies an event. If the event has a result, paints without delay, but at most once per frame.
 * @param {import('./shell/protocol.js').Event} event
 */
function happened(event) {
    page.onEvent(event);
    if (event.event === 'python_changed') forgetScripts();
    if (event.event === 'prompt_changed' || EVENTS[event.event]?.graph === 'shape') attention.update();
    const isNews =
        event.event === 'run_ended' ||
        (event.event === 'output_added' && event.output.output_type !== 'stream');
    if (!isNews || isAhead || !isDue || document.hidden) return;
    isAhead = true;
    requestAnimationFrame(() => (isAhead = false));
    paintNow();
}

/** Paints before the next key press is handled. */
function paintNow() {
    isDue = false;
    rev += 1;
    if (rev === 1) shell?.remove();
    render(h(App, { page, rev, opened }), root);
    hushLater();
}

function hushLater() {
    const { notice } = page;
    if (notice === hushed) return;
    clearTimeout(hushing);
    hushed = notice;
    if (notice && !notice.isBad && !notice.stays)
        hushing = setTimeout(() => page.dismissNotice(), notice.act ? 2 * NOTICE_MS : NOTICE_MS);
}

/** What the address names: see `Page.goTo`; '' if it is nothing. */
function address() {
    const fragment = location.hash.slice(1);
    try {
        return isTableAddress(fragment) ? fragment : decodeURIComponent(fragment);
    } catch {
        return '';
    }
}

const page = new Page(model, {
    send: async (command) => {
        const reply = await socket.send(command);
        // The page shows whether all changes are saved.
        if (COMMANDS[command.do].saves) requestPaint();
        return reply;
    },
    isSaving: () => socket.isSaving,
    reconnect: () => socket.reconnect(),
    requestPaint,
    paintNow,
    paintIfDue: () => isDue && paintNow(),
    setAddress: (id, replace) => {
        if (id !== address())
            history[replace ? 'replaceState' : 'pushState'](
                null,
                '',
                `#${isTableAddress(id) ? id : encodeURIComponent(id).replace('%3D', '=')}`,
            );
    },
    displayName,
    focusedCell: () => document.activeElement?.closest('.cell')?.getAttribute('data-cell') ?? null,
    onParticipantId: (id) => ownTabs.onId(id, socket.position?.epoch ?? ''),
    announce,
    onFailed: (run) =>
        void withPart('failure', page, ({ tellFailure }) => void tellFailure(page, run), false),
    ask: async (question) => (await ask(question)) !== null,
    recall: (key) => JSON.parse(sessionStorage.getItem(`ratoon.${name}.${key}`) ?? 'null'),
    remember: (key, value) => sessionStorage.setItem(`ratoon.${name}.${key}`, JSON.stringify(value)),
});

const attention = new Attention(page);
const ownTabs = new OwnTabs(`${serverPath('/n/')}${name}`, () => page.onPeople());
page.ownTabs = ownTabs.ids;

const socket = new Socket(name, {
    onSnapshot: (snapshot, isAnotherEpoch) => {
        page.onSnapshot(snapshot, address(), isAnotherEpoch);
        attention.update();
    },
    onEvent: happened,
    onScope: ({ scope, sandbox, ...more }) => {
        page.onScope(scope, sandbox, more);
        if (scope === 'owner') whenLoaded('keptSettings', ({ keepSettings }) => void keepSettings());
    },
    onStatus: (status) => page.onConnection(status),
    onLeft: (to) => {
        model.moved(to);
        page.onConnection('left');
    },
    onRefused: (reply) => page.reportRefusal(reply),
});

addEventListener('popstate', () => (page.goTo(address(), true), paintNow()));
// At `pagehide` the socket may already be closed, so `beforeunload` sends, too.
for (const going of ['beforeunload', 'pagehide'])
    addEventListener(going, () => (page.save(true), page.deletion.commit()));
addEventListener('pagehide', () => socket.leave());
trackKeyboardInset();
keepCodeStyled();
// After what early.js has heard, which the socket reads in a microtask: mostly the snapshot.
queueMicrotask(paintNow);

// @ts-check
// The entry of a terminal's page. The fragment of the address is the terminal's number; without
// one, a new terminal is opened.

import { html, render } from './vendor/preact.js';
import { serverPath } from './shell/server-path.js';
import { TERMINAL_WORDS as WORDS } from './terminal/terminal-words.js';
import { closeTerminal, listTerminals, openTerminal } from './terminal/terminals-api.js';
import { TerminalView } from './terminal/terminal-view.js';

/** @typedef {import('./terminal/terminal-view.js').Status} Status */

const main = /** @type {HTMLElement} */ (document.getElementById('terminal'));
const head = document.createElement('header');
const screen = document.createElement('section');
screen.setAttribute('aria-label', WORDS.title);
main.append(head, screen);

/** @type {{view: TerminalView | null, status: Status, others: number[], trouble: string}} */
const shown = { view: null, status: 'connecting', others: [], trouble: '' };

const texts = {
    connecting: '',
    open: '',
    lost: WORDS.lost,
    ended: WORDS.ended,
    signedOut: WORDS.signedOut,
};

function paint() {
    const { view, status, others, trouble } = shown;
    const said = trouble || texts[status];
    render(
        html`<a href=${serverPath('/')}>${WORDS.notebooks}</a>
            <h1>${view ? WORDS.named(view.id) : WORDS.title}</h1>
            ${
                others.length > 0 &&
                html`<nav aria-label=${WORDS.others}>${others.map(
                    (id) =>
                        html`<a key=${id} href=${`#${id}`} target="_blank" rel="opener">${WORDS.named(id)}</a>`,
                )}</nav>`
            }
            <span class="said" role="status">${said}</span>
            ${
                view &&
                status === 'lost' &&
                html`<button class="button" data-frame onClick=${() => view.connect()}>${WORDS.retry}</button>`
            }
            <a class="button" data-frame href=${serverPath('/terminal')} target="_blank">${WORDS.open}</a>
            ${
                view &&
                status === 'open' &&
                html`<button class="button" data-frame title=${WORDS.closeHint}
                onClick=${() => void closeTerminal(view.id)}>${WORDS.close}</button>`
            }`,
        head,
    );
}

/** @param {Status} status */
async function onStatus(status) {
    shown.status = status;
    paint();
    if (status !== 'open' && status !== 'lost') return;
    const open = await listTerminals().catch(() => null);
    const { view } = shown;
    if (!open || !view) return;
    // A terminal that has ended refuses the connection, as a server does that cannot be reached.
    if (status === 'lost' && !open.includes(view.id)) {
        view.stop();
        shown.status = 'ended';
    }
    shown.others = open.filter((id) => id !== view.id);
    paint();
}

async function begin() {
    const wanted = Number(location.hash.slice(1));
    const id = wanted || (await openTerminal());
    if (!wanted) history.replaceState(null, '', `#${id}`);
    document.title = WORDS.titled(WORDS.named(id));
    const onTitle = (/** @type {string} */ title) =>
        (document.title = WORDS.titled(title || WORDS.named(id)));
    shown.view = new TerminalView(id, screen, { onStatus: (status) => void onStatus(status), onTitle });
    shown.view.focus();
}

addEventListener('hashchange', () => location.reload());
begin()
    .catch((error) => (shown.trouble = error.message))
    .then(() => {
        main.removeAttribute('aria-busy');
        paint();
    });

// @ts-check
// The top of the page: where we are, how it goes, and the few things that concern the whole notebook.

import { makeLink } from '../links.js';
import { chosenTheme, nextTheme } from '../theme.js';
import { html } from '../vendor/preact.js';
import { WORDS } from '../words.js';
import { HOME_WORDS } from '../words/home.js';
import { copyText } from './copy.js';
import { ask, showShortcuts } from './dialog.js';
import { downloadsOf } from './download.js';
import { GraphIcon, LinkIcon, MoreIcon, Sprout, TableIcon } from './icons.js';
import { showLinks } from './links.js';
import { Menu } from './menu.js';

/** @param {{page: import('../page.js').Page, showsGraph: boolean, onGraph: () => void, onVariables: () => void}} props */
export function Header({ page, showsGraph, onGraph, onVariables }) {
    const { model, scope } = page;
    return html`
        <header class="top">
            <a class="brand" href="/" aria-label=${HOME_WORDS.home} title=${HOME_WORDS.home}><${Sprout} /></a>
            <h1>${model.name}</h1>
            <${Status} page=${page} />
            <div class="buttons">
                <button class="button" aria-pressed=${showsGraph ? 'true' : 'false'} onClick=${onGraph} title=${WORDS.graph}><${GraphIcon} /><span>${WORDS.states}</span></button>
                <button class="button" aria-pressed=${page.variables.isShown ? 'true' : 'false'} onClick=${onVariables} title=${WORDS.variables}><${TableIcon} /><span>${WORDS.variables}</span></button>
                ${scope === 'owner' && html`<${Menu} label=${WORDS.share} alignEnd actions=${() => shareOf(page)} face=${html`<${LinkIcon} /><span>${WORDS.share}</span>`} />`}
                <${Menu} label=${WORDS.more} alignEnd actions=${() => moreOf(page)} face=${html`<${MoreIcon} />`} />
            </div>
        </header>`;
}

/** @param {{page: import('../page.js').Page}} props */
function Status({ page }) {
    const open = page.model.openRuns();
    const running = open.filter((run) => run.status === 'running').length;
    const [replay] = page.model.replays.values();
    const isOver = page.connection === 'ended' || page.connection === 'gone' || page.connection === 'left';
    const word = page.connection === 'connecting' ? WORDS.connecting
        : isOver ? WORDS.disconnected
        : page.connection !== 'open' ? WORDS.offline
        : replay ? WORDS.replayingLong(replay.done, replay.total)
        : open.length ? WORDS.running(running, open.length - running) : page.scope === 'view' ? WORDS.viewOnly : WORDS.ready;
    const state = page.connection === 'open' ? (open.length || replay ? 'busy' : 'ready') : 'lost';
    const go = open[0] && page.connection === 'open' ? () => page.goTo(open[0].exec_id) : null;
    return html`<button class="status" data-state=${state} disabled=${!go} onClick=${go}><i aria-hidden="true"></i><span role="status">${word}</span></button>`;
}

/** @param {import('../page.js').Page} page @returns {import('./menu.js').Action[]} */
const shareOf = (page) => [
    { text: WORDS.shareView, hint: WORDS.shareViewHint, act: () => copyLink(page, 'view') },
    { text: WORDS.shareRun, hint: WORDS.shareRunHint, act: () => copyLink(page, 'run') },
    { text: WORDS.links, act: () => showLinks(page.model.name) },
];

/** @param {import('../page.js').Page} page @param {'view' | 'run'} scope */
async function copyLink(page, scope) {
    const link = await makeLink(page.model.name, scope, page.here).catch(() => null);
    if (link === null) return page.say(WORDS.linkFailed, true);
    return copyText(page, link, { said: WORDS.linkCopied[scope], title: WORDS.linkReady });
}

/** @param {import('../page.js').Page} page @returns {import('./menu.js').Action[]} */
const moreOf = (page) => [
    { text: WORDS.themeOf(chosenTheme()), act: () => (nextTheme(), page.around.changed()) },
    { text: WORDS.keys, act: () => showShortcuts() },
    ...downloadsOf(page),
    page.mayRun && { text: WORDS.reset, isBad: true, act: () => reset(page) },
];

/** @param {import('../page.js').Page} page */
async function reset(page) {
    const answer = await ask({ title: WORDS.resetAsk, why: WORDS.resetWhy, act: WORDS.resetDo, isBad: true });
    if (answer !== null) page.reset();
}

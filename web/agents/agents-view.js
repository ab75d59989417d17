// @ts-check
// The agents in the header. A menu of each follows it, stops it, or lets it continue.

import { stopAgent } from './agents-api.js';
import { AGENT_WORDS as WORDS } from './agents-words.js';
import { positionText } from '../presence/presence.js';
import { Menu } from '../ui/menu.js';
import { html } from '../vendor/preact.js';

/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {import('../presence/presence.js').Other} Other */

/** @param {{page: Page}} props */
export function Agents({ page }) {
    const agents = page.others().filter(({ agent }) => agent);
    return html`<div class="agents">
        ${agents.map((one) => html`<${Agent} key=${one.id} page=${page} one=${one} />`)}</div>`;
}

/** @param {{page: Page, one: Other}} props */
function Agent({ page, one }) {
    const isStopped = one.agent?.stopped ?? false;
    const follows = page.following.id === one.id;
    const actions = () => [
        {
            text: follows ? WORDS.unfollow : WORDS.follow,
            hint: positionText(page, one.state),
            act: () => page.following.toggle(one.id),
        },
        page.mayRun && {
            text: isStopped ? WORDS.resume : WORDS.stop,
            hint: isStopped ? '' : WORDS.stopHint,
            isBad: !isStopped,
            act: () => stop(page, one, !isStopped),
        },
    ];
    return html`<div class="agent" data-colour=${one.colour} data-stopped=${isStopped ? '' : null}>
        <${Menu} label=${WORDS.label(one.called, positionText(page, one.state), isStopped)}
            alignEnd actions=${actions} face=${WORDS.face(one.called, isStopped)} /></div>`;
}

/** @param {Page} page @param {Other} one @param {boolean} stopped */
async function stop(page, one, stopped) {
    const refusal = await stopAgent(page.model.name, one.id, stopped);
    const done = stopped ? WORDS.stopped(one.called) : WORDS.resumed(one.called);
    page.notify(refusal || done, refusal !== '');
}

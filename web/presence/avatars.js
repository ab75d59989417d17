// @ts-check
// The avatars in the header.

import { positionText } from './presence.js';
import { html } from '../vendor/preact.js';
import { PRESENCE_WORDS as WORDS } from './presence-words.js';
import { Menu } from '../ui/menu.js';

/** @typedef {import('./presence.js').Other} Other */

/** The most people shown individually. */
const SHOWN = 4;

/** @param {{page: import('../notebook/page.js').Page}} props */
export function Avatars({ page }) {
    const all = page.others().filter(({ agent }) => !agent);
    if (all.length === 0) return null;
    const shown = all.length > SHOWN ? all.slice(0, SHOWN - 1) : all;
    const { following, presence } = page;
    const said = (/** @type {Other} */ one) =>
        WORDS.stands(one.called, positionText(page, one.state)) +
        (presence.id !== null && one.follows === presence.id ? WORDS.followsYou : '');
    const actions = () =>
        all.map((one) => ({
            text: one.called,
            hint: positionText(page, one.state),
            act: () => following.toggle(one.id),
        }));
    const hidden = all.length - shown.length;
    return html`
        <div class="avatars" role="group" aria-label=${WORDS.people}>
            ${shown.map(
                (one) => html`<button key=${one.id} class="avatar" data-colour=${one.colour}
                aria-pressed=${following.id === one.id ? 'true' : 'false'}
                aria-label=${`${said(one)}. ${WORDS.follow}`}
                title=${`${said(one)}. ${following.id === one.id ? WORDS.unfollowHint : WORDS.followHint}`}
                onClick=${() => following.toggle(one.id)}>
                ${one.initials}</button>`,
            )}
            <div class="rest" data-few=${hidden ? null : ''}>
                <${Menu} label=${WORDS.count(all.length)} className="avatar" alignEnd actions=${actions}
                face=${html`<span class="hidden">+${hidden}</span><span class="all">
                    ${all.length}</span>`} /></div>
        </div>`;
}

/** Says whom the page follows. @param {{page: import('../notebook/page.js').Page}} props */
export function FollowingBar({ page }) {
    const { person } = page.following;
    // Screen readers announce a live region only if it exists before its content.
    return html`<div class="following" role="status" data-colour=${person?.colour}>
        ${
            person &&
            html`<span>${WORDS.following(person.called)}</span>
            <button onClick=${() => page.following.stop()}>${WORDS.unfollow} <kbd>Esc</kbd></button>`
        }</div>`;
}

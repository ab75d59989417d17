// @ts-check
// The share dialog: creates a link, lists existing links, and revokes them.

import { isThisMachine, linkOrigin, waysIn } from './reach.js';
import { linksTo, makeLink, takeBack } from './share-links.js';
import { positionText } from '../presence/presence.js';
import { Component, html } from '../vendor/preact.js';
import { SHARE_WORDS as WORDS } from './share-words.js';
import { WORDS as ALL } from '../shell/words.js';
import { show } from '../ui/dialog.js';

/** @typedef {import('./share-links.js').Link} Link */
/**
 * @typedef {{page: import('../notebook/page.js').Page, done: (answer: null) => void}} ShareProps
 */
/**
 * @typedef {{scope: 'view' | 'run', lasts: string, note: string, made: string | null,
 *   copied: string | null, isBusy: boolean, links: Link[] | null,
 *   listens: import('./reach.js').Listens | null, said: string, trouble: string}} ShareState
 */

/** @param {import('../notebook/page.js').Page} page */
export const showShare = (page) => show((done) => html`<${Share} page=${page} done=${done} />`);

/** @extends {Component<ShareProps, ShareState>} */
class Share extends Component {
    state = /** @type {ShareState} */ ({
        scope: 'view',
        lasts: '604800',
        note: '',
        made: null,
        copied: null,
        isBusy: false,
        links: null,
        listens: null,
        said: '',
        trouble: '',
    });
    /** The state that the link opens: the current one when the dialog was opened. */
    at = this.props.page.here;

    componentDidMount() {
        this.#list();
    }

    get notebook() {
        return this.props.page.model.name;
    }

    /** The origin of new links. */
    get origin() {
        const { listens } = this.state;
        return listens ? linkOrigin(location, listens) : location.origin;
    }

    async #list() {
        try {
            this.setState(await linksTo(this.notebook));
        } catch {
            this.setState({ trouble: WORDS.listFailed });
        }
    }

    /** Creates a link and copies it, as far as the browser allows that. */
    async #create() {
        const { scope, lasts, note, isBusy } = this.state;
        // The button is not disabled meanwhile, because it would lose the focus.
        if (isBusy) return;
        this.setState({ isBusy: true, trouble: '', said: '' });
        const made = await makeLink(this.notebook, {
            scope,
            state: this.at,
            lasts: lasts ? Number(lasts) : null,
            note: note.trim() || null,
            origin: this.origin,
        }).catch(() => null);
        const copies = made ? navigator.clipboard?.writeText(made) : undefined;
        const isCopied =
            (await copies?.then(
                () => true,
                () => false,
            )) === true;
        this.setState({
            isBusy: false,
            made,
            copied: isCopied ? made : null,
            note: made ? '' : note,
            trouble: made ? '' : WORDS.failed,
        });
        if (made) this.#list();
    }

    /**
     * Copies the text of a field or, without clipboard access, selects it for copying by hand.
     * @param {HTMLInputElement | null} field
     */
    async #copy(field) {
        try {
            await navigator.clipboard.writeText(field?.value ?? '');
            this.setState({ copied: field?.value ?? null });
        } catch {
            field?.select();
            this.setState({ said: ALL.linkWhy });
        }
    }

    /** @param {Link} link */
    async #revoke(link) {
        try {
            await takeBack(link.id);
            this.setState({
                links: (this.state.links ?? []).filter((other) => other !== link),
                said: WORDS.revoked,
                trouble: '',
                made: null,
            });
        } catch {
            this.setState({ trouble: WORDS.revokeFailed });
        }
    }

    /** @param {ShareProps} props @param {ShareState} state */
    render({ page, done }, state) {
        return html`
            <h2>${WORDS.title}</h2>
            <form class="share"
                onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), this.#create())}>
                <fieldset>
                    <legend>${WORDS.what}</legend>
                    ${
                        /** @type {const} */ (['view', 'run']).map(
                            (scope) => html`
                        <label class="choice" data-scope=${scope}>
                            <input type="radio" name="scope" value=${scope} checked=${state.scope === scope}
                                onChange=${() => this.setState({ scope })} />
                            <span><b>${WORDS.scopes[scope].name}</b><small>
                                ${WORDS.scopes[scope].why}</small></span></label>`,
                        )
                    }
                </fieldset>
                <p class="residency-line">${WORDS.opensAt(positionText(page, this.at))}</p>
                <div class="pair">
                    <label><span>${WORDS.lasts}</span>
                    <select class="field" value=${state.lasts}
                        onChange=${(/** @type {any} */ event) =>
                            this.setState({ lasts: event.target.value })}>
                        ${WORDS.lastings.map(
                            ([value, text]) => html`<option value=${value}
                            selected=${value === state.lasts}>${text}</option>`,
                        )}</select></label>
                    <label><span>${WORDS.note}</span>
                    <input class="field" maxlength="120" placeholder=${WORDS.noteHint} value=${state.note}
                        onInput=${(/** @type {any} */ event) =>
                            this.setState({ note: event.target.value })} /></label>
                </div>
                <button class="button" data-main autofocus>${WORDS.create}</button>
            </form>
            <div role="status">
                ${state.made && html`<p>${state.copied === state.made ? WORDS.madeCopied : WORDS.made}</p>`}
                ${state.said ? html`<p>${state.said}</p>` : null}</div>
            ${state.made && this.#copyable(WORDS.link, state.made)}
            ${state.listens && this.#reach(state.listens)}
            ${state.trouble && html`<p class="trouble" role="alert">${state.trouble}</p>`}
            <h3>${WORDS.links}</h3>
            ${state.links?.length === 0 && html`<p>${WORDS.none}</p>`}
            ${
                state.links &&
                state.links.length > 0 &&
                html`<ul class="links">
                ${state.links.toReversed().map((link) => this.#row(link))}</ul>`
            }
            <div class="answers"><button class="button" data-frame onClick=${() => done(null)}>
                ${ALL.close}</button></div>`;
    }

    /**
     * A note that says which machines can open the link's address, if not all can.
     * @param {import('./reach.js').Listens} listens
     */
    #reach(listens) {
        const { host } = new URL(this.origin);
        if (!isThisMachine(host))
            return this.origin !== location.origin && html`<p>${WORDS.reachedAs(host)}</p>`;
        const ways = waysIn(location, listens);
        return html`<div class="reach">
            <p>${WORDS.onlyHere(host)}</p>
            <details>
                <summary>${WORDS.reachHow}</summary>
                ${
                    /** @type {const} */ (['tunnel', 'proxy', 'bind']).map(
                        (way) => html`<p>${WORDS.reachBy[way]}</p>
                        ${this.#copyable(WORDS.reachName[way], ways[way])}`,
                    )
                }
            </details></div>`;
    }

    /** A text with a button that copies it. @param {string} name @param {string} text */
    #copyable(name, text) {
        /** @type {HTMLInputElement | null} */
        let field = null;
        const act = this.state.copied === text ? WORDS.copied : WORDS.copy;
        return html`
            <div class="made">
                <input class="field" readonly value=${text} aria-label=${name}
                    ref=${(/** @type {HTMLInputElement | null} */ input) => (field = input)}
                    onFocus=${(/** @type {any} */ event) => event.target.select()} />
                <button class="button" data-frame type="button"
                    aria-label=${name === WORDS.link ? null : `${act}: ${name}`}
                    onClick=${() => this.#copy(field)}>${act}</button></div>`;
    }

    /** @param {Link} link */
    #row(link) {
        const what = [WORDS.toScope[link.scope], link.label].filter(Boolean).join(', ');
        const about = [
            WORDS.madeOn(when(link.created_at)),
            link.expires_at === null ? WORDS.endless : WORDS.ends(when(link.expires_at)),
            link.last_used ? WORDS.used(when(link.last_used)) : WORDS.unused,
        ];
        return html`<li key=${link.id}>
            <span><b>${WORDS.toScope[link.scope]}</b>${link.label && html` ${link.label}`}<small>
                ${about.join(' · ')}</small></span>
            <button class="button" data-bad aria-label=${WORDS.revokeOf(what)}
                onClick=${() => this.#revoke(link)}>${WORDS.revoke}</button>
        </li>`;
    }
}

/** @param {number} time */
const when = (time) => new Date(time).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });

// @ts-check
// The share dialog: creates a link, lists existing links, and revokes them.

import { linksTo, makeLink, takeBack } from './share-links.js';
import { positionText } from '../presence/presence.js';
import { firstLine } from '../text/format.js';
import { Component, html } from '../vendor/preact.js';
import { PRESENCE_WORDS as WORDS } from '../presence/presence-words.js';
import { WORDS as ALL } from '../shell/words.js';
import { show } from '../ui/dialog.js';

/** @typedef {import('./share-links.js').Link} Link */
/**
 * @typedef {{page: import('../notebook/page.js').Page, done: (answer: null) => void}} ShareProps
 */
/**
 * @typedef {{scope: 'view' | 'run', lasts: string, note: string, made: string | null,
 *   isCopied: boolean, isBusy: boolean, links: Link[] | null, said: string, trouble: string}}
 *   ShareState
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
        isCopied: false,
        isBusy: false,
        links: null,
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

    async #list() {
        try {
            this.setState({ links: await linksTo(this.notebook) });
        } catch {
            this.setState({ trouble: WORDS.listFailed });
        }
    }

    async #create() {
        const { scope, lasts, note } = this.state;
        this.setState({ isBusy: true, trouble: '', said: '' });
        const made = await makeLink(this.notebook, {
            scope,
            state: this.at,
            lasts: lasts ? Number(lasts) : null,
            note: note.trim() || null,
        }).catch(() => null);
        this.setState({
            isBusy: false,
            made,
            isCopied: false,
            note: made ? '' : note,
            trouble: made ? '' : WORDS.failed,
        });
        if (made) this.#list();
    }

    /**
     * Copies the link or, without clipboard access, selects it for copying by hand.
     * @param {HTMLInputElement | null} field
     */
    async #copy(field) {
        try {
            await navigator.clipboard.writeText(this.state.made ?? '');
            this.setState({ isCopied: true });
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
        const shared = page.model.states.get(this.at);
        const line = shared && firstLine(page.model.runOf(shared)?.code ?? '');
        const where =
            shared?.label || !line
                ? positionText(page.model, this.at)
                : `${positionText(page.model, this.at)}, “${line}”`;
        return html`
            <h2>${WORDS.share}</h2>
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
                <p class="residency-line">${WORDS.opensAt(where)}</p>
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
                <button class="button" data-main autofocus disabled=${state.isBusy}>${WORDS.create}</button>
            </form>
            <div role="status">
                ${state.made && this.#made(state.made)}${state.said && html`<p>${state.said}</p>`}</div>
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

    /** @param {string} link */
    #made(link) {
        /** @type {HTMLInputElement | null} */
        let field = null;
        return html`<p>${WORDS.made}</p>
            <div class="made">
                <input class="field" readonly value=${link} aria-label=${WORDS.link}
                    ref=${(/** @type {HTMLInputElement | null} */ input) => (field = input)}
                    onFocus=${(/** @type {any} */ event) => event.target.select()} />
                <button class="button" data-frame type="button" onClick=${() => this.#copy(field)}>
                    ${this.state.isCopied ? WORDS.copied : WORDS.copy}</button></div>`;
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

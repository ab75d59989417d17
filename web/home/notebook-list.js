// @ts-check
// The home page: the list of notebooks with the actions on each notebook, and the trash.

import { ago, bytes } from '../text/format.js';
import { openNotebook } from '../share/share-links.js';
import * as notebooks from './notebooks-api.js';
import { Component, html } from '../vendor/preact.js';
import { HOME_WORDS } from './home-words.js';
import { NOTEBOOK_WORDS } from './notebook-words.js';
import { askForName } from './rename-dialog.js';
import { ask, confirmByName } from '../ui/dialog.js';
import { watchDrops, DropOverlay } from '../ui/file-drop.js';
import { MoreIcon, Sprout } from '../ui/icons.js';
import { Menu } from '../ui/menu.js';
import { serverPath } from '../shell/server-path.js';
import { TERMINAL_WORDS } from '../terminal/terminal-words.js';
import { listTerminals } from '../terminal/terminals-api.js';

/** @typedef {import('./notebooks-api.js').About} About */
/** @typedef {{text: string, isBad: boolean}} Said */

/**
 * `terminals`: the numbers of the open ones; null if the user may have none.
 * @extends {Component<{isOwner: boolean, all: About[], terminals: number[] | null,
 *   said: Said | null, wanted: string}, {all: About[], trash: notebooks.Trashed[],
 *   terminals: number[] | null, said: Said | null, isOver: boolean}>}
 */
export class Home extends Component {
    state = {
        all: this.props.all,
        trash: /** @type {notebooks.Trashed[]} */ ([]),
        terminals: this.props.terminals,
        said: this.props.said,
        isOver: false,
    };
    /**
     * The name of the notebook whose row gets the focus after the next update. If there is no such
     * row, the heading gets the focus. Null: the focus does not move.
     * @type {string | null}
     */
    next = null;
    /** @type {HTMLInputElement | null} */
    chooser = null;

    componentDidMount() {
        addEventListener('focus', () => this.#refresh());
        const { isOwner } = this.props;
        const hover = (/** @type {object | null} */ at) =>
            this.state.isOver !== (at !== null) && this.setState({ isOver: at !== null });
        // Watch drops by guests, too: otherwise the browser would open the file and leave the page.
        watchDrops(isOwner ? hover : () => {}, (files) => isOwner && files.length && this.#import(files));
        if (isOwner) this.#refreshTrash();
    }

    componentDidUpdate() {
        if (this.next === null) return;
        const row =
            document.querySelector(`[data-name="${CSS.escape(this.next)}"] a`) ??
            document.querySelector('h1');
        if (row instanceof HTMLElement) row.focus();
        this.next = null;
    }

    /** @param {string} text @param {boolean} [isBad] */
    #say(text, isBad = false) {
        this.setState({ said: { text, isBad } });
    }

    async #refresh() {
        const all = await notebooks.list().catch(() => null);
        if (all) this.setState({ all });
        const terminals = this.state.terminals && (await listTerminals().catch(() => null));
        if (terminals) this.setState({ terminals });
        if (this.props.isOwner) await this.#refreshTrash();
    }

    async #refreshTrash() {
        const trash = await notebooks.listTrash().catch(() => null);
        if (trash) this.setState({ trash });
    }

    /**
     * Runs an action, shows the message that the action returns, and refreshes the lists.
     * @param {() => Promise<string>} deed the action
     * @param {string} [next] the notebook whose row then gets the focus
     */
    async #do(deed, next) {
        const refusal = await this.#attempt(deed, next);
        if (refusal) this.#say(refusal, true);
    }

    /**
     * Does the same, but returns the reason if the action was refused, else ''.
     * @param {() => Promise<string>} deed
     * @param {string | null} [next]
     * @returns {Promise<string>}
     */
    async #attempt(deed, next = null) {
        try {
            const text = await deed();
            const [all, trash] = await Promise.all([notebooks.list(), notebooks.listTrash()]);
            this.next = next ?? this.next;
            this.setState({ all, trash, said: { text, isBad: false } });
            return '';
        } catch (error) {
            await this.#refresh();
            return error instanceof notebooks.Refusal ? error.message : NOTEBOOK_WORDS.failed;
        }
    }

    async #make() {
        await ask({
            title: HOME_WORDS.makeAsk,
            why: HOME_WORDS.makeWhy,
            act: HOME_WORDS.makeDo,
            input: this.props.wanted,
            attempt: async (name) => {
                const { path, why } = await openNotebook(name).catch(() => ({
                    path: null,
                    why: NOTEBOOK_WORDS.failed,
                }));
                if (path !== null) location.assign(path);
                return why;
            },
        });
    }

    /** @param {About} one */
    async #rename(one) {
        if (one.is_start) return this.#say(HOME_WORDS.startWhy(one.name));
        const renamed = await askForName(one, (to) =>
            this.#attempt(async () => {
                await notebooks.rename(one.name, to, one.running > 0);
                return HOME_WORDS.renamed(to);
            }),
        );
        return this.#focusRow(renamed);
    }

    /** @param {string | null} name */
    #focusRow(name) {
        this.next = name;
        this.forceUpdate();
    }

    /** @param {About} one */
    async #duplicate({ name }) {
        let made = null;
        this.#say(NOTEBOOK_WORDS.duplicating(name));
        await this.#do(async () => {
            made = await notebooks.duplicate(name);
            return NOTEBOOK_WORDS.duplicated(made);
        });
        this.#focusRow(made);
    }

    /** @param {About} one */
    async #remove(one) {
        if (one.is_start) return this.#say(HOME_WORDS.startWhy(one.name));
        const why = HOME_WORDS.removeWhy(one.states, bytes(one.bytes), one.running);
        const answer = await ask({
            title: HOME_WORDS.removeAsk(one.name),
            why,
            act: HOME_WORDS.removeDo,
            isBad: true,
        });
        if (answer === null) return undefined;
        const { all } = this.state;
        const after = all[all.indexOf(one) + 1] ?? all[all.indexOf(one) - 1];
        return this.#do(async () => {
            await notebooks.remove(one.name, one.running > 0);
            return HOME_WORDS.removed(one.name);
        }, after?.name ?? '');
    }

    /** @param {File[]} files */
    async #import(files) {
        const odd = files.find((file) => !notebooks.isNotebookFile(file.name));
        if (odd) return this.#say(HOME_WORDS.notAFile(odd.name), true);
        const large = files.find((file) => file.size > notebooks.MAX_FILE_BYTES);
        if (large) return this.#say(NOTEBOOK_WORDS.tooLarge(large.name), true);
        return this.#do(async () => {
            const { made, leftOut } = await notebooks.importFiles(files, (file) =>
                this.#say(NOTEBOOK_WORDS.importing(file.name)),
            );
            const [first, second] = made;
            if (first && !second && !leftOut.length) location.assign(notebooks.notebookAt(first));
            this.next = first ?? null;
            return [NOTEBOOK_WORDS.imported(made), leftOut.length ? NOTEBOOK_WORDS.leftOut(leftOut) : '']
                .join(' ')
                .trim();
        });
    }

    /** @param {notebooks.Trashed} one */
    #restore(one) {
        return this.#do(async () => {
            const name = await notebooks.restore(one.id);
            this.next = name;
            return HOME_WORDS.restored(one.name, name);
        });
    }

    /** @param {notebooks.Trashed} one */
    async #purge(one) {
        const why = HOME_WORDS.purgeWhy(one.states, bytes(one.bytes));
        if (
            !(await confirmByName({
                title: HOME_WORDS.purgeAsk(one.name),
                why,
                act: HOME_WORDS.purgeDo,
                name: one.name,
            }))
        )
            return;
        await this.#do(async () => {
            await notebooks.purge(one.id);
            return HOME_WORDS.purged(one.name);
        }, '');
    }

    /** @param {notebooks.Trashed[]} trash */
    #trash(trash) {
        return html`
            <details class="trash">
                <summary>${HOME_WORDS.trash(trash.length)}</summary>
                <p class="hint">${HOME_WORDS.trashHint}</p>
                <ul class="notebooks" aria-label=${HOME_WORDS.trashList}>${trash.map(
                    (one) => html`
                    <li key=${one.id}>
                        <span class="name">${one.name}</span>
                        <button class="button" data-frame aria-label=${HOME_WORDS.restoreOf(one.name)}
                            onClick=${() => this.#restore(one)}>${HOME_WORDS.restore}</button>
                        <span class="facts"><span>${HOME_WORDS.states(one.states)}</span><span>
                            ${bytes(one.bytes)}</span>
                            <span title=${new Date(one.at).toLocaleString()}>
                                ${HOME_WORDS.trashed(one.why, ago(one.at, Date.now()))}</span></span>
                        <${Menu} label=${HOME_WORDS.menu(one.name)} alignEnd
                            actions=${() => [
                                { text: HOME_WORDS.purge, isBad: true, act: () => this.#purge(one) },
                            ]}
                                face=${html`<${MoreIcon} />`} />
                    </li>`,
                )}</ul>
            </details>`;
    }

    #chosen() {
        const files = [...(this.chooser?.files ?? [])];
        if (this.chooser) this.chooser.value = '';
        if (files.length) this.#import(files);
    }

    /** @param {About} one */
    #row(one) {
        const hint = one.is_start ? HOME_WORDS.startHint : undefined;
        const actions = () => [
            { text: NOTEBOOK_WORDS.duplicate, act: () => void this.#duplicate(one) },
            { text: HOME_WORDS.rename, hint, isOff: one.is_start, act: () => this.#rename(one) },
            {
                text: HOME_WORDS.remove,
                hint,
                isBad: !one.is_start,
                isOff: one.is_start,
                act: () => this.#remove(one),
            },
        ];
        const mark = one.running ? HOME_WORDS.running(one.running) : one.is_open ? HOME_WORDS.isOpen : '';
        return html`
            <li key=${one.name} data-name=${one.name}>
                <a href=${notebooks.notebookAt(one.name)}>${one.name}</a>
                <span class="mark" data-running=${one.running ? '' : null}>
                    ${mark && html`<i aria-hidden="true"></i>${mark}`}</span>
                <span class="facts"><span>${HOME_WORDS.states(one.states)}</span><span>
                    ${bytes(one.bytes)}</span>
                    <span title=${one.last_used ? new Date(one.last_used).toLocaleString() : ''}>
                        ${one.last_used ? ago(one.last_used, Date.now()) : HOME_WORDS.never}</span></span>
                ${
                    this.props.isOwner &&
                    html`<${Menu} label=${HOME_WORDS.menu(one.name)} alignEnd
                    actions=${actions} face=${html`<${MoreIcon} />`} />`
                }
            </li>`;
    }

    render() {
        const { isOwner } = this.props;
        const { all, said, isOver, terminals, trash } = this.state;
        return html`
            <header class="head">
                <span class="sprout"><${Sprout} /></span>
                <h1 tabindex="-1">${HOME_WORDS.title}</h1>
                ${
                    isOwner &&
                    html`<div class="buttons">
                    <button class="button" data-frame onClick=${() => this.chooser?.click()}>
                        ${HOME_WORDS.importFile}</button>
                    <button class="button" data-main onClick=${() => this.#make()}>${HOME_WORDS.make}</button>
                    <input type="file" accept=".ipynb,.py" multiple hidden onChange=${() => this.#chosen()}
                        ref=${(/** @type {HTMLInputElement | null} */ chooser) => (this.chooser = chooser)} />
                </div>`
                }
            </header>
            <div class="said" role=${said?.isBad ? 'alert' : 'status'} data-bad=${said?.isBad ? '' : null}>
                ${said?.text}</div>
            ${
                all.length > 0
                    ? html`<ul class="notebooks" aria-label=${HOME_WORDS.list}>
                        ${all.map((one) => this.#row(one))}</ul>`
                    : html`<div class="none"><h2>${HOME_WORDS.none}</h2><p>
                        ${isOwner ? HOME_WORDS.noneHint : HOME_WORDS.noneForGuests}</p></div>`
            }
            ${isOwner && all.length > 0 && html`<p class="hint">${HOME_WORDS.importHint}</p>`}
            ${
                terminals &&
                html`<p class="terminals">${terminals.map(
                    (id) =>
                        html`<a key=${id} href=${serverPath(`/terminal#${id}`)}>${TERMINAL_WORDS.named(id)}</a> `,
                )}<a href=${serverPath('/terminal')} target="_blank">${TERMINAL_WORDS.open}</a></p>`
            }
            ${trash.length > 0 && this.#trash(trash)}
            ${isOver && html`<${DropOverlay} title=${HOME_WORDS.drop} hint=${HOME_WORDS.dropHint} />`}`;
    }
}

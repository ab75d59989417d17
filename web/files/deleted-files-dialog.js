// @ts-check
// The dialog *Deleted files*: restores files or deletes them permanently.

import { WORDS as ALL } from '../shell/words.js';
import { ago, bytes } from '../text/format.js';
import { ask, show } from '../ui/dialog.js';
import { Component, html } from '../vendor/preact.js';
import { messageOf } from './file-browser.js';
import { listDeletedFiles, purgeFile, restoreFile } from './files-api.js';
import { FILES_WORDS as SAY } from './files-words.js';

/** @typedef {import('./files-api.js').DeletedFile} DeletedFile */
/** @typedef {(text: string, isBad: boolean) => void} Notify */
/** @typedef {{notify: Notify, done: (answer: null) => void}} Props */

/** Shows the dialog. @param {Notify} notify */
export const showDeletedFiles = (notify) =>
    show((done) => html`<${DeletedFiles} notify=${notify} done=${done} />`, 'trash');

/** @extends {Component<Props, {items: DeletedFile[] | null, why: string | null}>} */
class DeletedFiles extends Component {
    state = { items: /** @type {DeletedFile[] | null} */ (null), why: /** @type {string | null} */ (null) };

    componentDidMount() {
        void this.#load();
    }

    async #load() {
        try {
            this.setState({ items: await listDeletedFiles(), why: null });
        } catch (error) {
            this.setState({ items: [], why: messageOf(error) });
        }
    }

    /** @param {() => Promise<void>} deed */
    async #do(deed) {
        try {
            await deed();
        } catch (error) {
            this.props.notify(messageOf(error), true);
        }
        await this.#load();
    }

    /** @param {DeletedFile} item */
    #restore({ id }) {
        return this.#do(async () => this.props.notify(SAY.restored(await restoreFile(id)), false));
    }

    /** @param {DeletedFile} item */
    async #purge({ id, path }) {
        const answer = await ask({
            title: SAY.purgeAsk(path),
            why: SAY.purgeWhy,
            act: SAY.purgeDo,
            isBad: true,
        });
        if (answer !== null) await this.#do(() => purgeFile(id));
    }

    /** @param {Props} props @param {DeletedFiles['state']} state */
    render({ done }, { items, why }) {
        return html`
            <h2>${SAY.deletedTitle}</h2>
            <p>${SAY.deletedWhy}</p>
            ${
                items?.length
                    ? html`<ul class="deletions">${items.map(
                          (item) => html`<li key=${item.id}>
                    <div>
                        <p><b>${item.path}</b></p>
                        <small>${item.bytes === null ? SAY.kinds[item.kind] : bytes(item.bytes)},${' '}
                            ${ago(item.at, Date.now())}</small>
                    </div>
                    <span class="answers">
                        <button class="text-button" aria-label=${SAY.purgeOf(item.path)}
                            onClick=${() => this.#purge(item)}>${SAY.purge}</button>
                        <button class="button" data-frame aria-label=${SAY.restoreOf(item.path)}
                            onClick=${() => this.#restore(item)}>${SAY.restore}</button></span>
                </li>`,
                      )}</ul>`
                    : html`<p role="status">${why ?? (items ? SAY.deletedNone : SAY.loading)}</p>`
            }
            <div class="answers">
                <button class="button" data-main autofocus onClick=${() => done(null)}>${ALL.close}</button>
            </div>`;
    }
}

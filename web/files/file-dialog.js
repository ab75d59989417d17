// @ts-check
// The dialog of one file: a preview of pictures and texts, and what can be done with the file.

import { ago, bytes } from '../text/format.js';
import { show } from '../ui/dialog.js';
import { Component, html } from '../vendor/preact.js';
import { WORDS as ALL } from '../shell/words.js';
import { messageOf } from './file-browser.js';
import { fileAt, readFile } from './files-api.js';
import { isPicture } from '../outputs/local-images.js';
import { FILES_WORDS as SAY } from './files-words.js';

/** @typedef {import('./files-api.js').FileEntry} FileEntry */
/** @typedef {{download: () => void, importIt: (() => void) | null}} FileActions */
/**
 * @typedef {{path: string, entry: FileEntry, actions: FileActions, done: (answer: null) => void}}
 *   Props
 */

/** How much of a text is shown, in bytes. */
const SHOWN_BYTES = 256 * 1024;
/**
 * Shows the dialog.
 * @param {string} path
 * @param {FileEntry} entry
 * @param {FileActions} actions
 */
export const showFile = (path, entry, actions) =>
    show(
        (done) => html`<${FileDialog} path=${path} entry=${entry} actions=${actions} done=${done} />`,
        'file',
    );

/**
 * The text in the beginning of a file; null if it is not a text.
 * @param {Uint8Array} begin
 * @returns {string | null}
 */
export function textIn(begin) {
    if (begin.includes(0)) return null;
    try {
        // `stream`: the last character may be cut off.
        return new TextDecoder('utf-8', { fatal: true }).decode(begin, { stream: true });
    } catch {
        return null;
    }
}

/** @extends {Component<Props, {text: string | null, said: string | null}>} */
class FileDialog extends Component {
    state = { text: /** @type {string | null} */ (null), said: /** @type {string | null} */ (SAY.loading) };

    componentDidMount() {
        if (!isPicture(this.props.entry.name)) void this.#load();
    }

    async #load() {
        try {
            const text = textIn(await readFile(this.props.path, SHOWN_BYTES));
            this.setState({ text, said: text === null ? SAY.noPreview : null });
        } catch (error) {
            this.setState({ said: messageOf(error) });
        }
    }

    /** @param {Props} props @param {FileDialog['state']} state */
    render({ path, entry, actions, done }, { text, said }) {
        const { name, modified } = entry;
        const length = entry.bytes ?? 0;
        const then = (/** @type {() => void} */ act) => () => {
            done(null);
            act();
        };
        return html`
            <h2>${name}</h2>
            <p>${bytes(length)} · <span title=${new Date(modified).toLocaleString()}>
                ${ago(modified, Date.now())}</span>${
                    text !== null && length > SHOWN_BYTES && html` · ${SAY.tooLarge(bytes(SHOWN_BYTES))}`
                }</p>
            ${
                isPicture(name)
                    ? html`<div class="file-picture">
                        <img src=${`${fileAt(path)}?${modified}`} alt=${name} /></div>`
                    : text === null
                      ? html`<p role="status">${said}</p>`
                      : html`<pre class="file-text" tabindex="0" aria-label=${name}>${text}</pre>`
            }
            <div class="answers">
                ${
                    actions.importIt &&
                    html`<button class="button" data-frame data-other onClick=${then(actions.importIt)}>
                        ${SAY.importIt}</button>`
                }
                <button class="button" data-frame onClick=${then(actions.download)}>${SAY.download}</button>
                <button class="button" data-main autofocus onClick=${() => done(null)}>${ALL.close}</button>
            </div>`;
    }
}

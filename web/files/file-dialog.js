// @ts-check
// The dialog of one file: a preview of pictures, tables and texts, and what can be done with the
// file. The browser reads tables itself, so they need no Python.

import { ago, bytes } from '../text/format.js';
import { show } from '../ui/dialog.js';
import { Component, html } from '../vendor/preact.js';
import { WORDS as ALL } from '../shell/words.js';
import { messageOf } from './file-browser.js';
import { fileAt, readFile } from './files-api.js';
import { isPicture } from '../outputs/local-images.js';
import { decoded } from '../table/csv-records.js';
import { CsvTable } from '../table/csv-table.js';
import { GridView } from '../table/grid-view.js';
import { FILES_WORDS as SAY } from './files-words.js';

/** @typedef {import('./files-api.js').FileEntry} FileEntry */
/** @typedef {import('../table/table-data.js').Order} Order */
/** @typedef {{download: () => void, importIt: (() => void) | null}} FileActions */
/**
 * @typedef {{path: string, entry: FileEntry, actions: FileActions, done: (answer: null) => void}}
 *   Props
 */

/** How much of a text is shown, and how much of a table is read, in bytes. */
const SHOWN_BYTES = 256 * 1024;
const TABLE_BYTES = 10_000_000;

const TABLE = /\.(csv|tsv)$/i;
/** @param {string} name */
const isTable = (name) => TABLE.test(name);

/**
 * Shows the dialog.
 * @param {string} path
 * @param {FileEntry} entry
 * @param {FileActions} actions
 */
export const showFile = (path, entry, actions) =>
    show(
        (done) => html`<${FileDialog} path=${path} entry=${entry} actions=${actions} done=${done} />`,
        isTable(entry.name) ? 'grid' : 'file',
    );

/**
 * A file as the source of a grid.
 * @param {string} name
 * @param {string} text
 * @param {boolean} isCut
 * @returns {import('../table/grid-view.js').GridSource}
 */
function sourceOf(name, text, isCut) {
    const separator = /\.tsv$/i.test(name) ? '\t' : undefined;
    const table = new CsvTable(text, { isCut, separator });
    return {
        title: name.replace(TABLE, ''),
        what: { state: '', expression: '' },
        canRead: true,
        stamp: '',
        send: async (command) => table.answer(/** @type {any} */ (command).view),
        waiting: () => null,
    };
}

/**
 * @typedef {object} DialogState
 * @property {string | null} text the beginning of the text
 * @property {string | null} said why there is no text
 * @property {import('../table/grid-view.js').GridSource | null} source of the table
 * @property {boolean} isCut whether the file has more than was read
 * @property {boolean} isUtf8
 * @property {boolean} asText whether the text is shown although there is a table
 */

/** @extends {Component<Props, DialogState>} */
class FileDialog extends Component {
    /** @type {DialogState} */
    state = { text: null, said: SAY.loading, source: null, isCut: false, isUtf8: true, asText: false };
    /** The order of the table, also while the text is shown. @type {Order | null} */
    order = null;

    componentDidMount() {
        if (!isPicture(this.props.entry.name)) void this.#load();
    }

    async #load() {
        try {
            this.setState(await this.#read());
        } catch (error) {
            this.setState({ said: messageOf(error) });
        }
    }

    /** @returns {Promise<Partial<DialogState>>} */
    async #read() {
        const { path, entry } = this.props;
        const most = isTable(entry.name) ? TABLE_BYTES : SHOWN_BYTES;
        const begin = await readFile(path, most + 1);
        const isCut = begin.length > most;
        const read = decoded(begin.subarray(0, most));
        if (!read) return { said: SAY.noPreview };
        return {
            text: read.text.slice(0, SHOWN_BYTES),
            isUtf8: read.encoding === 'utf-8',
            isCut,
            source: isTable(entry.name) ? sourceOf(entry.name, read.text, isCut) : null,
        };
    }

    /** What is left out, and how the file was read. */
    #notes() {
        const { text, source, isCut, isUtf8, asText } = this.state;
        if (text === null) return [];
        const showsTable = source && !asText;
        const isTextCut = (this.props.entry.bytes ?? 0) > SHOWN_BYTES;
        return [
            (showsTable ? isCut : isTextCut) && SAY.tooLarge(bytes(showsTable ? TABLE_BYTES : SHOWN_BYTES)),
            !isUtf8 && SAY.notUtf8,
        ].filter(Boolean);
    }

    /** The picture, the table or the text; else why there is none. */
    #content() {
        const { path, entry } = this.props;
        const { text, said, source, asText } = this.state;
        const { name, modified } = entry;
        if (isPicture(name))
            return html`<div class="file-picture">
                <img src=${`${fileAt(path)}?${modified}`} alt=${name} /></div>`;
        if (text === null) return html`<p role="status">${said}</p>`;
        if (!source || asText)
            return html`<pre class="file-text" tabindex="0" aria-label=${name}>${text}</pre>`;
        return html`<${GridView} source=${source} order=${this.order}
            onOrder=${(/** @type {Order} */ now) => (this.order = now)} />`;
    }

    /** @param {Props} props @param {DialogState} state */
    render({ entry, actions, done }, { source, asText }) {
        const { name, modified } = entry;
        const then = (/** @type {() => void} */ act) => () => {
            done(null);
            act();
        };
        return html`
            <h2>${name}</h2>
            <p>${bytes(entry.bytes ?? 0)} · <span title=${new Date(modified).toLocaleString()}>
                ${ago(modified, Date.now())}</span>${this.#notes().map((note) => html` · ${note}`)}</p>
            ${this.#content()}
            <div class="answers">
                ${
                    actions.importIt &&
                    html`<button class="button" data-frame data-other onClick=${then(actions.importIt)}>
                        ${SAY.importIt}</button>`
                }
                ${
                    source &&
                    html`<button class="button" data-frame data-other
                        onClick=${() => this.setState({ asText: !asText })}>
                        ${asText ? SAY.asTable : SAY.asText}</button>`
                }
                <button class="button" data-frame onClick=${then(actions.download)}>${SAY.download}</button>
                <button class="button" data-main autofocus onClick=${() => done(null)}>${ALL.close}</button>
            </div>`;
    }
}

// @ts-check
// The files pane: the files in the directory in which cells run. Folders open; files are
// previewed, downloaded, renamed, deleted and uploaded.

import * as api from './files-api.js';
import { importFiles, isNotebookFile, notebookAt, Refusal } from '../home/notebooks-api.js';
import { NOTEBOOK_WORDS } from '../home/notebook-words.js';
import { WORDS } from '../shell/words.js';
import { ago, bytes } from '../text/format.js';
import { copyText } from '../ui/copy.js';
import { ask } from '../ui/dialog.js';
import { FolderIcon, MoreIcon, Sprout, icon } from '../ui/icons.js';
import { List } from '../ui/menu.js';
import { PaneEdge } from '../ui/pane-edge.js';
import { Component, html } from '../vendor/preact.js';
import { showDeletedFiles } from './deleted-files-dialog.js';
import { FileBrowser, joined, messageOf, sortedEntries } from './file-browser.js';
import { showFile } from './file-dialog.js';
import { FILES_WORDS as SAY } from './files-words.js';

const PlusIcon = icon('M8 3.5v9M3.5 8h9');
const FileIcon = icon('M4 2.5h5l3 3v8H4zM9 2.5v3h3');
const UploadIcon = icon('M8 10.5v-7M4.8 6.5 8 3.3l3.2 3.2M3 13h10');
const RefreshIcon = icon('M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3');

/** @typedef {import('./files-api.js').FileEntry} FileEntry */
/** @typedef {import('./file-browser.js').FileOrder} FileOrder */
/** @typedef {import('./file-browser.js').FileColumn} FileColumn */
/** @typedef {import('./file-browser.js').Upload} Upload */
/** @typedef {import('../notebook/page.js').Page} Page */

/** The most entries that are painted. */
const PAINTED = 1000;
const COLUMNS = /** @type {FileColumn[]} */ (['name', 'bytes', 'modified']);
const SUFFIX = '.ratoon';

/**
 * The state of the pane, made on first use.
 * @param {Page} page
 * @returns {FileBrowser}
 */
export function browserOf(page) {
    page.files.browser ??= new FileBrowser(api, page.host.requestPaint, page.host.ask);
    return page.files.browser;
}

/**
 * Uploads files and reports it.
 * @param {Page} page
 * @param {File[]} files
 * @param {string} [folder]
 */
export async function uploadTo(page, files, folder) {
    const browser = browserOf(page);
    const to = folder ?? browser.folder;
    const done = await browser.upload(files, to);
    if (done.length) page.notify(SAY.uploaded(done, to), false);
}

/**
 * @typedef {{order: FileOrder, menu: {entry: FileEntry, x: number, y: number} | null}} PaneState
 */

/** @extends {Component<{page: Page, rev: number}, PaneState>} */
export class FilesPane extends Component {
    state = {
        order: /** @type {FileOrder} */ (
            this.props.page.host.recall('filesOrder') ?? { by: 'name', isDown: false }
        ),
        menu: /** @type {PaneState['menu']} */ (null),
    };
    browser = browserOf(this.props.page);
    /** The number of changes at the last refresh. */
    changes = this.props.page.files.changes;
    /** @type {HTMLInputElement | null} */
    chooser = null;
    /** @type {HTMLElement | null} */
    element = null;
    /** The entry that gets the focus after the next update. @type {string | null} */
    next = null;
    onFocus = () => void this.browser.refresh();

    componentDidMount() {
        addEventListener('focus', this.onFocus);
        this.browser.onUploaded = (name) => this.forceUpdate(() => this.#focusUploaded(name));
        void this.browser.refresh();
    }

    componentWillUnmount() {
        removeEventListener('focus', this.onFocus);
        this.browser.onUploaded = null;
    }

    componentDidUpdate() {
        const { changes } = this.props.page.files;
        if (changes !== this.changes) {
            this.changes = changes;
            void this.browser.refresh();
        }
        if (this.next === null || !this.browser.listing) return;
        const button =
            this.#entryNamed(this.next) ?? this.element?.querySelector('.file-name, .files-path button');
        this.next = null;
        if (button instanceof HTMLElement) button.focus();
    }

    /** The button of an entry. @param {string} name @returns {HTMLElement | null | undefined} */
    #entryNamed(name) {
        return this.element?.querySelector(`[data-name="${CSS.escape(name)}"] .file-name`);
    }

    /**
     * Gives the focus to an uploaded file, unless the user has put it outside the pane or has a
     * menu open.
     * @param {string} name
     */
    #focusUploaded(name) {
        const focused = document.activeElement ?? document.body;
        const isFree = focused === document.body || this.element?.contains(focused);
        if (isFree && !this.state.menu) this.#entryNamed(name)?.focus();
    }

    /** A guest may not change files if cells may not. */
    get #mayWrite() {
        return this.browser.listing?.may_write !== false;
    }

    /** @param {string} folder @param {string} [focused] the entry that gets the focus */
    #open(folder, focused) {
        this.next = focused ?? '';
        void this.browser.open(folder);
    }

    /** @param {() => Promise<void>} deed */
    async #do(deed) {
        const refusal = await this.#attempt(deed);
        if (refusal) this.props.page.notify(refusal, true);
    }

    /**
     * Does something, and returns why it was refused, else ''.
     * @param {() => Promise<void>} deed
     * @returns {Promise<string>}
     */
    async #attempt(deed) {
        let refusal = '';
        try {
            await deed();
        } catch (error) {
            refusal = error instanceof Refusal ? error.message : messageOf(error);
        }
        await this.browser.refresh();
        return refusal;
    }

    async #makeFolder() {
        const { folder } = this.browser;
        const made = await ask({
            title: SAY.newFolderAsk,
            why: SAY.newFolderWhy(folder),
            act: SAY.newFolderDo,
            input: SAY.newFolderName,
            attempt: (name) => this.#attempt(() => api.makeFolder(joined(folder, name.normalize('NFC')))),
        });
        this.#focusEntry(made);
    }

    /** @param {FileEntry} entry */
    async #rename({ name, kind }) {
        const { folder } = this.browser;
        const dot = kind === 'file' ? name.lastIndexOf('.') : -1;
        const renamed = await ask({
            title: SAY.renameAsk(name),
            why: SAY.renameWhy,
            act: SAY.renameDo,
            input: name,
            selected: dot > 0 ? dot : undefined,
            longest: 255,
            attempt: async (to) => {
                if (to === name) return '';
                return this.#attempt(() =>
                    api.renameFile(joined(folder, name), joined(folder, to.normalize('NFC'))),
                );
            },
        });
        this.#focusEntry(renamed);
    }

    /** @param {string | null} name */
    #focusEntry(name) {
        this.next = name;
        this.forceUpdate();
    }

    /** @param {FileEntry} entry */
    async #remove({ name }) {
        const { page } = this.props;
        const { entries } = this.browser.listing ?? { entries: [] };
        const shown = sortedEntries(entries, this.state.order);
        const at = shown.findIndex((one) => one.name === name);
        await this.#do(async () => {
            const id = await api.removeFile(joined(this.browser.folder, name));
            this.next = (shown[at + 1] ?? shown[at - 1])?.name ?? '';
            const act = () =>
                this.#do(async () => page.notify(SAY.restored(await api.restoreFile(id)), false));
            page.notify(SAY.removed(name), false, { act: { text: SAY.undo, act } });
        });
    }

    /** @param {FileEntry} entry */
    #import({ name }) {
        const { page } = this.props;
        return this.#do(async () => {
            const answer = await fetchFile(joined(this.browser.folder, name));
            const { made, leftOut } = await importFiles([new File([answer], name)], () => {});
            const open = () => location.assign(notebookAt(made[0] ?? ''));
            const said = [
                NOTEBOOK_WORDS.imported(made),
                leftOut.length ? NOTEBOOK_WORDS.leftOut(leftOut) : '',
            ];
            page.notify(said.join(' ').trim(), false, {
                stays: true,
                act: { text: NOTEBOOK_WORDS.openIt(1), act: open },
            });
        });
    }

    /** The address of a notebook, if this server can open it. @param {FileEntry} entry */
    #notebook({ name, kind }) {
        return kind === 'notebook' && !this.browser.folder ? notebookAt(name.slice(0, -SUFFIX.length)) : null;
    }

    /** @param {FileEntry} entry */
    #preview(entry) {
        return showFile(joined(this.browser.folder, entry.name), entry, {
            download: () => this.#download(entry),
            importIt:
                isNotebookFile(entry.name) && this.props.page.scope === 'owner'
                    ? () => this.#import(entry)
                    : null,
        });
    }

    /** @param {FileEntry} entry */
    #download({ name }) {
        const link = document.createElement('a');
        link.href = api.fileAt(joined(this.browser.folder, name));
        link.download = name;
        link.click();
    }

    /** @param {FileEntry} entry @returns {import('../ui/menu.js').Action[]} */
    #actions(entry) {
        const { page } = this.props;
        const { name, kind } = entry;
        const path = joined(this.browser.folder, name);
        const notebook = this.#notebook(entry);
        if (kind === 'notebook')
            return [
                notebook !== null && { text: SAY.openNotebook, act: () => location.assign(notebook) },
                page.scope === 'owner' && {
                    text: WORDS.home,
                    act: () => location.assign(notebookAt('').replace(/n\/$/, '')),
                },
            ];
        const copy = () => copyText(page, path, { said: SAY.pathCopied(path), title: SAY.copyByHand });
        return [
            kind === 'folder' && { text: SAY.openFolder, act: () => this.#open(path) },
            kind === 'file' && { text: SAY.preview, act: () => void this.#preview(entry) },
            kind === 'file' && { text: SAY.download, act: () => this.#download(entry) },
            kind === 'file' &&
                page.scope === 'owner' &&
                isNotebookFile(name) && { text: SAY.importIt, act: () => void this.#import(entry) },
            this.#mayWrite && { text: SAY.rename, act: () => void this.#rename(entry) },
            { text: SAY.copyPath, act: copy },
            this.#mayWrite && { text: SAY.remove, isBad: true, act: () => void this.#remove(entry) },
        ];
    }

    /** @param {KeyboardEvent} event @param {FileEntry} entry */
    #key(event, entry) {
        const buttons = /** @type {HTMLElement[]} */ ([
            ...(this.element?.querySelectorAll('.file-name') ?? []),
        ]);
        const at = buttons.indexOf(/** @type {HTMLElement} */ (event.target));
        if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
        const canChange = entry.kind !== 'notebook' && this.#mayWrite;
        if (event.key === 'ArrowDown') buttons[at + 1]?.focus();
        else if (event.key === 'ArrowUp') buttons[at - 1]?.focus();
        else if (event.key === 'Backspace') this.#up();
        else if (event.key === 'F2' && canChange) void this.#rename(entry);
        else if (event.key === 'Delete' && canChange) void this.#remove(entry);
        else return;
        event.preventDefault();
        event.stopPropagation();
    }

    /** Opens the folder around the folder shown. */
    #up() {
        const { folder } = this.browser;
        if (!folder) return;
        const parts = folder.split('/');
        const name = parts.pop();
        this.#open(parts.join('/'), name);
    }

    /** @param {FileColumn} by */
    #sort(by) {
        const order = { by, isDown: this.state.order.by === by && !this.state.order.isDown };
        this.props.page.host.remember('filesOrder', order);
        this.setState({ order });
    }

    #chosen() {
        const files = [...(this.chooser?.files ?? [])];
        if (this.chooser) this.chooser.value = '';
        if (files.length) void uploadTo(this.props.page, files);
    }

    /** @param {{page: Page, rev: number}} props @param {PaneState} state */
    render({ page }, { menu }) {
        const { listing, folder, why, uploads } = this.browser;
        return html`
            <aside class="side files-pane" aria-label=${SAY.title}
                ref=${(/** @type {HTMLElement | null} */ element) => (this.element = element)}>
                <${PaneEdge} name="files" label=${SAY.width} />
                <div class="files-top">
                    <h2>${SAY.title}</h2>
                    <div class="buttons">
                        ${
                            this.#mayWrite &&
                            html`<button class="button" title=${SAY.newFolder} aria-label=${SAY.newFolder}
                            onClick=${() => void this.#makeFolder()}><${PlusIcon} /></button>`
                        }
                        <button class="button" title=${SAY.refresh} aria-label=${SAY.refresh}
                            onClick=${() => void this.browser.refresh()}><${RefreshIcon} /></button>
                        ${
                            this.#mayWrite &&
                            html`<button class="button" data-frame aria-label=${SAY.upload}
                            onClick=${() => this.chooser?.click()}>
                            <${UploadIcon} /><span>${SAY.upload}</span></button>`
                        }
                    </div>
                    <input type="file" multiple hidden onChange=${() => this.#chosen()}
                        ref=${(/** @type {HTMLInputElement | null} */ chooser) => (this.chooser = chooser)} />
                    ${this.#path()}
                </div>
                ${uploads.length > 0 && this.#uploads()}
                ${
                    listing
                        ? this.#table(listing)
                        : html`<p class="hint files-none" role=${why ? 'alert' : 'status'}
                            data-late=${why ? null : ''}>${why ?? SAY.loading}</p>`
                }
                <p class="files-foot"><span class="hint">${SAY.hint(folder)}</span>
                    ${
                        page.scope === 'owner' &&
                        html`<button class="text-button" onClick=${() => this.#showDeleted()}>
                            ${SAY.deleted}</button>`
                    }</p>
                ${menu && this.#menu(menu)}
            </aside>`;
    }

    async #showDeleted() {
        await showDeletedFiles((text, isBad) => this.props.page.notify(text, isBad));
        await this.browser.refresh();
    }

    /** The folders around the entries, as buttons. */
    #path() {
        const { folder, listing } = this.browser;
        const root = listing?.directory ?? '';
        const parts = folder ? folder.split('/') : [];
        const at = (/** @type {number} */ i) => parts.slice(0, i).join('/');
        const names = [root.split('/').pop() || '/', ...parts];
        return html`<nav class="files-path" aria-label=${SAY.path}>${names.map(
            (name, i) => html`
            ${i > 0 && html`<span aria-hidden="true">/</span>`}
            <button class="text-button" title=${i ? at(i) : SAY.where(root)}
                aria-current=${i === parts.length ? 'true' : null}
                onClick=${() => this.#open(at(i), parts[i])}>${name}</button>`,
        )}</nav>`;
    }

    #uploads() {
        return html`<ul class="uploads" aria-label=${SAY.uploads}>${this.browser.uploads.map(
            (one) => html`<li key=${one.id} data-bad=${one.why ? '' : null} role=${one.why ? 'alert' : null}>
                <span>${sayUpload(one)}</span>
                <button class="text-button" aria-label=${one.why ? null : SAY.cancelOf(one.name)}
                    onClick=${() => this.browser.cancel(one)}>${one.why ? SAY.dismiss : SAY.cancel}</button>
                ${
                    !one.why &&
                    html`<progress max=${one.file.size || 1} value=${one.sent}
                    aria-label=${one.name}></progress>`
                }</li>`,
        )}</ul>`;
    }

    /** @param {import('./files-api.js').Folder} listing */
    #table({ entries, more }) {
        const { order } = this.state;
        if (!entries.length && !more) return html`<p class="hint files-none">${SAY.empty}</p>`;
        const rows = sortedEntries(entries, order);
        const left = more + Math.max(0, rows.length - PAINTED);
        return html`
            <div class="files-list" role="region" aria-label=${SAY.list} tabindex="-1">
                <table>
                    <thead><tr>${COLUMNS.map((by) => this.#head(by))}<td class="acts"></td></tr></thead>
                    <tbody>${rows.slice(0, PAINTED).map((entry) => this.#row(entry))}</tbody>
                </table>
                ${left > 0 && html`<p class="hint">${SAY.more(left)}</p>`}
            </div>`;
    }

    /** @param {FileColumn} by */
    #head(by) {
        const { order } = this.state;
        const way = order.by !== by ? 'none' : order.isDown ? 'descending' : 'ascending';
        return html`<th scope="col" class=${by} aria-sort=${way}>
            <button onClick=${() => this.#sort(by)}>${SAY[by]}<span aria-hidden="true">
                ${way === 'none' ? '' : way === 'ascending' ? ' ↑' : ' ↓'}</span></button></th>`;
    }

    /** @param {FileEntry} entry */
    #row(entry) {
        const { name, kind } = entry;
        const notebook = this.#notebook(entry);
        const isHere = notebook === notebookAt(this.props.page.model.name);
        const path = joined(this.browser.folder, name);
        const isClosed = kind === 'link' || kind === 'other' || (kind === 'notebook' && notebook === null);
        const open = () => (kind === 'folder' ? this.#open(path) : void this.#preview(entry));
        const key = (/** @type {KeyboardEvent} */ event) => this.#key(event, entry);
        const title =
            kind === 'notebook' && notebook === null ? SAY.elsewhere : isClosed ? SAY.kinds[kind] : name;
        const face = html`<${kind === 'folder' ? FolderIcon : kind === 'notebook' ? Sprout : FileIcon} />
            <span>${kind === 'notebook' ? name.slice(0, -SUFFIX.length) : name}</span>`;
        const showMenu = (/** @type {MouseEvent} */ event) => {
            event.preventDefault();
            const box = /** @type {HTMLElement} */ (event.currentTarget).getBoundingClientRect();
            const at =
                event.type === 'contextmenu'
                    ? { x: event.clientX, y: event.clientY }
                    : { x: box.right - 190, y: box.bottom };
            this.setState({ menu: { entry, ...at } });
        };
        return html`<tr key=${name} data-name=${name} data-kind=${kind} onContextMenu=${showMenu}>
            <th scope="row">${
                notebook !== null && !isHere
                    ? html`<a class="file-name" href=${notebook} title=${SAY.openNotebook} onKeyDown=${key}>
                        ${face}</a>`
                    : html`<button class="file-name" title=${isHere ? SAY.thisNotebook : title}
                        onKeyDown=${key} aria-disabled=${isClosed || isHere ? 'true' : null}
                        onClick=${isClosed || isHere ? null : open}>${face}</button>`
            }${isHere && html`<small>${SAY.thisNotebook}</small>`}</th>
            <td class="bytes">${entry.bytes === null ? '' : bytes(entry.bytes)}</td>
            <td class="modified" title=${new Date(entry.modified).toLocaleString()}>
                ${ago(entry.modified, Date.now())}</td>
            <td class="acts"><button class="tool" aria-haspopup="menu" aria-label=${SAY.actions(name)}
                title=${SAY.actions(name)} onClick=${showMenu}><${MoreIcon} /></button></td>
        </tr>`;
    }

    /** @param {{entry: FileEntry, x: number, y: number}} menu */
    #menu({ entry, x, y }) {
        const close = (/** @type {boolean} */ takesFocus) => {
            this.setState({ menu: null });
            if (takesFocus) this.#entryNamed(entry.name)?.focus();
        };
        const left = (/** @type {FocusEvent} */ event) =>
            !(
                /** @type {Element} */ (event.currentTarget).contains(
                    /** @type {Node | null} */ (event.relatedTarget),
                )
            ) && close(false);
        return html`<div class="files-menu" onFocusOut=${left}>
            <${List} label=${SAY.actions(entry.name)} actions=${this.#actions(entry)} at=${{ x, y }}
                close=${close} /></div>`;
    }
}

/** @param {Upload} one */
function sayUpload({ name, file, sent, isSending, why }) {
    if (why !== null) return why;
    if (!isSending) return SAY.waiting(name);
    return sent >= file.size ? SAY.writing(name) : SAY.sending(name, bytes(sent), bytes(file.size));
}

/** A whole file, for an import. @param {string} path */
async function fetchFile(path) {
    return /** @type {BlobPart} */ (await api.readFile(path, Number.POSITIVE_INFINITY));
}

// @ts-check
// The state of the files pane: the folder shown, its entries, and the uploads. Knows no DOM.

import { FILES_WORDS } from './files-words.js';

/** @typedef {import('./files-api.js').FileEntry} FileEntry */
/** @typedef {import('./files-api.js').Folder} Folder */
/** @typedef {'name' | 'bytes' | 'modified'} FileColumn */
/** @typedef {{by: FileColumn, isDown: boolean}} FileOrder */
/**
 * @typedef {object} Upload
 * @property {number} id
 * @property {string} name
 * @property {string} folder
 * @property {Blob} file
 * @property {number} sent in bytes
 * @property {boolean} isSending
 * @property {string | null} why why it failed
 * @property {(() => void) | null} abort
 */
/**
 * @typedef {object} FileServer The requests, so that tests need no server.
 * @property {typeof import('./files-api.js').listFolder} listFolder
 * @property {typeof import('./files-api.js').uploadFile} uploadFile
 */

/** @param {string} folder @param {string} name */
export const joined = (folder, name) => (folder ? `${folder}/${name}` : name);

/**
 * Sorts entries: folders first, then by the order.
 * @param {FileEntry[]} entries
 * @param {FileOrder} order
 */
export function sortedEntries(entries, { by, isDown }) {
    const names = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });
    const rank = (/** @type {FileEntry} */ { kind }) => (kind === 'folder' ? 0 : kind === 'notebook' ? 1 : 2);
    const compare = (/** @type {FileEntry} */ a, /** @type {FileEntry} */ b) =>
        by === 'name' ? 0 : (a[by] ?? -1) - (b[by] ?? -1);
    const sign = isDown ? -1 : 1;
    return entries.toSorted(
        (a, b) =>
            rank(a) - rank(b) ||
            sign * (compare(a, b) || names.compare(a.name, b.name)) ||
            (a.name < b.name ? -1 : 1),
    );
}

export class FileBrowser {
    /**
     * @param {FileServer} server
     * @param {() => void} requestPaint
     * @param {import('../notebook/page.js').Host['ask']} ask
     */
    constructor(server, requestPaint, ask) {
        this.server = server;
        this.requestPaint = requestPaint;
        this.ask = ask;
        /** The path of the folder shown. */
        this.folder = '';
        /** The folder's content; null while it loads. @type {Folder | null} */
        this.listing = null;
        /** Why there is no content. @type {string | null} */
        this.why = null;
        /** @type {Upload[]} */
        this.uploads = [];
        this.count = 0;
        this.requested = 0;
        /**
         * Receives the name of the last uploaded file of the folder shown, once it is in the list.
         * @type {((name: string) => void) | null}
         */
        this.onUploaded = null;
        /** Ends with the last upload of the queue. @type {Promise<void>} */
        this.queue = Promise.resolve();
    }

    /** Goes to a folder. @param {string} folder */
    open(folder) {
        if (folder !== this.folder) this.listing = null;
        this.folder = folder;
        return this.refresh();
    }

    async refresh() {
        const { folder } = this;
        this.requested += 1;
        const number = this.requested;
        try {
            const listing = await this.server.listFolder(folder);
            // Only the answer to the last request counts.
            if (number === this.requested) Object.assign(this, { listing, why: null });
        } catch (error) {
            if (number === this.requested) Object.assign(this, { listing: null, why: messageOf(error) });
        }
        this.requestPaint();
    }

    /**
     * Uploads files into a folder, one after the other. Asks before it replaces a file.
     * @param {File[]} files
     * @param {string} [folder]
     * @returns {Promise<string[]>} the names of the uploaded files
     */
    async upload(files, folder = this.folder) {
        /** @type {Upload[]} */
        const added = files.map((file) => ({
            id: ++this.count,
            // The form of names on Linux; a Mac sends the other one.
            name: file.name.normalize('NFC'),
            folder,
            file,
            sent: 0,
            isSending: false,
            why: null,
            abort: null,
        }));
        this.uploads.push(...added);
        this.requestPaint();
        /** @type {string[]} */
        const done = [];
        this.queue = this.queue.then(async () => {
            for (const one of added) if (await this.#send(one)) done.push(one.name);
        });
        await this.queue;
        await this.refresh();
        const last = done.at(-1);
        if (last !== undefined && folder === this.folder) this.onUploaded?.(last);
        return done;
    }

    /** @param {Upload} one @returns {Promise<boolean>} whether it was uploaded */
    async #send(one) {
        // Cancelled while it waited.
        if (!this.uploads.includes(one)) return false;
        try {
            const { entries } = await this.server.listFolder(one.folder);
            const same = entries.find(({ name }) => name === one.name);
            const question = {
                title: FILES_WORDS.replaceAsk(one.name),
                why: FILES_WORDS.replaceWhy,
                act: FILES_WORDS.replaceDo,
                isBad: true,
            };
            const replaces = same !== undefined && same.kind !== 'folder';
            if (replaces && !(await this.ask(question))) return this.#remove(one);
            if (!this.uploads.includes(one)) return false;
            const sending = this.server.uploadFile(
                joined(one.folder, one.name),
                one.file,
                replaces,
                (sent) => {
                    one.sent = sent;
                    this.requestPaint();
                },
            );
            one.abort = sending.abort;
            one.isSending = true;
            this.requestPaint();
            await sending.done;
            this.#remove(one);
            return true;
        } catch (error) {
            one.isSending = false;
            one.abort = null;
            if (error === null) return this.#remove(one);
            one.why =
                error instanceof Error && 'code' in error ? error.message : FILES_WORDS.failed(one.name);
            this.requestPaint();
            return false;
        }
    }

    /** Stops an upload, or removes a failed one from the list. @param {Upload} one */
    cancel(one) {
        if (one.abort) one.abort();
        else this.#remove(one);
    }

    /** @param {Upload} one */
    #remove(one) {
        this.uploads = this.uploads.filter((other) => other !== one);
        this.requestPaint();
        return false;
    }
}

/** @param {unknown} error */
export const messageOf = (error) =>
    error instanceof Error && 'code' in error ? error.message : FILES_WORDS.unreachable;

// @ts-check
// Whether the files pane is shown, and what the rest of the page tells it. The pane itself and its
// state are loaded later (files-pane.js).

export class Files {
    /**
     * @param {import('../notebook/page.js').Page} page
     * @param {import('../notebook/page.js').Host} host
     */
    constructor(page, host) {
        this.page = page;
        this.host = host;
        this.isWanted = host.recall('showsFiles') === true;
        /** How many runs have ended: each may have changed files. */
        this.changes = 0;
        /**
         * The state of the pane, which survives closing the pane, as uploads do.
         * @type {import('./file-browser.js').FileBrowser | null}
         */
        this.browser = null;
    }

    /** Guests who run cells have files, because their cells have them too. */
    get isShown() {
        return this.isWanted && this.page.scope !== 'view';
    }

    /** @param {boolean} isWanted */
    show(isWanted) {
        this.isWanted = isWanted;
        this.host.remember('showsFiles', isWanted);
        this.host.requestPaint();
    }

    onRunEnded() {
        this.changes += 1;
    }
}

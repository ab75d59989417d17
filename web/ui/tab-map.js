// @ts-check
// A map that this tab keeps across reloads of a notebook's page.

export class TabMap {
    /** What is kept; null until the first use. @type {Map<string, any> | null} */
    #kept = null;
    #name;

    /** @param {string} name of the map in the tab's storage */
    constructor(name) {
        this.#name = name;
    }

    get #key() {
        return `ratoon.${document.getElementById('page')?.dataset.notebook ?? ''}.${this.#name}`;
    }

    /** @returns {Map<string, any>} */
    get all() {
        try {
            this.#kept ??= new Map(JSON.parse(sessionStorage.getItem(this.#key) ?? '[]'));
        } catch {
            this.#kept = new Map();
        }
        return this.#kept;
    }

    /** Stores the map. Without storage, it lasts until the next reload. */
    store() {
        try {
            sessionStorage.setItem(this.#key, JSON.stringify([...this.all]));
        } catch {
            // The storage is full or forbidden.
        }
    }
}

// @ts-check
// What is collapsed: the code of cells, and sections. Stored in this browser, for each notebook.

/** The most names remembered in each list; the oldest are dropped. */
const MOST = 500;

class Folds {
    /** The stored text that was parsed last, and its names. */
    parsed = { text: '[]', names: /** @type {string[]} */ ([]) };

    /** @param {string} name of the list */
    constructor(name) {
        this.name = name;
    }

    get #storageKey() {
        return `ratoon.${document.getElementById('page')?.dataset.notebook ?? ''}.${this.name}`;
    }

    #all() {
        const text = localStorage.getItem(this.#storageKey) ?? '[]';
        if (text !== this.parsed.text) this.parsed = { text, names: namesIn(text) };
        return this.parsed.names;
    }

    /** @param {string} name */
    has(name) {
        return this.#all().includes(name);
    }

    /** @param {string} name @param {boolean} isFolded */
    set(name, isFolded) {
        const others = this.#all().filter((other) => other !== name);
        const all = (isFolded ? [...others, name] : others).slice(-MOST);
        localStorage.setItem(this.#storageKey, JSON.stringify(all));
    }
}

/** The cells that show one line in place of their code, by their keys. */
export const foldedCode = new Folds('foldedCode');
/** The collapsed sections, by their ids. */
export const foldedSections = new Folds('foldedSections');

/**
 * The names in a stored text; none if it is invalid.
 * @param {string} text
 * @returns {string[]}
 */
export function namesIn(text) {
    try {
        const names = JSON.parse(text);
        return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
    } catch {
        return [];
    }
}

// @ts-check
// The shortcut sheet: a dialog with all key bindings by group, which users can search and print.

import { allCommands, keysOf, shownKey } from './commands.js';
import { Component, html } from '../vendor/preact.js';
import { EDITOR_WORDS as WORDS } from '../editor/editor-words.js';
import { show } from '../ui/dialog.js';
import { isMac } from './palette.js';

/** @typedef {import('./commands.js').Entry} Entry */

export const showShortcuts = () => show((done) => html`<${Sheet} done=${() => done(null)} />`, 'wide');

/** @extends {Component<{done: () => void}, {typed: string}>} */
class Sheet extends Component {
    state = { typed: '' };

    render() {
        const { done } = this.props;
        const { typed } = this.state;
        const bound = allCommands().filter((entry) => keysOf(entry).length > 0 && fits(entry, typed));
        const groups = Object.entries(WORDS.groups).map(([id, title]) => ({
            title,
            entries: unique(bound.filter(({ group = 'notebook' }) => group === id)),
        }));
        return html`
            <div class="sheet-head">
                <h2>${WORDS.keys}</h2>
                <p>${WORDS.keysWhy}</p>
                <input class="field" type="text" aria-label=${WORDS.searchKeys}
                    placeholder=${WORDS.searchKeys} value=${typed} autofocus
                    onInput=${(/** @type {any} */ event) => this.setState({ typed: event.target.value })} />
                <button class="button" onClick=${() => print()}>${WORDS.print}</button>
                <button class="button" data-main onClick=${done}>${WORDS.close}</button>
            </div>
            <div class="key-groups" tabindex="0" role="region" aria-label=${WORDS.keys}>
                <div>${groups
                    .filter(({ entries }) => entries.length > 0)
                    .map(
                        ({ title, entries }) => html`
                    <section key=${title}><h3>
                        ${title}${
                            entries.every(({ mode }) => mode === 'cell') &&
                            html` <small>
                            ${WORDS.commandMode}</small>`
                        }</h3><dl>${entries.map(
                            (entry) => html`
                        <div key=${entry.id}><dt>${keysOf(entry)
                            .filter((key) => key !== 'Mod-_')
                            .slice(0, 2)
                            .map((key) => html`<kbd>${shownKey(key, isMac)}</kbd>`)}</dt>
                            <dd>${entry.sheet ?? entry.title}</dd></div>`,
                        )}</dl></section>`,
                    )}</div>
            </div>`;
    }
}

/** @param {Entry} entry @param {string} typed */
function fits(entry, typed) {
    const text = `${entry.title} ${keysOf(entry)
        .map((key) => shownKey(key, isMac))
        .join(' ')}`.toLowerCase();
    return typed
        .toLowerCase()
        .split(/\s+/)
        .every((word) => text.includes(word));
}

/**
 * Merges entries of the same name, such as one for each mode, into one entry with all keys.
 * @param {Entry[]} entries
 * @returns {Entry[]}
 */
function unique(entries) {
    /** @type {Map<string, Entry>} */
    const byTitle = new Map();
    for (const entry of entries) {
        const title = entry.sheet ?? entry.title;
        const known = byTitle.get(title);
        byTitle.set(
            title,
            known ? { ...known, key: [...new Set([...keysOf(known), ...keysOf(entry)])] } : entry,
        );
    }
    return [...byTitle.values()];
}

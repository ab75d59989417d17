// @ts-check
// The shortcut sheet: a dialog with all key bindings by group, which users can search and print.

import { allCommands, keysOf, shownKey } from './commands.js';
import { Component, html } from '../vendor/preact.js';
import { EDITOR_WORDS as WORDS } from '../editor/editor-words.js';
import { PALETTE_WORDS as SAY } from './palette-words.js';
import { GRAPH_KEYS } from '../graph/graph-keys-words.js';
import { show } from '../ui/dialog.js';
import { isMac } from './palette.js';

/** @typedef {import('./commands.js').Entry} Entry */

export const showShortcuts = () => show((done) => html`<${Sheet} done=${() => done(null)} />`, 'wide');

/** The keys of the graph, which the table of commands does not have. @type {Entry[]} */
const inGraph = GRAPH_KEYS.map(([key, title]) => ({
    id: `graph ${title}`,
    title,
    key,
    group: 'graph',
    act: () => {},
}));

/** @extends {Component<{done: () => void}, {typed: string}>} */
class Sheet extends Component {
    state = { typed: '' };

    render() {
        const { done } = this.props;
        const { typed } = this.state;
        const bound = [...allCommands(), ...inGraph].filter(
            (entry) => keysOf(entry).length > 0 && fits(entry, typed),
        );
        const groups = Object.entries(WORDS.groups).map(([id, title]) => ({
            title,
            entries: unique(bound.filter(({ group = 'notebook' }) => group === id)),
        }));
        return html`
            <div class="sheet-head">
                <h2>${WORDS.keys}</h2>
                <p>${SAY.keysWhy}</p>
                <input class="field" type="text" aria-label=${SAY.searchKeys}
                    placeholder=${SAY.searchKeys} value=${typed} autofocus
                    onInput=${(/** @type {any} */ event) => this.setState({ typed: event.target.value })} />
                <button class="button" onClick=${() => print()}>${SAY.print}</button>
                <button class="button" data-main onClick=${done}>${SAY.close}</button>
            </div>
            <div class="key-groups" tabindex="0" role="region" aria-label=${WORDS.keys}>
                <div>${groups
                    .filter(({ entries }) => entries.length > 0)
                    .map(
                        ({ title, entries }) => html`
                    <section key=${title}><h3>
                        ${title}${
                            where(entries) &&
                            html` <small>
                            ${where(entries)}</small>`
                        }</h3><dl>${entries.map(
                            (entry) => html`
                        <div key=${entry.id}><dt>${shownKeys(entry).map(
                            (key) => html`<kbd>${shownKey(key, isMac)}</kbd>`,
                        )}</dt>
                            <dd>${entry.sheet ?? entry.title}</dd></div>`,
                        )}</dl></section>`,
                    )}</div>
            </div>`;
    }
}

/** When the keys of a group work, if not always. @param {Entry[]} entries */
const where = (entries) =>
    entries.every(({ mode }) => mode === 'cell')
        ? SAY.commandMode
        : entries.some((entry) => inGraph.includes(entry)) && SAY.graphMode;

/** The keys of an entry that the sheet has room for. @param {Entry} entry */
function shownKeys(entry) {
    const keys = keysOf(entry).filter((key) => key !== 'Mod-_');
    // A row of keys, such as those of headings.
    if (keys.length > 2 && keys.every((key) => key.length === 1))
        return [keys[0] ?? '', '…', keys.at(-1) ?? ''];
    return keys.slice(0, 2);
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

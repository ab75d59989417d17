// @ts-check
// The command palette. The user types a few letters of a name to find an action of commands.js.

import { choosable, keysOf, shownKey } from './commands.js';
import { cellMenus, header } from './menu-commands.js';
import { rank } from '../text/fuzzy.js';
import { Component, html } from '../vendor/preact.js';
import { EDITOR_WORDS as WORDS } from '../editor/editor-words.js';
import { PALETTE_WORDS as SAY } from './palette-words.js';
import { show } from '../ui/dialog.js';

/** @typedef {import('./commands.js').Entry} Entry */

const KEY = 'ratoon.recentCommands';
/** The maximum number of recently used commands, which the palette lists first. */
const RECENT = 5;
export const isMac = /Mac|iP(hone|ad)/.test(navigator.platform);

/** @returns {string[]} */
const recent = () => JSON.parse(localStorage.getItem(KEY) ?? '[]');

/** @param {string} id */
const used = (id) =>
    localStorage.setItem(
        KEY,
        JSON.stringify([id, ...recent().filter((other) => other !== id)].slice(0, RECENT)),
    );

/**
 * Lets the user choose a command and runs the command on the target cell.
 * @param {import('../cell/cell-controller.js').CellController} controller
 */
export async function showPalette(controller) {
    const [target, last] = [controller.target(), recent()];
    const menus = [...header(controller), ...cellMenus(controller)];
    const entries = choosable(target, last, menus);
    const chosen = await show(
        (done) => html`<${Palette} entries=${entries} recent=${last.length} choose=${done} />`,
        'palette',
        WORDS.palette,
    );
    const entry = entries.find(({ id }) => id === chosen);
    if (!entry) return;
    used(entry.id);
    entry.act(target);
}

/**
 * @extends {Component<{entries: Entry[], recent: number, choose: (id: string | null) => void},
 *   {typed: string, at: number}>}
 */
class Palette extends Component {
    state = { typed: '', at: 0 };

    /** @returns {Entry[]} */
    get shown() {
        const { typed } = this.state;
        if (!typed.trim()) return this.props.entries;
        const fits = this.props.entries.map((entry) => ({
            entry,
            score: rank(
                typed,
                entry.title,
                `${WORDS.groups[entry.group ?? 'notebook']} ${entry.words ?? ''}`,
            ),
        }));
        return fits
            .filter(({ score }) => score !== null)
            .sort((a, b) => (b.score ?? 0) - (a.score ?? 0))
            .map(({ entry }) => entry);
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        const { shown } = this;
        const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
        if (event.isComposing) return;
        if (event.key === 'Enter') this.props.choose(shown[this.state.at]?.id ?? null);
        else if (step && shown.length)
            this.#go(
                Math.abs(step) === 1
                    ? (this.state.at + step + shown.length) % shown.length
                    : Math.max(0, Math.min(shown.length - 1, this.state.at + step)),
            );
        else return;
        event.preventDefault();
    }

    /** @param {number} at */
    #go(at) {
        this.setState({ at }, () =>
            document.getElementById(`command-${at}`)?.scrollIntoView({ block: 'nearest' }),
        );
    }

    render() {
        const { shown } = this;
        const { choose } = this.props;
        const { at, typed } = this.state;
        const input = (/** @type {any} */ event) => this.setState({ typed: event.target.value, at: 0 });
        return html`
            <input class="field" type="text" role="combobox" aria-expanded="true" aria-controls="commands"
                aria-autocomplete="list" aria-activedescendant=${shown.length ? `command-${at}` : null}
                aria-label=${SAY.hint} placeholder=${SAY.hint} value=${typed} autofocus
                spellcheck="false" autocomplete="off"
                onInput=${input} onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)} />
            <ul id="commands" role="listbox" aria-label=${WORDS.palette}>
                ${shown.map(
                    (entry, i) => html`
                    <li key=${entry.id} id=${`command-${i}`} role="option"
                        aria-selected=${i === at ? 'true' : 'false'}
                        onPointerMove=${() => i !== at && this.setState({ at: i })}
                        onClick=${() => choose(entry.id)}>
                        <span class="title">${entry.title}</span>
                        <span class="group">
                            ${
                                !typed && i < this.props.recent
                                    ? SAY.recent
                                    : WORDS.groups[entry.group ?? 'notebook']
                            }</span>
                        <kbd>${keysOf(entry)
                            .slice(0, 1)
                            .map((key) => shownKey(key, isMac))}</kbd>
                    </li>`,
                )}
            </ul>
            <p class="hint" role="status">${shown.length === 0 && SAY.none}</p>`;
    }
}

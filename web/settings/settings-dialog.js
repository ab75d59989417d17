// @ts-check
// The dialog with the settings of the page. A change takes effect at once.

import { loadVim } from '../editor/vim-keys.js';
import { notifies, setNotifications } from '../notebook/away.js';
import { WORDS as ALL } from '../shell/words.js';
import { show } from '../ui/dialog.js';
import { chosenTheme, setTheme, THEMES } from '../ui/theme.js';
import { Component, html } from '../vendor/preact.js';
import { hasFailed, keepSettings, onKept } from './kept-settings.js';
import { CHOICES, setSetting, settings } from './settings.js';
import { SETTINGS_DIALOG_WORDS as WORDS } from './settings-dialog-words.js';

/** @typedef {import('./settings.js').Settings} Settings */

/**
 * @typedef {{name: string, hint?: string, control: any}} Row a setting: its name, an explanation,
 *   and the element that changes it
 */

/** @param {number} a @param {number} b */
const bySize = (a, b) => a - b;

/** @param {boolean} isOwner whether the server keeps the settings of this user */
export const showSettings = (isOwner) =>
    show((done) => html`<${SettingsDialog} isOwner=${isOwner} done=${() => done(null)} />`);

/** @extends {Component<{isOwner: boolean, done: () => void}, {said: string, wanted: string}>} */
class SettingsDialog extends Component {
    state = { said: '', wanted: '' };
    #stop = () => {};

    componentDidMount() {
        if (!this.props.isOwner) return;
        this.#stop = onKept(() => this.setState({}));
        void keepSettings();
    }

    componentWillUnmount() {
        this.#stop();
    }

    /** @template {keyof Settings} N @param {N} name @param {Settings[N]} value */
    #set(name, value) {
        setSetting(name, value);
        this.setState({ said: '' });
    }

    /** @param {boolean} isOn */
    async #setVim(isOn) {
        // Without a connection, vim's code cannot be loaded.
        const can = !isOn || (await loadVim().catch(() => null)) !== null;
        if (can) this.#set('vim', isOn);
        else this.setState({ said: ALL.partMissing });
    }

    /** @param {boolean} isOn */
    async #setNotifications(isOn) {
        this.setState({ said: await setNotifications(isOn) });
    }

    /**
     * A setting that is on or off.
     * @param {'wraps' | 'numbers' | 'autoclose' | 'advances' | 'diagnostics'} name
     * @param {string} [hint]
     * @returns {Row}
     */
    #switch(name, hint) {
        const control = toggle(settings()[name], (isOn) => this.#set(name, isOn));
        return { name: WORDS[name], hint, control };
    }

    /**
     * A setting with a number.
     * @param {'codeSize' | 'tabWidth'} name
     * @param {(n: number) => string} said
     * @param {string} [hint]
     * @returns {Row}
     */
    #number(name, said, hint) {
        const choices = CHOICES[name]
            .toSorted(bySize)
            .map((n) => /** @type {const} */ ([String(n), said(n)]));
        const control = choice(choices, String(settings()[name]), (n) => this.#set(name, Number(n)));
        return { name: WORDS[name], hint, control };
    }

    /** All settings. @returns {Row[]} */
    #rows() {
        const themes = THEMES.map(
            (theme) => /** @type {const} */ ([theme, WORDS.themes[/** @type {'auto'} */ (theme)]]),
        );
        const setThemeTo = (/** @type {string} */ theme) => (setTheme(theme), this.setState({ said: '' }));
        return [
            { name: WORDS.theme, control: choice(themes, chosenTheme(), setThemeTo) },
            this.#number('codeSize', (size) => `${size} px`),
            this.#number('tabWidth', WORDS.spaces, WORDS.tabHint),
            this.#switch('wraps'),
            this.#switch('numbers'),
            this.#switch('autoclose', WORDS.autocloseHint),
            this.#switch('advances', WORDS.advancesHint),
            this.#switch('diagnostics', WORDS.diagnosticsHint),
            {
                name: WORDS.vim,
                hint: WORDS.vimHint,
                control: toggle(settings().vim, (isOn) => this.#setVim(isOn)),
            },
            {
                name: WORDS.notifications,
                hint: WORDS.notificationsHint,
                control: toggle(notifies(), (isOn) => this.#setNotifications(isOn)),
            },
        ];
    }

    /**
     * @param {{isOwner: boolean, done: () => void}} props
     * @param {{said: string, wanted: string}} state
     */
    render({ isOwner, done }, { said, wanted }) {
        const news = said || (isOwner && hasFailed() ? WORDS.failed : '');
        const words = wanted.toLowerCase().split(/\s+/);
        const isWanted = (/** @type {Row} */ { name, hint = '' }) =>
            words.every((word) => `${name} ${hint}`.toLowerCase().includes(word));
        const rows = this.#rows().filter(isWanted);
        return html`
            <h2>${WORDS.title}</h2>
            <p>${WORDS.why[isOwner ? 'owner' : 'guest']}</p>
            <input class="field" type="search" placeholder=${WORDS.find} aria-label=${WORDS.find} autofocus
                value=${wanted}
                onInput=${(/** @type {any} */ { target }) => this.setState({ wanted: target.value })} />
            <div class="settings">
                ${rows.map(
                    ({ name, hint, control }) => html`<label key=${name}>
                        <span>${name}${hint && html`<small>${hint}</small>`}</span>${control}</label>`,
                )}
            </div>
            <p role="status">${rows.length > 0 ? news : WORDS.none}</p>
            <div class="answers"><button class="button" data-main onClick=${done}>${ALL.close}</button></div>`;
    }
}

/**
 * @param {(readonly [string, string])[]} choices values and their names
 * @param {string} chosen
 * @param {(value: string) => void} choose
 */
const choice = (choices, chosen, choose) => html`
    <select class="field" value=${chosen}
        onChange=${(/** @type {any} */ { target }) => choose(target.value)}>
        ${choices.map(
            ([value, text]) => html`<option value=${value} selected=${value === chosen}>${text}</option>`,
        )}</select>`;

/** @param {boolean} isOn @param {(isOn: boolean) => void} turn */
const toggle = (isOn, turn) => html`
    <input type="checkbox" checked=${isOn}
        onChange=${(/** @type {any} */ { target }) => turn(target.checked)} />`;

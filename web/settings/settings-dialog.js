// @ts-check
// The dialog with the settings of this browser. A change takes effect at once.

import { loadVim } from '../editor/vim-keys.js';
import { notifies, setNotifications } from '../notebook/away.js';
import { WORDS as ALL } from '../shell/words.js';
import { show } from '../ui/dialog.js';
import { chosenTheme, setTheme, THEMES } from '../ui/theme.js';
import { Component, html } from '../vendor/preact.js';
import { CHOICES, setSetting, settings } from './settings.js';
import { SETTINGS_WORDS as WORDS } from './settings-words.js';

/** @typedef {import('./settings.js').Settings} Settings */

/** @param {number} a @param {number} b */
const bySize = (a, b) => a - b;

export const showSettings = () => show((done) => html`<${SettingsDialog} done=${() => done(null)} />`);

/** @extends {Component<{done: () => void}, {said: string}>} */
class SettingsDialog extends Component {
    state = { said: '' };

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

    /** @param {{done: () => void}} props @param {{said: string}} state */
    render({ done }, { said }) {
        const now = settings();
        return html`
            <h2>${WORDS.title}</h2>
            <p>${WORDS.why}</p>
            <div class="settings">
                ${choice(
                    WORDS.theme,
                    THEMES.map((theme) => [theme, WORDS.themes[/** @type {'auto'} */ (theme)]]),
                    chosenTheme(),
                    (theme) => (setTheme(theme), this.setState({ said: '' })),
                )}
                ${choice(
                    WORDS.codeSize,
                    CHOICES.codeSize.toSorted(bySize).map((size) => [String(size), `${size} px`]),
                    String(now.codeSize),
                    (size) => this.#set('codeSize', Number(size)),
                )}
                ${choice(
                    WORDS.tabWidth,
                    CHOICES.tabWidth.toSorted(bySize).map((n) => [String(n), WORDS.spaces(n)]),
                    String(now.tabWidth),
                    (n) => this.#set('tabWidth', Number(n)),
                    WORDS.tabHint,
                )}
                ${toggle(WORDS.wraps, now.wraps, (isOn) => this.#set('wraps', isOn))}
                ${toggle(WORDS.numbers, now.numbers, (isOn) => this.#set('numbers', isOn))}
                ${toggle(
                    WORDS.diagnostics,
                    now.diagnostics,
                    (isOn) => this.#set('diagnostics', isOn),
                    WORDS.diagnosticsHint,
                )}
                ${toggle(WORDS.vim, now.vim, (isOn) => this.#setVim(isOn), WORDS.vimHint)}
                ${toggle(
                    WORDS.notifications,
                    notifies(),
                    (isOn) => this.#setNotifications(isOn),
                    WORDS.notificationsHint,
                )}
            </div>
            <p role="status">${said}</p>
            <div class="answers"><button class="button" data-main onClick=${done}>${ALL.close}</button></div>`;
    }
}

/**
 * A setting with several values.
 * @param {string} name
 * @param {[string, string][]} choices values and their names
 * @param {string} chosen
 * @param {(value: string) => void} choose
 * @param {string} [hint]
 */
const choice = (name, choices, chosen, choose, hint) => html`
    <label><span>${name}${hint && html`<small>${hint}</small>`}</span>
        <select class="field" value=${chosen} autofocus=${name === WORDS.theme}
            onChange=${(/** @type {any} */ { target }) => choose(target.value)}>
            ${choices.map(
                ([value, text]) => html`<option value=${value} selected=${value === chosen}>${text}</option>`,
            )}</select></label>`;

/**
 * A setting that is on or off.
 * @param {string} name
 * @param {boolean} isOn
 * @param {(isOn: boolean) => void} turn
 * @param {string} [hint]
 */
const toggle = (name, isOn, turn, hint) => html`
    <label><span>${name}${hint && html`<small>${hint}</small>`}</span>
        <input type="checkbox" checked=${isOn}
            onChange=${(/** @type {any} */ { target }) => turn(target.checked)} /></label>`;

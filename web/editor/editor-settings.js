// @ts-check
// Applies the settings of this browser to the editors, and to the plain text that stands for an
// editor that does not exist yet.

import {
    closeBrackets,
    closeBracketsKeymap,
    EditorState,
    EditorView,
    keymap,
    lineNumbers,
    Prec,
} from '../vendor/codemirror.js';
import { announce, onSettings, setSetting, settings } from '../settings/settings.js';
import { loadPart } from '../shell/lazy-parts.js';

/** The default font size of code and its line height, in px. */
const SIZE = 13;
const LINE = 20;

/** Indents wrapped lines; empty until it is loaded. @type {any[]} */
let hangingIndent = [];

/** The extensions that the settings ask for, apart from the keys of vim. */
export function settingExtensions({ autoclose, numbers, tabWidth, wraps } = settings()) {
    return [
        // Backspace between two brackets deletes both.
        autoclose ? [closeBrackets(), Prec.high(keymap.of(closeBracketsKeymap))] : [],
        numbers ? lineNumbers() : [],
        EditorState.tabSize.of(tabWidth),
        wraps ? [EditorView.lineWrapping, hangingIndent] : [],
    ];
}

export const toggleNumbers = () => setSetting('numbers', !settings().numbers);

/** Sizes the code of the page, now and after each change of the settings. */
export function keepCodeStyled() {
    const { dataset, style } = document.documentElement;
    const apply = () => {
        const { codeSize, tabWidth, wraps } = settings();
        const isDefault = codeSize === SIZE;
        // The default follows the font size of the browser.
        style.setProperty('--text-code', isDefault ? null : `${codeSize}px`);
        style.setProperty('--code-line', isDefault ? null : `${Math.round((codeSize * LINE) / SIZE)}px`);
        style.setProperty('--tab', String(tabWidth));
        if (wraps && !hangingIndent.length) void loadHangingIndent();
        if (wraps) dataset.wraps = '';
        else delete dataset.wraps;
    };
    apply();
    onSettings(apply);
}

async function loadHangingIndent() {
    // Without a connection the lines only wrap.
    const part = await loadPart('hangingIndent').catch(() => null);
    if (!part || hangingIndent.length) return;
    ({ hangingIndent } = part);
    announce();
}

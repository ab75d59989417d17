// @ts-check
// The keys of vim in an editor. Loaded only if the user wants them.

import { closeCompletion, EditorView, Prec } from '../vendor/codemirror.js';

/** Loads vim's code. @returns {Promise<typeof import('../vendor/vim.js')>} */
export const loadVim = () => import('../vendor/vim.js');

/**
 * An extension that gives keys to vim before all other key bindings, with these exceptions: in
 * normal mode, Esc and the arrow keys at the edge of a cell leave the editor, and Tab does nothing.
 * @param {typeof import('../vendor/vim.js')} part
 * @param {(event: KeyboardEvent) => boolean} onKey the editor's own keys; returns whether it
 *   handled the key
 */
export function vimKeys({ getCM, Vim, vim }, onKey) {
    const before = (/** @type {KeyboardEvent} */ event, /** @type {EditorView} */ view) => {
        const editor = getCM(view);
        const mode = editor?.state.vim;
        if (!editor || !mode || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey)
            return false;
        if (mode.insertMode) {
            if (event.key === 'Escape') closeCompletion(view);
            return false;
        }
        if (event.key === 'Tab') return true;
        if (isIdle(mode)) return /^(Escape|ArrowUp|ArrowDown)$/.test(event.key) && onKey(event);
        // Vim ends the command, but does not say that it handled the key.
        if (event.key === 'Escape') Vim.handleKey(editor, '<Esc>', 'user');
        return event.key === 'Escape';
    };
    return Prec.highest([EditorView.domEventHandlers({ keydown: before }), vim()]);
}

/**
 * Whether vim selects no text and does not wait for the rest of a command.
 * @param {import('@replit/codemirror-vim').vimState} mode
 */
const isIdle = ({ visualMode, inputState, expectLiteralNext }) =>
    !visualMode &&
    !expectLiteralNext &&
    !inputState.operator &&
    !inputState.keyBuffer.length &&
    !inputState.prefixRepeat.length &&
    !inputState.registerName;

// @ts-check
// Completion in an editor. If the user opens the list with Tab or Ctrl-Space, the first entry is
// selected, and Enter accepts that entry. If the list opens while the user types, no entry is
// selected, and Enter inserts a newline until an arrow key or Tab selects an entry.

import {
    acceptCompletion,
    autocompletion,
    closeCompletion,
    completionStatus,
    currentCompletions,
    EditorView,
    selectedCompletionIndex,
    setSelectedCompletion,
} from '../vendor/codemirror.js';
import { asksByItself, isInCode } from '../text/python.js';
import { EDITOR_WORDS as WORDS } from './editor-words.js';

/** @typedef {import('../shell/protocol.js').Completion} Completion */

/**
 * @typedef {object} Asks Functions with which an editor requests completions and documentation for
 *   its text. Offsets are in UTF-16 units.
 * @property {(code: string,
 *   cursor: number) => Promise<import('./code-assist.js').Completions | null>} complete
 * @property {(code: string,
 *   cursor: number) => Promise<import('../shell/protocol.js').Inspection | null | undefined>}
 *   inspect null: the server knows no such object; undefined: the server gave no answer
 * @property {() => boolean} isQuick whether answers are quick enough for requests while typing
 */

/** How long the user must pause typing before the editor requests completions, in milliseconds. */
const PAUSE_MS = 80;
/** The maximum number of entries that the list renders. */
const PAINTED = 60;

/** @param {Asks} asks */
export function completing(asks) {
    /** Whether the user requested the last list with a key, such as Tab. */
    let isAsked = false;
    return [
        autocompletion({
            override: [
                async (context) => {
                    isAsked = context.explicit;
                    const code = context.state.doc.toString();
                    const line = context.state.doc.lineAt(context.pos);
                    const before = line.text.slice(0, context.pos - line.from);
                    if (
                        !context.explicit &&
                        !(asks.isQuick() && asksByItself(before) && isInCode(code, context.pos))
                    )
                        return null;
                    // Not null: if the text has changed meanwhile, CodeMirror asks again only after
                    // a result.
                    const nothing = { from: context.pos, options: [] };
                    const answer = await asks.complete(code, context.pos);
                    if (!answer || answer.from > context.pos || !context.view?.hasFocus) return nothing;
                    // Show no list if the name is already complete.
                    const written = code.slice(answer.from, context.pos);
                    if (!context.explicit && answer.items.every(({ text }) => text === written))
                        return nothing;
                    return {
                        from: answer.from,
                        to: answer.to,
                        options: optionsOf(answer.items, code.slice(answer.to)),
                        validFor: validFor(written),
                    };
                },
            ],
            icons: false,
            selectOnOpen: false,
            interactionDelay: 0,
            activateOnTypingDelay: PAUSE_MS,
            maxRenderedOptions: PAINTED,
            tooltipClass: () => 'completions',
            addToOptions: [{ render: ({ type }) => signOf(type ?? ''), position: 20 }],
        }),
        EditorView.updateListener.of(({ view, state, startState }) => {
            if (
                !isAsked ||
                completionStatus(state) !== 'active' ||
                (selectedCompletionIndex(state) ?? -1) >= 0
            )
                return;
            const isNew = completionStatus(startState) !== 'active';
            const [first, ...others] = currentCompletions(state);
            if (!first) return;
            view.dispatch({ effects: setSelectedCompletion(0) });
            // If the list has only one entry, insert that entry without showing the list.
            if (isNew && others.length === 0 && !acceptCompletion(view)) closeCompletion(view);
        }),
    ];
}

/**
 * The pattern of names for which CodeMirror filters the current list. Other text makes CodeMirror
 * request a new list.
 * @param {string} typed
 */
const validFor = (typed) => (/^[\p{L}\p{N}_]*$/u.test(typed) ? /^[\p{L}\p{N}_]*$/u : undefined);

/**
 * @param {Completion[]} items in the order in which the list shows them
 * @param {string} behind the text after the cursor
 */
function optionsOf(items, behind) {
    return items.map(({ text, kind, signature }, i) => {
        // Do not insert closing quotes and brackets that already follow the cursor.
        const closing = text.match(/['"\])]+$/)?.[0] ?? '';
        const apply = closing && behind.startsWith(closing) ? text.slice(0, -closing.length) : text;
        return {
            label: text,
            apply,
            type: kind,
            detail: signature ?? undefined,
            boost: 50 - (99 * i) / items.length,
        };
    });
}

/** @param {string} kind */
function signOf(kind) {
    const sign = document.createElement('span');
    sign.className = 'kind';
    sign.dataset.kind = kind;
    sign.ariaHidden = 'true';
    sign.textContent =
        kind in WORDS.kinds ? WORDS.kinds[/** @type {keyof typeof WORDS.kinds} */ (kind)] : WORDS.otherKind;
    return sign;
}

const OF_LIST = new Set(['ArrowUp', 'ArrowDown', 'PageUp', 'PageDown', 'Enter', 'Escape']);

/** Whether the open list handles a key. @param {EditorView} view @param {KeyboardEvent} event */
export const isOfList = (view, { key, ctrlKey, metaKey, altKey, shiftKey }) =>
    OF_LIST.has(key) &&
    !ctrlKey &&
    !metaKey &&
    !altKey &&
    !shiftKey &&
    completionStatus(view.state) === 'active';

// @ts-check
// The list of all actions that have a key or appear in the palette. The key bindings, the palette
// and the shortcut sheet use this list. Pure.
//
// Each part of the page adds its actions when it is loaded:
//
//     import { addCommands, entryOf } from './commands.js';
//     addCommands([entryOf('graph.search', 'Mod-g', 'Search the graph', open)]);
//
// `key` is one key or a list of keys: `'b'`, `'Shift-v'`, `'Mod-Shift-p'`. `'d d'` means two
// presses in a row. `Mod` is Ctrl, and on a Mac also Cmd. Letters are lower-case. Other characters
// are written without Shift (`'?'`, `'Mod-/'`), but names of physical keys are written with Shift
// (`'Mod-Shift-Minus'`).
// `mode` says where the key works: `'cell'` if a cell, not its editor, has the focus; `'editor'`
// in an editor; `'anywhere'` in the whole page, unless another handler used the key.
// The palette runs an action on the cell that had the focus last. `act` returns `false` if the
// browser should handle the key.

/** @typedef {'cell' | 'editor' | 'anywhere'} Mode */
/** @typedef {'run' | 'move' | 'cells' | 'write' | 'find' | 'graph' | 'notebook'} Group */
/** @typedef {{view: import('../cell/cell.js').Cell | null}} Target The target cell of an action. */

/**
 * @typedef {object} Entry
 * @property {string} id
 * @property {string} title
 * @property {string} [sheet] the name on the shortcut sheet, which merges entries of the same
 *   name; default: `title`
 * @property {string} [words] other names that the palette finds
 * @property {Group} [group] the heading on the shortcut sheet; default: `notebook`
 * @property {string | string[]} [key]
 * @property {Mode | Mode[]} [mode] default: `anywhere`
 * @property {(at: Target) => boolean | void} act
 * @property {(at: Target) => boolean} [when] whether the action is available now; default: always
 * @property {boolean} [isQuiet] whether the palette omits the entry
 * @property {boolean} [isOnce] whether the action ignores the repeats of a pressed key
 */

/** The maximum time between the two presses of a key such as `d d`, in milliseconds. */
const DOUBLE_MS = 800;

/** @type {Entry[]} */
const entries = [];

/**
 * Returns a function that makes entries with shared fields. The key `[]` stands for none.
 * @param {Partial<Entry>} shared
 * @returns {(id: string, key: string | string[], title: string, act: Entry['act'],
 *   more?: Partial<Entry>) => Entry}
 */
export const entriesWith = (shared) => (id, key, title, act, more) => ({
    id,
    key,
    title,
    act,
    ...shared,
    ...more,
});

/** An entry without shared fields. */
export const entryOf = entriesWith({});

/** Adds entries. An entry replaces an earlier entry with the same id. @param {Entry[]} more */
export function addCommands(more) {
    for (const entry of more) {
        const at = entries.findIndex(({ id }) => id === entry.id);
        if (at < 0) entries.push(entry);
        else entries[at] = entry;
    }
}

/** @returns {readonly Entry[]} */
export const allCommands = () => entries;

/** @param {Entry} entry @returns {string[]} */
export const keysOf = ({ key }) => (key === undefined ? [] : Array.isArray(key) ? key : [key]);

/** @param {Entry} entry @param {Mode} where */
const isFor = ({ mode = 'anywhere' }, where) => (Array.isArray(mode) ? mode.includes(where) : mode === where);

/**
 * The entries that the palette offers now, recently used entries first.
 * @param {Target} at
 * @param {string[]} recent ids of recently used entries, newest first
 * @param {Entry[]} [offers] entries of menus
 * @returns {Entry[]}
 */
export function choosable(at, recent, offers = []) {
    const isOffered = (/** @type {Entry} */ entry) => !entry.isQuiet && (entry.when?.(at) ?? true);
    const own = entries.filter(isOffered);
    const names = new Set(own.map(({ title }) => title));
    // Several menus may offer an entry with the same title. The palette shows only the first.
    const can = [
        ...own,
        ...offers.filter((entry) => isOffered(entry) && !names.has(entry.title) && names.add(entry.title)),
    ];
    const rank = (/** @type {Entry} */ { id }) => (recent.includes(id) ? recent.indexOf(id) : recent.length);
    return can.sort((a, b) => rank(a) - rank(b));
}

/** Finds the entries bound to key presses. Remembers a press that may be the first of two. */
export class KeySequence {
    /** @type {{name: string, mode: Mode, at: number} | null} */
    first = null;

    /**
     * The entries bound to a key press. Entries bound to two presses in a row come first.
     * @param {Mode} mode
     * @param {string[]} names all names of the key press
     * @param {number} now in milliseconds
     * @param {Target} at
     * @returns {Entry[]}
     */
    press(mode, names, now, at) {
        const { first } = this;
        this.first = null;
        const isSecond = first !== null && first.mode === mode && now - first.at < DOUBLE_MS;
        const can = entries.filter((entry) => isFor(entry, mode) && (entry.when?.(at) ?? true));
        const doubles = isSecond ? names.map((name) => `${first.name} ${name}`) : [];
        const found = [...doubles, ...names].flatMap((name) =>
            can.filter((entry) => keysOf(entry).includes(name)),
        );
        const begins = names.find((name) =>
            can.some((entry) => keysOf(entry).some((key) => key.startsWith(`${name} `))),
        );
        if (
            begins !== undefined &&
            !found.some((entry) => keysOf(entry).some((key) => doubles.includes(key)))
        )
            this.first = { name: begins, mode, at: now };
        return found;
    }

    /** Whether the last press may be the first of two. */
    get isWaiting() {
        return this.first !== null;
    }
}

/**
 * The names of a key press: by its character and, where the character depends on the keyboard
 * layout, by its physical key.
 * @param {{key: string, code: string, ctrlKey: boolean, metaKey: boolean, altKey: boolean,
 *   shiftKey: boolean}} event
 * @returns {string[]}
 */
export function keyNamesOf({ key, code, ctrlKey, metaKey, altKey, shiftKey }) {
    const held = [ctrlKey || metaKey ? 'Mod-' : '', altKey ? 'Alt-' : ''].join('');
    const shift = shiftKey ? 'Shift-' : '';
    const letter = code.match(/^Key([A-Z])$/)?.[1]?.toLowerCase();
    const names = [];
    if (key === ' ') names.push(`${held}${shift}Space`);
    else if (/^[a-z]$/i.test(key)) names.push(`${held}${shift}${key.toLowerCase()}`);
    else if (key.length === 1) names.push(`${held}${key}`);
    else names.push(`${held}${shift}${key}`);
    if (letter && !/^[\x20-\x7e]$/.test(key)) names.push(`${held}${shift}${letter}`);
    if (/^(Minus|Slash)$/.test(code)) names.push(`${held}${shift}${code}`);
    return names;
}

const SHOWN = new Map(
    Object.entries({
        ArrowUp: '↑',
        ArrowDown: '↓',
        ArrowLeft: '←',
        ArrowRight: '→',
        Escape: 'Esc',
        Minus: '−',
        Slash: '/',
        Space: 'Space',
        Backspace: '⌫',
        ContextMenu: 'Menu',
    }),
);

/** @type {Record<string, string>} */
const MAC_SIGNS = { Mod: '⌘', Alt: '⌥', Shift: '⇧' };

/**
 * The text that shows a key to users: "Ctrl-Shift-P" or "D D"; on a Mac "⌘⇧P".
 * @param {string} key
 * @param {boolean} isMac
 */
export function shownKey(key, isMac) {
    return key
        .split(' ')
        .map((press) => {
            const parts = press.match(/^((?:Mod-|Alt-|Shift-)*)(.+)$/);
            const name =
                SHOWN.get(parts?.[2] ?? '') ??
                (parts?.[2] ?? '').replace(/^[a-z]$/, (letter) => letter.toUpperCase());
            const held = (parts?.[1] ?? '').split('-').filter(Boolean);
            return isMac
                ? held.map((one) => MAC_SIGNS[one] ?? '').join('') + name
                : [...held.map((one) => one.replace('Mod', 'Ctrl')), name].join('-');
        })
        .join(' ');
}

// @ts-check
// All actions that have a key or appear in the palette: the one list behind key bindings, palette
// and shortcut sheet. Pure.
//
// Each part of the page adds its own actions when it is loaded:
//
//     import { addCommands } from './commands.js';
//     addCommands([{ id: 'graph.search', title: 'Search the graph', key: 'Mod-g', act: open }]);
//
// `key` is one key or several equivalent ones: `'b'`, `'Shift-v'`, `'Mod-Shift-p'`, and, for two
// presses in a row, `'d d'`. `Mod` is Ctrl, on a Mac also Cmd. Letters are lower-case; for other
// characters, omit Shift (`'?'`, `'Mod-/'`), unless the key itself is named (`'Mod-Shift-Minus'`).
// `mode` says where the key works: `'cell'` while a cell, not its editor, has the focus,
// `'editor'` in an editor, `'anywhere'` (unless another handler used the key). From the palette,
// an action applies to the cell that had the focus last. If `act` returns `false`, it did nothing,
// and the browser handles the key.

/** @typedef {'cell' | 'editor' | 'anywhere'} Mode */
/** @typedef {'run' | 'move' | 'cells' | 'write' | 'find' | 'graph' | 'notebook'} Group */
/** @typedef {{view: import('../cell/cell.js').Cell | null}} Target The target cell of an action. */

/**
 * @typedef {object} Entry
 * @property {string} id
 * @property {string} title
 * @property {string} [sheet] its name on the shortcut sheet, if not the title; the sheet merges
 *   entries of the same name
 * @property {string} [words] other names; the palette searches them, too
 * @property {Group} [group] its heading on the shortcut sheet; default: `notebook`
 * @property {string | string[]} [key]
 * @property {Mode | Mode[]} [mode] default: `anywhere`
 * @property {(at: Target) => boolean | void} act
 * @property {(at: Target) => boolean} [when] whether it is available now; default: always
 * @property {boolean} [isQuiet] has only a key; the palette does not show it
 * @property {boolean} [isOnce] ignores the repeats of a held key
 */

/** Two presses within this time count as one key, in milliseconds. */
const DOUBLE_MS = 800;

/** @type {Entry[]} */
const entries = [];

/** Adds entries. An entry replaces an earlier one with the same id. @param {Entry[]} more */
export function addCommands(more) {
    for (const entry of more) {
        const at = entries.findIndex(({ id }) => id === entry.id);
        if (at < 0) entries.push(entry);
        else entries[at] = entry;
    }
}

/**
 * Functions that return further palette entries for a target cell.
 * @type {((at: Target) => Entry[])[]}
 */
const offers = [];

/** @param {(at: Target) => Entry[]} offer */
export const addOffer = (offer) => void offers.push(offer);

/** @returns {readonly Entry[]} */
export const allCommands = () => entries;

/** @param {Entry} entry @returns {string[]} */
export const keysOf = ({ key }) => (key === undefined ? [] : Array.isArray(key) ? key : [key]);

/** @param {Entry} entry @param {Mode} where */
const isFor = ({ mode = 'anywhere' }, where) => (Array.isArray(mode) ? mode.includes(where) : mode === where);

/**
 * The entries that the palette offers now, recently used first.
 * @param {Target} at
 * @param {string[]} recent ids
 * @returns {Entry[]}
 */
export function choosable(at, recent) {
    const own = entries.filter((entry) => !entry.isQuiet && (entry.when?.(at) ?? true));
    const names = new Set(own.map(({ title }) => title));
    // Several menus may offer the same title. The first entry is kept.
    const can = [
        ...own,
        ...offers.flatMap((offer) => offer(at)).filter(({ title }) => !names.has(title) && names.add(title)),
    ];
    const rank = (/** @type {Entry} */ { id }) => (recent.includes(id) ? recent.indexOf(id) : recent.length);
    return can.sort((a, b) => rank(a) - rank(b));
}

/** Turns key presses into entries and remembers the first of two presses. */
export class KeySequence {
    /** @type {{name: string, mode: Mode, at: number} | null} */
    first = null;

    /**
     * The entries that a press may mean, most specific first.
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

    /** Whether a second press is awaited. */
    get isWaiting() {
        return this.first !== null;
    }
}

/**
 * The names of a key press: by its character and, for other keyboard layouts, by its physical
 * position.
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
        Escape: 'Esc',
        Minus: '−',
        Slash: '/',
        Space: 'Space',
        Backspace: '⌫',
    }),
);

/** @type {Record<string, string>} */
const MAC_SIGNS = { Mod: '⌘', Alt: '⌥', Shift: '⇧' };

/**
 * A key as shown to users: "Ctrl-Shift-P", "D D"; on a Mac "⌘⇧P".
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

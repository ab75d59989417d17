// @ts-check
// Converts a stream of text to the lines that a terminal would show, as text or as styled pieces.
//
// Pure. Handles carriage return, backspace, colours and the cursor movements of progress bars;
// drops all other controls. Its output is data, never HTML.

/**
 * @typedef {object} Style
 * @property {string | number | null} fg 0–15: a colour of the palette; a string: a CSS colour
 * @property {string | number | null} bg
 * @property {boolean} bold
 * @property {boolean} dim
 * @property {boolean} italic
 * @property {boolean} underline
 * @property {boolean} strike
 * @property {boolean} inverse
 */

/** @typedef {{text: string, style: Style | null}} Piece */

/**
 * A line: its pieces, or, so that a hundred thousand lines need little memory, its text if it is
 * all unstyled.
 * @typedef {string | Piece[]} Line
 */

/** @type {Style} */
const PLAIN = Object.freeze({
    fg: null,
    bg: null,
    bold: false,
    dim: false,
    italic: false,
    underline: false,
    strike: false,
    inverse: false,
});

/** Longer sequences are plain text, so that an unfinished one does not delay the output forever. */
const LONGEST_ESCAPE = 256;

/** The rightmost cursor column, so that one escape sequence cannot allocate gigabytes of blanks. */
const WIDEST = 4096;

const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/g;
// CSI … final byte; OSC … BEL or ST; any other two-character escape.
const ESCAPE = /\x1b(?:\[([0-9;:?<=>]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[^[\]])/y;

/**
 * A line that was overwritten: each character with its style.
 * @typedef {{chars: string[], styles: (Style | null)[], blank: number}} Cells `blank`: the number
 *   of leading characters known to be blank
 */

/**
 * A terminal. A line is text or a list of pieces while text is only appended, and becomes a list of
 * characters when it is overwritten. So each character and control has constant cost, however long
 * the lines are.
 */
export class Terminal {
    constructor() {
        /** @type {Line[]} */
        this.rows = [''];
        /** The length of each line. */
        this.lengths = [0];
        /** Lines that were overwritten. @type {Map<number, Cells>} */
        this.cells = new Map();
        /** Overwritten lines that are outdated in `rows`. @type {Set<number>} */
        this.stale = new Set();
        this.row = 0;
        this.column = 0;
        /** @type {Style | null} */
        this.style = null;
        this.waiting = '';
    }

    /** The lines to paint. @returns {Line[]} */
    get lines() {
        for (const row of this.stale) this.rows[row] = piecesOf(this.cells.get(row));
        this.stale.clear();
        return this.rows;
    }

    /**
     * Parses more text. Returns the index of the first line that may have changed.
     * @param {string} more
     * @returns {number}
     */
    feed(more) {
        const text = this.waiting + more;
        this.waiting = '';
        this.touched = this.row;
        let at = 0;
        while (at < text.length) {
            CONTROL.lastIndex = at;
            const stop = CONTROL.test(text) ? CONTROL.lastIndex - 1 : text.length;
            if (stop > at) this.#write(text.slice(at, stop));
            if (stop === text.length) break;
            const control = text.charAt(stop);
            at = control === '\x1b' ? this.#escape(text, stop) : this.#control(control, stop);
        }
        return this.touched;
    }

    /** @param {string} control @param {number} at @returns {number} the offset after it */
    #control(control, at) {
        if (control === '\n') {
            this.#moveTo(this.row + 1, 0);
        } else if (control === '\r') {
            this.column = 0;
        } else if (control === '\b') {
            this.column = Math.max(0, this.column - 1);
        }
        return at + 1;
    }

    /** @param {string} text @param {number} at @returns {number} the offset after it */
    #escape(text, at) {
        ESCAPE.lastIndex = at;
        const found = ESCAPE.exec(text);
        if (!found) {
            if (text.length - at > LONGEST_ESCAPE) return at + 1;
            this.waiting = text.slice(at);
            return text.length;
        }
        if (found[2]) this.#sequence(found[2], found[1] ?? '');
        return at + found[0].length;
    }

    /** @param {string} final @param {string} parameters */
    #sequence(final, parameters) {
        const first = Number.parseInt(parameters, 10) || 0;
        const count = Math.max(1, first);
        if (final === 'm') this.style = restyle(this.style, parameters);
        else if (final === 'A') this.#moveTo(Math.max(0, this.row - count), this.column);
        else if (final === 'B') this.#moveTo(Math.min(this.rows.length - 1, this.row + count), this.column);
        else if (final === 'C') this.column = Math.min(WIDEST, this.column + count);
        else if (final === 'D') this.column = Math.max(0, this.column - count);
        else if (final === 'G') this.column = Math.min(WIDEST, count - 1);
        else if (final === 'K') this.#erase(first);
        else if (final === 'J' && first === 2) this.#clear();
    }

    /** @param {number} row @param {number} column */
    #moveTo(row, column) {
        if (row === this.rows.length) {
            this.rows.push('');
            this.lengths.push(0);
        }
        this.row = row;
        this.column = column;
        this.touched = Math.min(this.touched ?? row, row);
    }

    /** @param {number} mode 0: to the end of the line; 1: to its beginning; 2: all of it */
    #erase(mode) {
        const { row, column } = this;
        if (mode === 2) {
            this.cells.delete(row);
            this.stale.delete(row);
            this.rows[row] = '';
            this.lengths[row] = 0;
        } else if (mode === 0 && column < (this.lengths[row] ?? 0)) {
            const cells = this.#open();
            cells.chars.length = cells.styles.length = this.lengths[row] = column;
            cells.blank = Math.min(cells.blank, column);
        } else if (mode === 1 && column > 0) {
            const cells = this.#open();
            if (cells.blank >= column) return;
            this.#fill(cells, cells.blank, column);
            cells.blank = column;
        }
    }

    /** Blanks part of a line. @param {Cells} cells @param {number} from @param {number} to */
    #fill(cells, from, to) {
        for (let at = from; at < to; at += 1) {
            cells.chars[at] = ' ';
            cells.styles[at] = null;
        }
        this.lengths[this.row] = cells.chars.length;
    }

    #clear() {
        this.rows = [''];
        this.lengths = [0];
        this.cells.clear();
        this.stale.clear();
        this.#moveTo(0, 0);
    }

    /** The line at the cursor, as characters. @returns {Cells} */
    #open() {
        const { row } = this;
        const cells = this.cells.get(row) ?? cellsOf(this.rows[row] ?? '');
        this.cells.set(row, cells);
        this.stale.add(row);
        return cells;
    }

    /** @param {string} text */
    #write(text) {
        const { row, column, style } = this;
        const { [row]: length = 0 } = this.lengths;
        const { [row]: line = '' } = this.rows;
        this.column += text.length;
        if (column === length && !this.cells.has(row)) {
            this.rows[row] = appended(line, text, style);
            this.lengths[row] = length + text.length;
            return;
        }
        const cells = this.#open();
        if (column > length) this.#fill(cells, length, column);
        cells.blank = Math.min(cells.blank, column);
        for (let i = 0; i < text.length; i += 1) {
            cells.chars[column + i] = text.charAt(i);
            cells.styles[column + i] = style;
        }
        this.lengths[row] = cells.chars.length;
    }
}

/**
 * The final lines of a text as a terminal would show them, without their style.
 * @param {string} text
 */
export function plainLines(text) {
    const terminal = new Terminal();
    terminal.feed(text);
    return terminal.lines.map((line) =>
        typeof line === 'string' ? line : line.map((piece) => piece.text).join(''),
    );
}

/** @param {Line} line @returns {Piece[]} */
export const piecesIn = (line) =>
    typeof line !== 'string' ? line : line === '' ? [] : [{ text: line, style: null }];

/**
 * A line with more text at its end. Pieces are changed in place.
 * @param {Line} line
 * @param {string} text
 * @param {Style | null} style
 * @returns {Line}
 */
function appended(line, text, style) {
    if (typeof line === 'string' && style === null) return line + text;
    const pieces = piecesIn(line);
    const last = pieces.at(-1);
    if (last && last.style === style) last.text += text;
    else pieces.push({ text, style });
    return pieces;
}

/** @param {Line} line @returns {Cells} */
function cellsOf(line) {
    /** @type {Cells} */
    const cells = { chars: [], styles: [], blank: 0 };
    for (const { text, style } of piecesIn(line)) {
        for (let i = 0; i < text.length; i += 1) {
            cells.chars.push(text.charAt(i));
            cells.styles.push(style);
        }
    }
    return cells;
}

/** @param {Cells | undefined} cells @returns {Piece[]} */
function piecesOf(cells) {
    /** @type {Piece[]} */
    const line = [];
    const { chars = [], styles = [] } = cells ?? {};
    for (let from = 0; from < chars.length; ) {
        let to = from + 1;
        while (to < chars.length && styles[to] === styles[from]) to += 1;
        line.push({ text: chars.slice(from, to).join(''), style: styles[from] ?? null });
        from = to;
    }
    return line;
}

/**
 * @param {Style | null} before
 * @param {string} parameters of an SGR sequence
 * @returns {Style | null}
 */
function restyle(before, parameters) {
    const style = { ...(before ?? PLAIN) };
    const codes = parameters.split(/[;:]/).map(Number);
    for (let i = 0; i < codes.length; i += 1) {
        const { [i]: code = 0 } = codes;
        if (code === 38 || code === 48) {
            const [colour, used] = wideColour(codes, i + 1);
            style[code === 38 ? 'fg' : 'bg'] = colour;
            i += used;
        } else {
            setOne(style, code);
        }
    }
    return theOne(style);
}

/** Interned styles. @type {Map<string, Style | null>} */
const known = new Map();
/** The most styles interned; a text may use millions of colours. */
const MOST_KNOWN = 1000;

/**
 * Returns one shared object for equal styles, so that adjacent text of one style is one piece; null
 * for the default style.
 * @param {Style} style
 * @returns {Style | null}
 */
function theOne(style) {
    const name = Object.values(style).join();
    const one = known.get(name);
    if (one !== undefined) return one;
    const isPlain = Object.entries(PLAIN).every(
        ([key, value]) => style[/** @type {keyof Style} */ (key)] === value,
    );
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(name, isPlain ? null : style);
    return isPlain ? null : style;
}

/** @param {Style} style @param {number} code */
function setOne(style, code) {
    if (code === 0) Object.assign(style, PLAIN);
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underline = true;
    else if (code === 7) style.inverse = true;
    else if (code === 9) style.strike = true;
    else if (code === 22) style.bold = style.dim = false;
    else if (code === 23) style.italic = false;
    else if (code === 24) style.underline = false;
    else if (code === 27) style.inverse = false;
    else if (code === 29) style.strike = false;
    else if (code >= 30 && code <= 37) style.fg = code - 30;
    else if (code === 39) style.fg = null;
    else if (code >= 40 && code <= 47) style.bg = code - 40;
    else if (code === 49) style.bg = null;
    else if (code >= 90 && code <= 97) style.fg = code - 82;
    else if (code >= 100 && code <= 107) style.bg = code - 92;
}

/**
 * The colour after 38 or 48, and how many parameters it used.
 * @param {number[]} codes
 * @param {number} at
 * @returns {[string | number | null, number]}
 */
function wideColour(codes, at) {
    const byte = (/** @type {number} */ i) => Math.min(255, Math.max(0, codes[i] || 0));
    if (codes[at] === 2) return [`rgb(${byte(at + 1)} ${byte(at + 2)} ${byte(at + 3)})`, 4];
    if (codes[at] !== 5) return [null, 1];
    const index = byte(at + 1);
    if (index < 16) return [index, 2];
    if (index >= 232) {
        const grey = 8 + 10 * (index - 232);
        return [`rgb(${grey} ${grey} ${grey})`, 2];
    }
    const level = (/** @type {number} */ n) => (n === 0 ? 0 : 55 + 40 * n);
    const cube = index - 16;
    return [`rgb(${level(Math.floor(cube / 36))} ${level(Math.floor(cube / 6) % 6)} ${level(cube % 6)})`, 2];
}

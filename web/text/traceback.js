// @ts-check
// Parses an IPython traceback into the error and its frames. Pure.

/** @typedef {{cell: number, line: number} | null} Location `cell`: the n of `In[n]` */
/**
 * @typedef {{place: Location, rest: string, text: string, isFrame: boolean}} Frame `isFrame`: false
 *   for text between two errors; `rest`: the text after the location in the first line; `text`:
 *   the other lines, or all lines without a location
 */
/** @typedef {{title: string, frames: Frame[], after: string}} Trace */

const COLOURS = /\x1b\[[0-9;:]*m/g;
/** `Cell In[3], line 2`, older `Input In [3], in f()`, and `File <ipython-input-3-0a…>:2`. */
const PLACES = [
    /^\s*(?:Cell|Input) In ?\[(\d+)\], line (\d+)/,
    /^\s*File <ipython-input-(\d+)-\w+>[:,]\s*(?:line )?(\d+)/,
];
/**
 * A line before the first frame: dashes, or the error's name and `Traceback (most recent call
 * last)`.
 */
const LEAD = /^-{20,}$|^\S+\s+Traceback \(most recent call last\)$/;

/** @param {string} text */
export const withoutColours = (text) => text.replace(COLOURS, '');

/**
 * Strips trailing line ends. A regular expression would take quadratic time.
 * @param {string} text
 */
function withoutLastEnds(text) {
    let end = text.length;
    while (text[end - 1] === '\n') end -= 1;
    return text.slice(0, end);
}

/** @param {import('../shell/protocol.js').RunError} error @returns {Trace} */
export function taken({ ename, evalue, traceback }) {
    const title = evalue ? `${ename}: ${evalue}` : ename;
    const items = traceback.map(withoutLastEnds).filter((item) => !LEAD.test(withoutColours(item).trim()));
    const last = withoutColours(items.at(-1) ?? '');
    let after = '';
    // The last item repeats the title; a note may follow it.
    if (last.trimStart().startsWith(ename) || last.trim() === title.trim()) {
        items.pop();
        if (last.trim() !== title.trim() && last.startsWith(title))
            after = last.slice(title.length).replace(evalue ? /^\n+/ : /^:?\s*/, '');
        else if (!last.startsWith(title)) after = last;
        // An error without a message is shown as "KeyboardInterrupt: ".
        if (!evalue) after = after.replace(/^:\s*/, '');
    }
    return { title, frames: items.map((item) => frame(withoutTitle(item, ename))), after };
}

/** From this number of frames on, some are hidden initially. */
const MANY = 6;
/** The number of frames shown at the end. */
const LAST = 3;

/**
 * The frames shown initially: the last ones, the last frame in the failed cell, and the last frame
 * in any cell, because these show the user's own code. A number in the list means that many hidden
 * frames.
 * @param {Frame[]} frames
 * @param {number | null} count the number of the cell that failed
 * @returns {(Frame | number)[]}
 */
export function shownAtFirst(frames, count) {
    if (frames.filter((one) => one.isFrame).length < MANY) return frames;
    const wanted = new Set([
        frames.findLastIndex(({ place }) => place?.cell === count),
        frames.findLastIndex(({ place }) => place !== null),
    ]);
    /** @type {(Frame | number)[]} */
    const shown = [];
    let hidden = 0;
    for (const [at, one] of frames.entries()) {
        if (at < frames.length - LAST && !wanted.has(at)) hidden += 1;
        else {
            if (hidden > 0) shown.push(hidden);
            shown.push(one);
            hidden = 0;
        }
    }
    return shown;
}

/** The text between an error and the one it caused. */
const BETWEEN = /^(?:The above exception was|During handling of the above)/;

/**
 * The line at which the cell failed. For chained errors, that of the last error.
 * @param {Frame[]} frames
 * @param {number} count the cell's number
 * @returns {number | undefined}
 */
export function lineOfCell(frames, count) {
    const isOwn = (/** @type {Frame} */ { place }) => place?.cell === count;
    const last = frames.findLastIndex(({ text, isFrame }) => !isFrame && BETWEEN.test(withoutColours(text)));
    return (frames.slice(last + 1).find(isOwn) ?? frames.findLast(isOwn))?.place?.line;
}

/**
 * Removes the title from an item: a syntax error has its title and location in one item.
 * @param {string} item
 * @param {string} ename
 */
function withoutTitle(item, ename) {
    const lines = item.split('\n');
    return lines.length > 1 && withoutColours(lines.at(-1) ?? '').startsWith(`${ename}:`)
        ? lines.slice(0, -1).join('\n')
        : item;
}

/** @param {string} text @returns {Frame} */
function frame(text) {
    const end = text.includes('\n') ? text.indexOf('\n') : text.length;
    const first = withoutColours(text.slice(0, end));
    for (const pattern of PLACES) {
        const found = first.match(pattern);
        if (found)
            return {
                place: { cell: Number(found[1]), line: Number(found[2]) },
                rest: first.slice(found[0].length),
                text: text.slice(end + 1),
                isFrame: true,
            };
    }
    return { place: null, rest: '', text: text.replace(/^\n+/, ''), isFrame: /^\s*File /.test(first) };
}

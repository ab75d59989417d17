// @ts-check
// Parses an IPython traceback into the error and its frames. Pure.

/** @typedef {{cell: number, line: number} | null} Location `cell`: the n of `In[n]` */
/**
 * @typedef {{place: Location, rest: string, text: string, isFrame: boolean,
 *   library: string | null}} Frame `isFrame`: false for text between two errors; `rest`: the text
 *   after the location in the first line; `text`: the other lines, or all lines without a location;
 *   `library`: where in a library the frame is, such as `decoder.py:353`; null for the user's code
 */
/**
 * @typedef {{hidden: Frame[], steps: number, isLibrary: boolean}} Hidden Frames that are hidden
 *   initially. `steps`: how many, without texts between errors; `isLibrary`: all are of libraries
 */
/** @typedef {{title: string, frames: Frame[], after: string}} Trace */

/**
 * Paths of installed packages and of the standard library. Compiled packages tell relative paths.
 */
const LIBRARY =
    /(?:^|\/)(?:site|dist)-packages\/|\/lib(?:64)?\/python\d|^<(?:frozen|ratoon|__\w+__) |^[^/~<].*\.p(?:yx|xi|xd)$/;
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

/** From this number of frames of the user's on, some of them are hidden initially. */
const MANY = 6;
/** The number of frames of the user's shown at the end. */
const LAST = 3;

/**
 * The frames shown initially: the user's own. Frames of libraries are hidden unless there are no
 * others. Of many frames, only the last ones are shown, the last frame in the failed cell, and the
 * last frame in any cell.
 * @param {Frame[]} frames
 * @param {number | null} count the number of the cell that failed
 * @returns {(Frame | Hidden)[]}
 */
export function shownAtFirst(frames, count) {
    const own = ownFrames(frames);
    const isShort = own.filter((one) => one.isFrame).length < MANY;
    const last = new Set([
        ...own.slice(-LAST),
        frames.findLast(({ place }) => place?.cell === count),
        frames.findLast(({ place }) => place !== null),
    ]);
    const shown = new Set(isShort ? own : own.filter((one) => last.has(one)));
    /** @type {(Frame | Hidden)[]} */
    const list = [];
    /** @type {Hidden | null} */
    let group = null;
    for (const one of frames) {
        if (shown.has(one)) {
            list.push(one);
            group = null;
            continue;
        }
        if (!group) list.push((group = { hidden: [], steps: 0, isLibrary: true }));
        group.hidden.push(one);
        if (one.isFrame) group.steps += 1;
        if (one.isFrame && one.library === null) group.isLibrary = false;
    }
    return list;
}

/**
 * The frames in the user's code, and the texts around them. All frames if none is in it.
 * @param {Frame[]} frames
 */
function ownFrames(frames) {
    const isOwn = (/** @type {Frame} */ { isFrame, library }) => isFrame && library === null;
    if (!frames.some(isOwn)) return frames;
    /** @type {Frame[]} */
    const own = [];
    // An error that a library raised and caught says nothing about the user's code.
    for (let from = 0; from < frames.length; ) {
        const cause = frames.findIndex((one, at) => at >= from && isBetween(one));
        const end = cause < 0 ? frames.length : cause + 1;
        const part = frames.slice(from, end);
        if (part.some(isOwn) || cause < 0) own.push(...part.filter((one) => !one.isFrame || isOwn(one)));
        from = end;
    }
    return own;
}

/** The text between an error and the one it caused. */
const BETWEEN = /^(?:The above exception was|During handling of the above)/;

/** @param {Frame} one */
const isBetween = ({ text, isFrame }) => !isFrame && BETWEEN.test(withoutColours(text));

/**
 * The line at which the cell failed. For chained errors, that of the last error.
 * @param {Frame[]} frames
 * @param {number} count the cell's number
 * @returns {number | undefined}
 */
export function lineOfCell(frames, count) {
    const isOwn = (/** @type {Frame} */ { place }) => place?.cell === count;
    const last = frames.findLastIndex(isBetween);
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
                library: null,
            };
    }
    const [, path = '', line] = first.match(/^\s*File (.+?)(?::(\d+))?(?:, in .*)?$/) ?? [];
    return {
        place: null,
        rest: '',
        text: text.replace(/^\n+/, ''),
        isFrame: /^\s*File /.test(first),
        library: LIBRARY.test(path) ? [path.split('/').at(-1), line].filter(Boolean).join(':') : null,
    };
}

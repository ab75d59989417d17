// @ts-check
// An error as Python's shell tells it, taken apart: what went wrong, and the frames that led there. Pure.

/** @typedef {{cell: number, line: number} | null} Place `cell`: its number, the n of `In[n]` */
/** @typedef {{place: Place, rest: string, text: string, isFrame: boolean}} Frame `isFrame`: else it is a word between two errors; `rest`: what its first line says after the place; `text`: its other lines, or all of them */
/** @typedef {{title: string, frames: Frame[], after: string}} Trace */

// eslint-disable-next-line no-control-regex
const COLOURS = /\x1b\[[0-9;:]*m/g;
/** `Cell In[3], line 2`, older `Input In [3], in f()`, and `File <ipython-input-3-0a…>:2`. */
const PLACES = [/^\s*(?:Cell|Input) In ?\[(\d+)\], line (\d+)/, /^\s*File <ipython-input-(\d+)-\w+>[:,]\s*(?:line )?(\d+)/];
/** The line that only leads in: dashes, or the error's name and `Traceback (most recent call last)`. */
const LEAD = /^-{20,}$|^\S+\s+Traceback \(most recent call last\)$/;

/** @param {string} text */
export const withoutColours = (text) => text.replace(COLOURS, '');

/** Without the ends of lines after it. A pattern would look at each of them again from each. @param {string} text */
function withoutLastEnds(text) {
    let end = text.length;
    while (text[end - 1] === '\n') end -= 1;
    return text.slice(0, end);
}

/** @param {import('../protocol.js').RunError} error @returns {Trace} */
export function taken({ ename, evalue, traceback }) {
    const title = evalue ? `${ename}: ${evalue}` : ename;
    const items = traceback.map(withoutLastEnds).filter((item) => !LEAD.test(withoutColours(item).trim()));
    const last = items.length > 0 ? withoutColours(items[items.length - 1]) : '';
    let after = '';
    // The last item says the title again; a note may follow it.
    if (last.trimStart().startsWith(ename) || last.trim() === title.trim()) {
        items.pop();
        if (last.trim() !== title.trim() && last.startsWith(title)) after = last.slice(title.length).replace(evalue ? /^\n+/ : /^:?\s*/, '');
        else if (!last.startsWith(title)) after = last;
        // An error without words is told as "KeyboardInterrupt: ".
        if (!evalue) after = after.replace(/^:\s*/, '');
    }
    return { title, frames: items.map((item) => frame(withoutTitle(item, ename))), after };
}

/** A syntax error has its title in the same piece as its place. @param {string} item @param {string} ename */
function withoutTitle(item, ename) {
    const lines = item.split('\n');
    return lines.length > 1 && withoutColours(lines[lines.length - 1]).startsWith(`${ename}:`) ? lines.slice(0, -1).join('\n') : item;
}

/** @param {string} text @returns {Frame} */
function frame(text) {
    const end = text.includes('\n') ? text.indexOf('\n') : text.length;
    const first = withoutColours(text.slice(0, end));
    for (const pattern of PLACES) {
        const found = first.match(pattern);
        if (found) return { place: { cell: Number(found[1]), line: Number(found[2]) }, rest: first.slice(found[0].length), text: text.slice(end + 1), isFrame: true };
    }
    return { place: null, rest: '', text: text.replace(/^\n+/, ''), isFrame: /^\s*File /.test(first) };
}

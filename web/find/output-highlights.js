// @ts-check
// Highlights matches in outputs, and scrolls to them. The outputs' elements stay as they are.

import { matchesIn } from './matches.js';

/** The gap between a match and the border of what scrolls, in px. */
const GAP = 24;
/** What an output shows as text: printed text, or the message of an error. */
const TEXTS = '.stream > .text, .error-view > .title';

/** The outputs of a cell that are shown. @param {HTMLElement} cell @returns {HTMLElement[]} */
const outputsOf = (cell) => [...cell.querySelectorAll(/** @type {'div'} */ ('.outputs > .output'))];

/**
 * Highlights all matches in the outputs of cells.
 * @param {RegExp | null} pattern null: removes all highlights
 * @param {{cell: HTMLElement, parts: Set<number>}[]} cells the cells with matches in their outputs,
 *   and the indexes of those outputs
 * @param {{cell: HTMLElement, output: number, nth: number} | null} now the current match
 * @returns {HTMLElement | Range | null} the current match or, if it is not shown as text, its
 *   output
 */
export function markOutputs(pattern, cells, now) {
    /** @type {Range[]} */
    const all = [];
    /** @type {HTMLElement | Range | null} */
    let here = null;
    for (const { cell, parts } of pattern ? cells : []) {
        const outputs = outputsOf(cell);
        for (const i of parts) {
            const output = outputs[i];
            const box = output?.querySelector(TEXTS);
            const ranges = box && pattern ? rangesIn(box, pattern) : [];
            for (const range of ranges) all.push(range);
            // A table has no text of ours to highlight. Of a collapsed run, nothing is shown.
            if (now?.cell === cell && now.output === i)
                here = ranges[now.nth] ?? output ?? cell.querySelector(/** @type {'div'} */ ('.outputs'));
        }
    }
    const range = here instanceof Range ? [here] : [];
    paint('found', all);
    paint('found-here', range);
    for (const one of document.querySelectorAll('.outputs [data-found], .outputs[data-found]'))
        if (one !== here) one.removeAttribute('data-found');
    if (here instanceof HTMLElement) here.dataset.found = '';
    return here;
}

/** @param {string} name @param {Range[]} ranges */
function paint(name, ranges) {
    // Older browsers cannot highlight, but they count and scroll.
    if (!('highlights' in CSS)) return;
    if (ranges.length === 0) CSS.highlights.delete(name);
    else {
        const marks = new Highlight(...ranges);
        marks.priority = name === 'found' ? 0 : 1;
        CSS.highlights.set(name, marks);
    }
}

/** The matches in an element's text. @param {Element} box @param {RegExp} pattern */
function rangesIn(box, pattern) {
    /** @type {{node: Text, from: number}[]} */
    const nodes = [];
    let text = '';
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = /** @type {Text} */ (walker.currentNode);
        nodes.push({ node, from: text.length });
        text += node.data;
    }
    let at = 0;
    return matchesIn(text, pattern).map(({ from, to }) => {
        const range = new Range();
        while (at + 1 < nodes.length && (nodes[at + 1]?.from ?? 0) <= from) at += 1;
        let end = at;
        while (end + 1 < nodes.length && (nodes[end + 1]?.from ?? 0) < to) end += 1;
        const [first, last] = [nodes[at], nodes[end]];
        if (first && last) {
            range.setStart(first.node, Math.min(from - first.from, first.node.length));
            range.setEnd(last.node, Math.min(to - last.from, last.node.length));
        }
        return range;
    });
}

/**
 * Scrolls a match into sight: in its own box, and in the notebook.
 * @param {HTMLElement | Range} match
 */
export function scrollToMatch(match) {
    const element = match instanceof Range ? match.startContainer.parentElement : match;
    const box = element?.closest('[data-boxed] > .text');
    const pane = element?.closest('main');
    for (const one of [box, pane]) {
        if (!one) continue;
        const place = match.getBoundingClientRect();
        const seen = one.getBoundingClientRect();
        // The panel covers the top of the notebook.
        const covered = Number.parseFloat(getComputedStyle(one).scrollPaddingTop) || 0;
        const top = seen.top + GAP + covered;
        const under = place.bottom + GAP - seen.bottom;
        if (place.top < top) one.scrollTop -= top - place.top;
        else if (under > 0) one.scrollTop += Math.min(under, place.top - top);
    }
}

// @ts-check
// Scrolls a match to the middle of what scrolls, unless it is comfortably in sight already.

/** The distance from the upper and lower edge that is comfortable, as a part of the height. */
const COMFORT = 0.15;
/** The gap above a match that is higher than what scrolls, in px. */
const GAP = 24;

/** @typedef {{top: number, bottom: number}} Place */

/**
 * Whether a place is comfortably in sight.
 * @param {Element} box what scrolls
 * @param {Place} place
 */
function isInSight(box, place) {
    const { top, bottom, height } = box.getBoundingClientRect();
    return place.top >= top + height * COMFORT && place.bottom <= bottom - height * COMFORT;
}

/**
 * What scrolls around an element, the innermost first.
 * @param {Element} element
 */
const boxesOf = (element) =>
    [element.closest('[data-boxed] > .text'), element.closest('main')].filter((box) => box !== null);

/**
 * @param {Element} element the match is in it
 * @param {() => Place} placeOf where the match is in the window
 */
export function scrollToMatch(element, placeOf) {
    // Long outputs know the heights of their parts only when these are near the window, so a second
    // look corrects the first.
    for (let look = 0; look < 2; look += 1)
        for (const box of boxesOf(element)) {
            const place = placeOf();
            if (isInSight(box, place)) continue;
            const { top, bottom, height } = box.getBoundingClientRect();
            box.scrollTop +=
                place.bottom - place.top > height
                    ? place.top - top - GAP
                    : (place.top + place.bottom - top - bottom) / 2;
        }
}

/**
 * Scrolls to a match in the code of a cell.
 * @param {import('../vendor/codemirror.js').EditorView} view
 * @param {number} from
 */
export function scrollToCode(view, from) {
    const place = () => {
        // Of a long text, only the part in view is laid out. The place of the rest is an estimate.
        const block = view.lineBlockAt(from);
        const top = view.documentTop + block.top;
        return view.coordsAtPos(from) ?? { top, bottom: top + block.height };
    };
    scrollToMatch(view.dom, place);
}

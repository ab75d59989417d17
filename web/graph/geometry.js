// @ts-check
// Positions of rows and lanes, in px. Pure.

/** @typedef {import('./layout.js').Position} Position */

export const ROW = 30;
const LANE = 13;
const LEFT = 17;
/** The number of lanes with full width. All others share `REST` px. */
const WIDE = 7;
const REST = 14;
/**
 * Labels begin to the right of one of these numbers of lanes, so that a few new branches do not
 * move them.
 */
const STEPS = [2, 4, WIDE];

/** The distance of a lane from the first. @param {number} lane */
const across = (lane) =>
    lane < WIDE ? LANE * lane : LANE * (WIDE - 1) + REST * (1 - 0.8 ** (lane - WIDE + 1));

/** The center of a node. @param {Position} place */
export const spot = (place) => ({
    x:
        LEFT +
        across(place.lane) +
        (place.beside ? Math.min(7.5, 0.6 * (across(place.lane + 1) - across(place.lane))) : 0),
    y: place.row * ROW + ROW / 2,
});

/** The left edge of labels, in px. @param {number} lanes the number of lanes */
export function textLeft(lanes) {
    const step = STEPS.find((one) => lanes <= one);
    return LEFT + (step ? across(step - 1) : across(WIDE - 1) + REST) + 15;
}

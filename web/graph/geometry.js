// @ts-check
// Where rows and lanes lie, in px. Pure.

/** @typedef {import('./layout.js').Place} Place */

export const ROW = 30;
const LANE = 13;
const LEFT = 17;
/** So many lanes are as wide as that; all others share what is left, however many there are. */
const WIDE = 7;
const REST = 14;
/** The texts begin behind so many lanes, so that they stay where they are while a few more lines grow. */
const STEPS = [2, 4, WIDE];

/** How far from the first a lane lies. @param {number} lane */
const across = (lane) =>
    lane < WIDE ? LANE * lane : LANE * (WIDE - 1) + REST * (1 - 0.8 ** (lane - WIDE + 1));

/** The middle of a node. @param {Place} place */
export const spot = (place) => ({
    x:
        LEFT +
        across(place.lane) +
        (place.beside ? Math.min(7.5, 0.6 * (across(place.lane + 1) - across(place.lane))) : 0),
    y: place.row * ROW + ROW / 2,
});

/** Where the texts begin. @param {number} lanes how many there are */
export function textLeft(lanes) {
    const step = STEPS.find((one) => lanes <= one);
    return LEFT + (step ? across(step - 1) : across(WIDE - 1) + REST) + 15;
}

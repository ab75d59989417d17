// @ts-check
// The positions of rows and lanes in the graph, in px. Pure.

export const ROW = 30;
const LANE = 14;
const LEFT = 17;
/** The distance from a node to its label, and the least width of a row's label and facts. */
const GAP = 15;
const LABEL = 170;

/** The center of a lane. @param {number} lane */
export const laneX = (lane) => LEFT + LANE * lane;

/** The center of a row. @param {number} row */
export const rowY = (row) => row * ROW + ROW / 2;

/** The left edge of the label of a node. @param {number} lane */
export const textLeft = (lane) => laneX(lane) + GAP;

/**
 * The width that rows need. In a narrower pane, the graph scrolls sideways. @param {number} lanes
 */
export const widthOf = (lanes) => textLeft(lanes - 1) + LABEL;

// @ts-check
// The dots of the minimap. Pure.

import { COLOURS } from './layout.js';

/**
 * The paths that draw one dot for each row. Rows that share a pixel share a dot, so the paths are
 * short however many rows there are.
 * @param {import('./scene.js').Row[]} rows
 * @param {(row: import('./scene.js').Row) => [number, number]} place of a row in the map, in px
 * @returns {string[]} by colour
 */
export function mapOf(rows, place) {
    const paths = Array.from({ length: COLOURS }, () => new Set());
    for (const row of rows) {
        const [x, y] = place(row).map(Math.round);
        paths[row.place.colour]?.add(`M${x} ${y}h1`);
    }
    return paths.map((dots) => [...dots].join(''));
}

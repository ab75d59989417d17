// @ts-check
// The active cell of a grid, the selected cells, and how keys move them. Pure.
//
// Row -1 is the row of the column headers. The selection is the rectangle between the active cell
// and the anchor.

/** @typedef {{row: number, column: number}} Place */
/** @typedef {{at: Place, anchor: Place}} Position */
/** @typedef {{rows: number, columns: number, page: number}} Extent `page`: the rows in view */
/** @typedef {{top: number, bottom: number, left: number, right: number}} Range Ends included. */
/** @typedef {{key: string, ctrlKey: boolean, metaKey: boolean, shiftKey: boolean}} Press */

/** @param {number} row @param {number} column @returns {Position} */
export const only = (row, column) => ({ at: { row, column }, anchor: { row, column } });

/**
 * The position after a key press; null if the key moves nothing.
 * @param {Position} position
 * @param {Press} press
 * @param {Extent} extent
 * @returns {Position | null}
 */
export function moved(position, press, extent) {
    const whole = wholeOf(position, press, extent);
    if (whole) return whole;
    const { row, column } = placeAfter(position.at, press, extent) ?? {};
    if (row === undefined || column === undefined) return null;
    const isHeader = position.at.row < 0;
    // The headers are no part of a selection.
    const least = press.shiftKey && !isHeader ? 0 : -1;
    const at = {
        row: Math.max(least, Math.min(row, extent.rows - 1)),
        column: Math.max(0, Math.min(column, extent.columns - 1)),
    };
    return { at, anchor: press.shiftKey && !isHeader ? position.anchor : at };
}

/**
 * @param {Place} at
 * @param {Press} press
 * @param {Extent} extent
 * @returns {Place | null}
 */
function placeAfter({ row, column }, { key, ctrlKey, metaKey }, { rows, columns, page }) {
    const [lastRow, lastColumn] = [rows - 1, columns - 1];
    const isFar = ctrlKey || metaKey;
    switch (key) {
        case 'ArrowUp':
            return { row: isFar ? (row < 0 ? -1 : 0) : row - 1, column };
        case 'ArrowDown':
            return { row: isFar ? lastRow : row + 1, column };
        case 'ArrowLeft':
            return { row, column: isFar ? 0 : column - 1 };
        case 'ArrowRight':
            return { row, column: isFar ? lastColumn : column + 1 };
        case 'Home':
            return { row: isFar ? Math.min(0, lastRow) : row, column: 0 };
        case 'End':
            return { row: isFar ? lastRow : row, column: lastColumn };
        case 'PageUp':
            return { row: row < 0 ? -1 : Math.max(0, row - page), column };
        case 'PageDown':
            return { row: row + page, column };
        default:
            return null;
    }
}

/**
 * The keys that select all cells, a row (Shift-Space) or a column (Ctrl-Space).
 * @param {Position} position
 * @param {Press} press
 * @param {Extent} extent
 * @returns {Position | null}
 */
function wholeOf({ at }, { key, ctrlKey, metaKey, shiftKey }, { rows, columns }) {
    const isFar = ctrlKey || metaKey;
    const [last, right] = [rows - 1, columns - 1];
    if (last < 0) return null;
    if (isFar && key.toLowerCase() === 'a' && !shiftKey)
        return { at: { row: last, column: right }, anchor: { row: 0, column: 0 } };
    if (key !== ' ') return null;
    if (isFar) return { at: { row: last, column: at.column }, anchor: { row: 0, column: at.column } };
    if (!shiftKey || at.row < 0) return null;
    return { at: { row: at.row, column: right }, anchor: { row: at.row, column: 0 } };
}

/**
 * The selected cells; null while a header is active.
 * @param {Position} position
 * @returns {Range | null}
 */
export function rangeOf({ at, anchor }) {
    if (at.row < 0 || anchor.row < 0) return null;
    return {
        top: Math.min(at.row, anchor.row),
        bottom: Math.max(at.row, anchor.row),
        left: Math.min(at.column, anchor.column),
        right: Math.max(at.column, anchor.column),
    };
}

/** @param {Range | null} range @param {number} row @param {number} column */
export const isIn = (range, row, column) =>
    range !== null &&
    row >= range.top &&
    row <= range.bottom &&
    column >= range.left &&
    column <= range.right;

// @ts-check
// What the focus, the selection and the sections of cells need from the page.

/**
 * @typedef {object} CellPage
 * @property {() => import('../notebook/cell-list.js').Cell[]} cells the cells shown
 * @property {{paintNow: () => void}} host
 * @property {{onMoved: () => void}} presence
 */

export {};

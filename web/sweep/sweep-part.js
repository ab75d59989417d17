// @ts-check
// What the page needs of sweeps when the user opens their dialog or their table.

export { askSweep } from './sweep-dialog.js';
export { chooseSweep, removeSweep, showTable } from './sweep-table.js';

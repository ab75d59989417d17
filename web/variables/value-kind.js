// @ts-check
// How the value of a variable can be shown. Pure.

/** @typedef {import('../shell/protocol.js').Variable} Variable */

const ARRAYS = new Set(['ndarray', 'memmap', 'recarray', 'matrix', 'MaskedArray']);

/** The length of each axis of an array. @param {Variable} variable @returns {number[]} */
const axesOf = ({ type, size }) => (ARRAYS.has(type) && size ? size.split('×').map(Number) : []);

/**
 * Whether a variable can be shown as a grid: a data frame, a series or an array.
 * @param {Variable} variable
 */
export const isTable = (variable) =>
    variable.summary?.kind === 'frame' || variable.type === 'Series' || axesOf(variable).length > 0;

const CONTAINERS = /^(?:dict|list|tuple|set|frozenset|OrderedDict|defaultdict|Counter)$/;

/** Whether a variable has entries that a tree shows. @param {Variable} variable */
export const isTree = ({ type }) => CONTAINERS.test(type);

/**
 * Whether a variable may be a picture: an image of Pillow, a figure, or an array of colours.
 * @param {Variable} variable
 */
export const isPicture = (variable) =>
    /^(?:Image|Figure|\w+ImageFile)$/.test(variable.type) ||
    (variable.type === 'ndarray' && /^\d+×\d+×[34]$/.test(variable.size ?? ''));

/**
 * The lengths of the first axes of an array: all but the two that a grid shows.
 * @param {Variable} variable
 */
export const firstAxes = (variable) => axesOf(variable).slice(0, -2);

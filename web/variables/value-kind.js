// @ts-check
// How the value of a variable can be shown. Pure.

/**
 * Whether a variable is a data frame or a series.
 * @param {import('../shell/protocol.js').Variable} variable
 */
export const isTable = ({ type, summary }) => summary?.kind === 'frame' || type === 'Series';

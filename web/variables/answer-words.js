// @ts-check
// What the page tells of the server's answers about variables.

export const VARIABLES_ANSWER_WORDS = Object.freeze({
    refused: (/** @type {{why: string, how: string}} */ { why, how }) =>
        `These variables cannot be shown now: ${why}. ${how.slice(0, 1).toUpperCase()}${how.slice(1)}.`,
});

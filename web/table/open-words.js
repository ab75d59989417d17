// @ts-check
// Texts of the buttons and the command that open the grid of a data frame. The page needs them
// before the grid.

export const OPEN_WORDS = Object.freeze({
    open: 'Open as grid',
    openHint: 'Sort, filter and scroll through all rows',
    inPlace: 'Show as grid',
    asTable: 'Show as table',
    large: 'Open large',
    command: 'Open a DataFrame as a grid…',
    commandWords: 'array table dataframe series rows sort filter csv data viewer',
});

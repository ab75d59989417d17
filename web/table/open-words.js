// @ts-check
// Texts of the buttons and the command that open the grid of a data frame. The page needs them
// before the grid.

export const OPEN_WORDS = Object.freeze({
    open: 'Open as grid',
    openHint: 'Sort, filter and scroll through all rows',
    command: 'Open a DataFrame as a grid…',
    commandWords: 'table dataframe series rows sort filter csv data viewer',
    ask: 'Open as grid',
    askWhy: 'The name of a DataFrame or a Series in this state, such as df or frames["a"].',
});

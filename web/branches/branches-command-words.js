// @ts-check
// The texts about the table of branches that the page shows outside of the table.

export const BRANCHES_COMMAND_WORDS = Object.freeze({
    command: 'Show the table of branches',
    commandWords: 'compare results metrics leaves sweep values',
    pick: 'Add to the table of branches',
    unpick: 'Remove from the table of branches',
    picked: 'Added to the table of branches.',
    show: 'Show table',
});

// @ts-check
// The texts of the dialog that takes variables of another state.

export const TAKE_WORDS = Object.freeze({
    title: 'Take variables',
    all: 'Take all that B changed…',
    allHint: 'Creates a state after A with the variables that B changed',
    one: 'Take',
    oneHint: 'Creates a state after A with the value that this variable has in B',
    oneLabel: (/** @type {string} */ name) => `Take ${name} of B into A`,
    why: 'A new state continues the second one with copies of variables of the first. Both stay as they are.',
    from: 'From',
    into: 'Into a new state after',
    swap: 'Swap the two states',
    comparing: 'Comparing the variables of both states…',
    nothing: 'Nothing to take: the other state already has every value that this state has changed.',
    conflict: 'Both changed it',
    choice: (/** @type {string} */ names) => `What to do with ${names}`,
    take: 'Take',
    leave: 'Leave',
    rename: (/** @type {string[]} */ names) =>
        names.length === 1 ? `Keep both, as ${names[0]}_b` : 'Keep both, as …_b',
    absent: 'not there',
    deleted: 'Deletes it',
    together: 'They share objects, so they are taken together.',
    undecided: (/** @type {number} */ n) =>
        n === 1
            ? 'Choose what to do with the variable that both have changed'
            : `Choose what to do with the ${n} variables that both have changed`,
    act: (/** @type {number} */ n) => (n === 1 ? 'Take 1 variable' : `Take ${n} variables`),
    failed: (/** @type {string} */ why) => `Nothing was taken: ${why}`,
});

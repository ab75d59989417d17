// @ts-check
// Texts of notifications.

export const AWAY_WORDS = Object.freeze({
    notifying: 'This browser notifies you when cells end, fail or wait for input while you look elsewhere.',
    notNotifying: (/** @type {boolean} */ isSecure) =>
        isSecure
            ? 'Notifications stay off: the browser blocks them. Allow them in its settings of this site.'
            : 'Notifications stay off: browsers allow them only at https addresses and at localhost.',
    finished: (/** @type {number} */ n) => (n === 1 ? 'cell finished' : `${n} cells finished`),
    cellEnded: (/** @type {string} */ how) => `a cell ${how}`,
    wantsInput: 'a cell waits for input',
});

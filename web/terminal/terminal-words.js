// @ts-check
// Texts of the page of a terminal.

export const TERMINAL_WORDS = Object.freeze({
    title: 'Terminal',
    named: (/** @type {number} */ id) => `Terminal ${id}`,
    titled: (/** @type {string} */ title) => `${title} · Ratoon`,
    notebooks: 'Notebooks',
    others: 'Open terminals',
    open: 'New terminal',
    /** Other words by which the palette finds it. */
    also: 'shell console command line bash pip',
    close: 'Close terminal',
    closeHint: 'End its shell and what runs in it',
    ended: 'The shell has ended.',
    lost: 'The connection was lost. Ratoon connects again.',
    retry: 'Retry now',
    signedOut: 'This browser is no longer signed in. Open the link that Ratoon printed.',
    failed: 'The server does not answer.',
});

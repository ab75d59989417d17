// @ts-check
// The texts that crash.js shows below a crashed cell.

export const CRASH_WORDS = Object.freeze({
    calm: 'Only the process of this cell ended. The state above and all other states are intact.',
    memory: 'If the system killed the process because memory ran out, load less data at a time.',
    next: 'Change the cell and run it again.',
    nextElsewhere: 'To try again, copy the cell to a new draft.',
});

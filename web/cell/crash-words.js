// @ts-check
// Texts below a crashed cell.

export const CRASH_WORDS = Object.freeze({
    calm: 'Only the process of this cell ended. The state above and all other states are intact.',
    memory: 'If the system killed the process because memory ran out, process less data at a time.',
    next: 'Change the cell and run it again.',
    nextElsewhere: 'Copy it to a new draft to try again.',
});

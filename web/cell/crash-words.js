// @ts-check
// What the page says of a cell whose process ended.

export const CRASH_WORDS = Object.freeze({
    calm: 'Only the process of this cell is gone: the state above it and all others are as they were.',
    memory: 'If the system ended it for want of memory, let it take less at a time.',
    next: 'Change the cell and run it again.',
    nextElsewhere: 'Copy it as a new draft to try again.',
});

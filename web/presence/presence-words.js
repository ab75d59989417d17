// @ts-check
// What the page says about people, sharing and deleting.

export const PEOPLE_WORDS = Object.freeze({
    // Who is here
    people: 'Others who look at this notebook',
    guest: (/** @type {number} */ n) => `Guest ${n}`,
    stands: (/** @type {string} */ who, /** @type {string} */ where) => `${who} stands at ${where}`,
    atCell: (/** @type {number} */ n) => `cell ${n}`,
    atStart: 'the start',
    more: (/** @type {number} */ n) => `${n} more`,
    count: (/** @type {number} */ n) =>
        n === 1 ? 'One other looks at this notebook' : `${n} others look at this notebook`,
    yourName: 'Your name…',
    nameAsk: 'What should others call you?',
    nameWhy:
        'They see it where you stand in the graph. Leave it empty to be a guest. It is kept in this browser.',
    nameDo: 'Save name',
    // Deleting
    deleteState: 'Delete this state',
    deleteSubtree: (/** @type {number} */ n) =>
        n === 1 ? 'Delete it and the state below' : `Delete it and the ${n} states below`,
    deleted: (/** @type {number} */ n) => (n === 1 ? 'Deleted one state.' : `Deleted ${n} states.`),
    forgotten: 'The attempt was forgotten.',
    undo: 'Undo',
    deleteAsk: (/** @type {number} */ n) => `Delete ${n} states?`,
    deleteWhy: (/** @type {number} */ running) =>
        `${running ? `${running === 1 ? 'A cell is' : `${running} cells are`} running there and will be stopped. ` : ''}For a moment afterwards it can be undone.`,
    deleteDo: (/** @type {number} */ n) => `Delete ${n} states`,
    // Share
    share: 'Share',
    shareCommand: 'Share…',
    what: 'Whoever has the link',
    scopes: Object.freeze({
        view: Object.freeze({
            name: 'can view',
            why: 'Sees the whole notebook, live, and can go to every state. Nothing can be run or changed.',
        }),
        run: Object.freeze({
            name: 'can run',
            why: 'Runs code on this machine with everything that you may do on it: read and write files, use the network. Give it only to people whom you would let type here.',
        }),
    }),
    opensAt: (/** @type {string} */ where) => `It opens at ${where}.`,
    lasts: 'Good for',
    lastings: Object.freeze([
        ['3600', '1 hour'],
        ['86400', '1 day'],
        ['604800', '7 days'],
        ['', 'until revoked'],
    ]),
    note: 'Note',
    noteHint: 'Who gets it (only you see this)',
    create: 'Create link',
    made: 'The link is shown only now: copy it.',
    link: 'Link',
    copy: 'Copy',
    copied: 'Copied',
    failed: 'The link could not be made.',
    links: 'Links to this notebook',
    none: 'There are none.',
    toScope: Object.freeze({ view: 'can view', run: 'can run', owner: 'can do everything' }),
    madeOn: (/** @type {string} */ when) => `made ${when}`,
    ends: (/** @type {string} */ when) => `good until ${when}`,
    endless: 'until revoked',
    used: (/** @type {string} */ when) => `last used ${when}`,
    unused: 'never used',
    revoke: 'Revoke',
    revokeOf: (/** @type {string} */ what) => `Revoke: ${what}`,
    revoked: 'Revoked. Whoever came in by it is out.',
    revokeFailed: 'The link could not be revoked. Try again.',
    listFailed: 'The list of links could not be fetched.',
});

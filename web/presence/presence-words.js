// @ts-check
// Texts about other people, sharing and deleting.

export const PRESENCE_WORDS = Object.freeze({
    // People viewing the notebook
    people: 'People viewing this notebook',
    guest: (/** @type {number} */ n) => `Guest ${n}`,
    stands: (/** @type {string} */ who, /** @type {string} */ where) => `${who} is at ${where}`,
    atCell: (/** @type {number} */ n) => `cell ${n}`,
    atStart: 'the start',
    more: (/** @type {number} */ n) => `${n} more`,
    count: (/** @type {number} */ n) =>
        n === 1 ? 'One other person is viewing this notebook' : `${n} other people are viewing this notebook`,
    yourName: 'Your name…',
    nameAsk: 'Your name',
    nameWhy:
        'Others see this name next to your position in the graph. Leave it empty to appear as a guest. ' +
        'The name is stored in this browser.',
    nameDo: 'Save name',
    // Deleting
    deleteState: 'Delete this state',
    deleteSubtree: (/** @type {number} */ n) =>
        n === 1 ? 'Delete this and the state below' : `Delete this and the ${n} states below`,
    deleted: (/** @type {number} */ n) => (n === 1 ? 'Deleted one state.' : `Deleted ${n} states.`),
    forgotten: 'Attempt deleted.',
    undo: 'Undo',
    deleteAsk: (/** @type {number} */ n) => `Delete ${n} states?`,
    deleteWhy: (/** @type {number} */ running) =>
        `${
            running
                ? `${running === 1 ? 'One running cell' : `${running} running cells`} will be stopped. `
                : ''
        }You can undo this for a few seconds.`,
    deleteDo: (/** @type {number} */ n) => `Delete ${n} states`,
    // Share
    share: 'Share',
    shareCommand: 'Share…',
    what: 'Anyone with the link',
    scopes: Object.freeze({
        view: Object.freeze({
            name: 'can view',
            why: 'Sees the whole notebook live and can go to every state, but cannot run or change anything.',
        }),
        run: Object.freeze({
            name: 'can run',
            why:
                'Runs code on this machine with all your permissions, such as reading and writing files. ' +
                'Share it only with people whom you would let use your computer.',
        }),
    }),
    opensAt: (/** @type {string} */ where) => `The link opens at ${where}.`,
    lasts: 'Valid for',
    lastings: Object.freeze([
        ['3600', '1 hour'],
        ['86400', '1 day'],
        ['604800', '7 days'],
        ['', 'until revoked'],
    ]),
    note: 'Note',
    noteHint: 'Who it is for (only you see this)',
    create: 'Create link',
    made: 'Copy the link now. It will not be shown again.',
    link: 'Link',
    copy: 'Copy',
    copied: 'Copied',
    failed: 'The link could not be created.',
    links: 'Links to this notebook',
    none: 'No links yet.',
    toScope: Object.freeze({ view: 'can view', run: 'can run', owner: 'can do everything' }),
    madeOn: (/** @type {string} */ when) => `created ${when}`,
    ends: (/** @type {string} */ when) => `valid until ${when}`,
    endless: 'until revoked',
    used: (/** @type {string} */ when) => `last used ${when}`,
    unused: 'never used',
    revoke: 'Revoke',
    revokeOf: (/** @type {string} */ what) => `Revoke: ${what}`,
    revoked: 'Link revoked. Its users are disconnected.',
    revokeFailed: 'The link could not be revoked. Try again.',
    listFailed: 'The list of links could not be loaded.',
});

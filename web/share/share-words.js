// @ts-check
// The texts of the dialog that shares a notebook.

export const SHARE_WORDS = Object.freeze({
    title: 'Share',
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
    onlyHere: (/** @type {string} */ host) =>
        `Only this machine can open the link, because its address is ${host}.`,
    reachHow: 'How others can open it',
    reachedAs: (/** @type {string} */ host) => `The link’s address is ${host} (--reachable-as).`,
    reachName: Object.freeze({
        tunnel: 'SSH tunnel command',
        proxy: 'Command for a proxy',
        bind: 'Command for a trusted network',
    }),
    reachBy: Object.freeze({
        tunnel: 'Someone with an SSH login on this machine runs this, and opens the link while it runs:',
        proxy: 'Behind a proxy with TLS, start Ratoon with the host name that the proxy has:',
        bind: 'On a network where you trust everyone, start Ratoon like this. The connection is not encrypted:',
    }),
    lasts: 'Valid for',
    lastings: Object.freeze([
        ['3600', '1 hour'],
        ['86400', '1 day'],
        ['604800', '7 days'],
        ['', 'until revoked'],
    ]),
    note: 'Note',
    noteHint: 'Who it is for (only you see this)',
    create: 'Create and copy link',
    madeCopied: 'The link is copied. It will not be shown again.',
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

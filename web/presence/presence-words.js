// @ts-check
// Texts about other people and deleting.

import { counted } from '../text/format.js';

/** @param {number} states @param {number} attempts */
const both = (states, attempts) =>
    [states && counted(states, 'state'), attempts && counted(attempts, 'failed attempt')]
        .filter(Boolean)
        .join(' and ');

export const PRESENCE_WORDS = Object.freeze({
    // People viewing the notebook
    people: 'People viewing this notebook',
    guest: (/** @type {number} */ n) => `Guest ${n}`,
    stands: (/** @type {string} */ who, /** @type {string} */ where) => `${who} is at ${where}`,
    owner: 'Owner',
    follow: 'Follow',
    followHint: 'Click to follow.',
    unfollowHint: 'Click to stop following.',
    followsYou: ', following you',
    following: (/** @type {string} */ who) => `Following ${who}`,
    unfollow: 'Stop following',
    followedLeft: (/** @type {string} */ who) => `${who} has left, so this page stays where it is.`,
    viewOnly:
        'This link lets you view the notebook, not change it. Ask its owner for a link that can run cells.',
    atCell: (/** @type {number} */ n, /** @type {string} */ name) => `cell ${n}, “${name}”`,
    atStart: 'the start',
    count: (/** @type {number} */ n) =>
        n === 1 ? 'One other person is viewing this notebook' : `${n} other people are viewing this notebook`,
    yourName: 'Your name…',
    nameAsk: 'Your name',
    nameWhy:
        'Others see this name next to your position in the graph. Leave it empty to appear as a guest. ' +
        'The name is stored in this browser.',
    nameDo: 'Save name',
    // Deleting
    deleted: (/** @type {number} */ states, /** @type {number} */ attempts) =>
        `Deleted ${both(states, attempts)}.`,
    notDeleted:
        'Nothing was deleted: meanwhile, a cell was run on a state that was to be deleted. Delete again to include it.',
    placeDeleted: 'The state that this page showed was deleted. It is in “Deleted states…” for 30 days.',
    undo: 'Undo',
    deleteAsk: (/** @type {number} */ states, /** @type {number} */ attempts) =>
        `Delete ${both(states, attempts)}?`,
    deleteWhy: (/** @type {number} */ running) =>
        `${
            running
                ? `${running === 1 ? 'One running cell' : `${running} running cells`} will be stopped. `
                : ''
        }“Deleted states…” keeps them for 30 days.`,
    deleteDo: (/** @type {number} */ states, /** @type {number} */ attempts) =>
        `Delete ${both(states, attempts)}`,
    // Share
    share: 'Share',
    shareCommand: 'Share…',
});

// @ts-check
// Texts of the header, of cells and of checkpoints, and those that several features share.

/** @param {number} n */
const ranBefore = (n) =>
    n === 1
        ? 'One variant has run here before and is not run again.'
        : `${n} variants have run here before and are not run again.`;

export const WORDS = Object.freeze({
    home: 'All notebooks',
    // Header
    states: 'States',
    variables: 'Variables',
    files: 'Files',
    share: 'Share',
    more: 'More',
    connecting: 'Connecting…',
    ready: 'Ready',
    running: (/** @type {number} */ n, /** @type {number} */ waiting) =>
        [n && `${n} running`, waiting && `${waiting} waiting`].filter(Boolean).join(', '),
    disconnected: 'Disconnected',
    viewOnly: 'View only',
    offline: 'Reconnecting',
    offlineLong: 'Offline. Your edits are sent when you reconnect. The page tries again every second.',
    retryNow: 'Retry now',
    ended:
        'Your access to this notebook has ended. You can still copy what you see. To continue, open ' +
        'the link that Ratoon printed when it started, or ask for a new link.',
    gone:
        'Ratoon was stopped or restarted, and this browser is no longer signed in. To reconnect this tab, ' +
        'open the link that Ratoon printed. All that you see and have typed stays in this tab until you ' +
        'close it.',
    trouble: (/** @type {{what: string, why: string, how: string}} */ t) =>
        `${sentence(`cannot ${t.what}: ${t.why}`)} ${sentence(t.how)} You can keep working: changes stay ` +
        `in memory and are saved once this is resolved.`,
    partMissing:
        'This part of the page could not be loaded: the server does not answer. Try again once the ' +
        'connection is back.',
    addressGone: 'The state of this address was deleted. Shown is the newest state.',
    startedAnew:
        'The state that was shown here no longer exists. Unsaved typing, if any, is in the drafts below.',
    copyAll: 'Copy all code',
    allCopied: 'Copied the code of all cells.',
    allReady: 'Copy this code',
    draftRemoved: 'Draft deleted.',
    undo: 'Undo',
    asks: (/** @type {string} */ what) =>
        what.trim() ? `A cell asks for input: ${what.trim()}` : 'A cell is waiting for input.',
    asksGo: 'Go to input',
    endedWell: (/** @type {number} */ count, /** @type {string} */ gist) => `Cell ${count} finished: ${gist}`,
    endedAll: (/** @type {number} */ n, /** @type {number} */ count, /** @type {string} */ gist) =>
        `${n} cells finished. Cell ${count}: ${gist}`,
    endedBadly: (/** @type {string} */ how, /** @type {string} */ why) =>
        why ? `Cell ${how}: ${why}` : `Cell ${how}`,
    keys: 'Keyboard shortcuts',
    restart: 'Restart',
    restartRun: 'Restart and run all',
    restarted: (/** @type {number} */ n, /** @type {number} */ others) =>
        `Restarted.${n === 1 ? ' One cell is now a draft.' : n ? ` ${n} cells are now drafts.` : ''}` +
        `${n && others ? ` ${n === 1 ? 'It comes' : 'They come'} before ${draftsHere(others)}.` : ''}`,
    atStart: 'You are already at the start.',
    reset: 'Reset notebook…',
    resetAsk: 'Reset this notebook?',
    resetWhy:
        'This stops all running cells and removes all states, drafts and outputs of this notebook, for ' +
        'everyone. A copy goes to the trash and can be restored for 30 days.',
    resetDo: 'Reset notebook',
    forgotten: 'Notebook reset. A copy is in the trash.',
    restore: 'Restore',
    restoreFailed: 'The copy is no longer in the trash. It may have been restored or deleted.',
    typeName: (/** @type {string} */ name) => `Type “${name}” to confirm`,
    // Cells
    run: 'Run',
    stop: 'Stop',
    stopHard: 'Kill',
    stopHint: 'Stop this cell',
    stopHardHint: 'Kill the process of this cell. Earlier states are kept.',
    placeholder: 'Type Python here. Shift-Enter runs it.',
    textPlaceholder: 'Type Markdown here.',
    rawPlaceholder: 'Type raw text here.',
    startExample: 'Start with an example',
    startExampleHint: 'Four cells, real data, two minutes: grow three branches and compare them.',
    code: 'Code',
    text: 'Text',
    raw: 'Raw',
    toText: 'Convert to Markdown',
    toCode: 'Convert to code',
    insertHere: 'Insert a cell here',
    foldCode: 'Collapse the code',
    unfoldCode: 'Expand the code',
    foldSection: 'Collapse the section',
    unfoldSection: 'Expand the section',
    hiddenCells: (/** @type {number} */ n) => (n === 1 ? '… 1 cell' : `… ${n} cells`),
    hiddenOpen: (/** @type {number} */ n) => `${n} running or waiting`,
    hiddenFailed: (/** @type {number} */ n) => `${n} failed or stopped`,
    allLines: (/** @type {number} */ n) => (n === 1 ? '… 1 line' : `… ${n} lines`),
    runAsBranch: 'Run as a new branch',
    runAsBranchHint: 'Runs now, without the results of the running cell',
    tryVariants: 'Try variants…',
    tryVariantsHint: 'Runs several versions of this cell at once, each as a branch',
    variantsRun: (/** @type {number} */ n, /** @type {number} */ known) =>
        `${n === 1 ? 'One variant runs' : `${n} variants run`}. ${known ? `${ranBefore(known)} ` : ''}` +
        'The cell shows the first; its tabs and the graph show all.',
    variantsEnded: (/** @type {number} */ ok, /** @type {number} */ failed, /** @type {number} */ known) =>
        `${ok === 1 ? 'One variant has' : `${ok} variants have`} run` +
        `${failed ? `, ${failed} ${failed === 1 ? 'has' : 'have'} failed` : ''}.` +
        `${known ? ` ${ranBefore(known)}` : ''}`,
    variantsKnown: (/** @type {number} */ known) => ranBefore(known),
    branch: 'Branch',
    branchHere: 'New branch from here',
    branchHint: 'The cells below stay as they are, in their branch',
    runBelow: 'Run this cell and all below',
    runAbove: 'Run all above',
    runAllBelow: 'Run all below',
    runThese: (/** @type {number} */ n) => `Run these ${n} cells`,
    removeDraft: 'Delete draft',
    removeText: 'Delete text',
    editText: 'Edit',
    cellRan: (/** @type {number} */ n) => `Cell ${n}`,
    cellDraft: 'Draft',
    cellNew: 'New cell',
    cellEdited: 'edited',
    cellStale: 'stale',
    cellText: (/** @type {number | null} */ n) => `Text cell ${n}`,
    cellRaw: (/** @type {number | null} */ n) => `Raw cell ${n}`,
    cellAttempt: 'Attempt',
    cellMenu: 'Cell actions',
    standHere: 'Go to this state',
    copyCode: 'Copy to a new draft',
    editCopy: 'Edit a copy',
    deletedCell: 'Deleted. The cells below keep their results.',
    label: 'Label…',
    labelAsk: 'Label this state',
    labelWhy: 'A short name, shown in the graph. Leave it empty to remove the label.',
    labelDo: 'Save label',
    dropAttempt: 'Delete failed attempt',
    dropHint: 'Also deletes its cell, unless edited since.',
    remove: 'Delete',
    cancel: 'Cancel',
    edited: 'Edited. Running it starts a new branch; the cell as it ran is kept.',
    undoEdit: 'Revert',
    outdated: 'Stale: from the earlier version',
    clearStale: 'Clear',
    branchOf: (/** @type {number} */ k, /** @type {number} */ n) => `branch ${k} of ${n}`,
    besideHere: 'Branches from the state above',
    moreBeside: (/** @type {number} */ n) => `${n} more`,
    moreBesideHint: 'Show all branches in a table',
    inside: 'Running it starts a new branch; the cells below must then run again.',
    queued: 'waiting',
    asked: 'waiting for the server',
    stoppedWhole: 'Stopped, changes rolled back',
    partial: (/** @type {boolean} */ isStopped, /** @type {number | undefined} */ line) =>
        `partial: the cell ${isStopped ? 'was stopped' : 'failed'}` +
        (line === undefined ? '' : ` at line ${line}`),
    takenBack: 'The changes that this cell made to variables were undone.',
    keepPartial: 'Keep its changes',
    keepPartialHint: 'Save these changes as a state that is marked as partial',
    wait: 'A cell above is still running. Run this cell when it has finished.',
    failedAbove: 'The new version of a cell above failed or was stopped. Fix or revert that cell first.',
    goesOn: 'Next:',
    goesOnHint: 'The cells that ran next, here and in other branches',
    // Residency of a state
    lives: Object.freeze({
        freezing: 'In memory',
        memory: 'In memory',
        disk: 'On disk',
        replay: 'Needs replay',
    }),
    comesBack: 'restored on next run',
    /** `seconds`: how long the restore takes; `lost`: the variables that it lacks. */
    restoresFirst: (/** @type {number} */ seconds, /** @type {string[]} */ lost) =>
        `Restores from disk${seconds > 1 ? `, about ${seconds} s` : ''}.` +
        (lost.length
            ? ` ${capital(names(lost.length))} will be missing: ${lost.slice(0, 3).join(', ')}` +
              `${lost.length > 3 ? '…' : '.'}`
            : ''),
    replaysFirst: (/** @type {number} */ n) => `Runs ${n === 1 ? 'one cell' : `${n} cells`} again first.`,
    memory: (/** @type {string} */ own, /** @type {string | null} */ shared) =>
        shared === null ? own : `${own} own, ${shared} shared`,
    savedAs: (/** @type {string} */ size) => `${size} on disk`,
    saving: (/** @type {number} */ percent) => `saving ${percent}%`,
    waitsToBeSaved: 'waiting to be saved',
    notSaved: 'not saved',
    unsaved: 'not on disk yet',
    saveFailed: (/** @type {string} */ why) => `could not be saved: ${why}`,
    saveFailedLong: (/** @type {string} */ why) =>
        `${sentence(`This state could not be saved: ${why}`)} You can still use the state.`,
    saveAgain: 'Try again',
    pinned: 'unloads last',
    pinnedAway: 'unloads last once loaded',
    unsavable: (/** @type {number} */ n) => `${names(n)} could not be saved`,
    namesGone: (/** @type {number} */ n) => `${names(n)} could not be restored`,
    livesOnly: (/** @type {number} */ n) =>
        `${capital(names(n))} cannot be saved. ${n === 1 ? 'It exists' : 'They exist'} only while this ` +
        `state is in memory.`,
    restored: (/** @type {number} */ n) => `Restored from disk without ${names(n)}`,
    onDiskWithout: (/** @type {number} */ n) =>
        capital(`${names(n)} could not be saved and will be missing when this state is loaded`),
    changedShort: (/** @type {number} */ n) => `${names(n)} ${n === 1 ? 'changes' : 'change'} when loaded`,
    changesOnLoad: (/** @type {number} */ n) =>
        `${capital(names(n))} will change when this state is loaded: ` +
        `${n === 1 ? 'its library pickles it' : 'their libraries pickle them'} incompletely`,
    restoredChanged: (/** @type {number} */ n) =>
        `${capital(names(n))} changed when this state was restored: ` +
        `${n === 1 ? 'its library pickles it' : 'their libraries pickle them'} incompletely`,
    moreNames: (/** @type {number} */ n) => `and ${n} more`,
    replayed: 'restored by replaying its cells',
    needsReplay:
        'The variables of this state are not in memory and cannot be loaded from disk. Its code and ' +
        'outputs are kept; replay its cells to restore the variables.',
    replayStopped: 'Replay stopped. The state is unchanged.',
    replay: 'Replay cells',
    replayMenu: 'Replay cells…',
    replayAsk: (/** @type {number} */ n) => (n === 1 ? 'Replay one cell?' : `Replay ${n} cells?`),
    replayWhy: (/** @type {number} */ n, /** @type {string} */ from) =>
        `This runs the ${n === 1 ? `cell “${from}”` : `cells from “${from}” to this state`} ` +
        `again${n === 1 ? '' : ', in order'}. ` +
        `Side effects, such as writing files or calling other servers, happen again. Other states do not ` +
        `change.`,
    replayFirst: (/** @type {number} */ n) =>
        `This state is not loaded. Replay ${n === 1 ? 'its cell' : `its ${n} cells`} first?`,
    replayDo: (/** @type {number} */ n) => (n === 1 ? 'Replay' : `Replay ${n} cells`),
    replayRunDo: 'Replay, then run',
    replaying: (/** @type {number} */ done, /** @type {number} */ total) =>
        total ? `replaying ${Math.min(done + 1, total)} of ${total}` : 'replaying',
    replayingLong: (/** @type {number} */ done, /** @type {number} */ total) =>
        total ? `Replaying ${Math.min(done + 1, total)} of ${total}` : 'Replaying…',
    pin: 'Unload last',
    pinHint: 'Other states leave memory first',
    unpin: 'Unload as usual',
    forkAnyway: 'Branch from memory',
    forkAnywayHint:
        'Cells that branch from this state start at once with every variable, but a library that this ' +
        'state uses may make them hang. By default, branches are loaded from disk.',
    noForkAnyway: 'Load branches from disk',
    saveNow: 'Write checkpoint now',
    savedNow: (/** @type {string} */ size, /** @type {number} */ n) =>
        `Saved, ${size} on disk.${n ? ` ${capital(names(n))} could not be saved; see below the cell.` : ''}`,
    foreign: 'This checkpoint is not trusted: only plain values are loaded.',
    foreignShort: 'untrusted checkpoint: only plain values are loaded',
    trust: 'Trust…',
    trustAsk: 'Trust the checkpoints of this notebook?',
    trustWhy:
        'These checkpoints were written by another installation of Ratoon, imported from a file, or ' +
        'modified. To restore a state completely, Ratoon runs the code in its checkpoint, with all your ' +
        'permissions on this machine. Trust the checkpoints only if you trust the source of this ' +
        'notebook. All states of the notebook are trusted together.',
    trustDo: 'Trust and run their code',
    trusted: (/** @type {number} */ n) => (n === 1 ? 'Trusted one checkpoint.' : `Trusted ${n} checkpoints.`),
    deletedState: 'This state was deleted. Nothing can run from it; go to another state to continue.',
    failed: Object.freeze({ error: 'failed', interrupted: 'stopped', crashed: 'crashed' }),
    answer: 'Submit',
    answerHint: 'Input for the cell',
    outputFrame: 'Output',
    image: 'Image output',
    // Graph
    graph: 'Graph of states',
    graphRoot: 'Start',
    nodeStatus: Object.freeze({
        ok: '',
        imported: '',
        queued: 'waiting',
        running: 'running',
        error: 'failed',
        interrupted: 'stopped',
        crashed: 'crashed',
        replay: 'needs replay',
        deleted: 'deleted',
        partial: 'partial',
    }),
    nodeHere: 'current state',
    linkWhy: 'The browser does not give this page access to the clipboard. Press Ctrl-C.',
    // Home
    noNotebook: (/** @type {string} */ name) => `There is no notebook called “${name}”.`,
    close: 'Close',
    sentence,
    refused: (/** @type {{what: string, why: string, how: string}} */ r) =>
        `${sentence(`cannot ${r.what}: ${r.why}`)} ${sentence(r.how)}`,
    variablesRefused: (/** @type {{why: string, how: string}} */ r) =>
        `${sentence(`these variables cannot be shown now: ${r.why}`)} ${sentence(r.how)}`,
    // Files dragged over the page
    dropUpload: 'Drop to upload',
    dropUploadHint: 'The files go to the folder that the files pane shows.',
    dropText: 'Drop to show in the text',
    dropTextHint: 'The picture is stored with the notebook.',
    dropFiles: 'Drop to import or upload',
    dropHintHere: 'Ratoon asks what to do with the files. This notebook does not change.',
});

/** @param {number} n */
const names = (n) => (n === 1 ? 'one variable' : `${n} variables`);

/** @param {number} n */
const draftsHere = (n) =>
    n === 1 ? 'the draft that was already here' : `the ${n} drafts that were already here`;

/** The server's texts begin in lower case and have no final period. @param {string} text */
function sentence(text) {
    const trimmed = text.trim();
    return `${capital(trimmed)}${/[.!?]$/.test(trimmed) ? '' : '.'}`;
}

/** @param {string} text */
const capital = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

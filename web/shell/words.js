// @ts-check
// Every sentence that the page says, in one place.

export const WORDS = Object.freeze({
    appName: 'Ratoon',
    // Header
    states: 'States',
    variables: 'Variables',
    share: 'Share',
    more: 'More',
    connecting: 'Connecting…',
    ready: 'Ready',
    running: (/** @type {number} */ n, /** @type {number} */ waiting) =>
        [n && `${n} running`, waiting && `${waiting} waiting`].filter(Boolean).join(', '),
    disconnected: 'Disconnected',
    viewOnly: 'View only',
    offline: 'Reconnecting',
    offlineLong: 'Connection lost. Reconnecting… You can keep typing; it is sent when the line is back.',
    ended: 'Your access to this notebook has ended. What you see can still be copied. To go on, open the link that Ratoon printed when it started, or ask for a new one.',
    gone: 'Ratoon was stopped or started anew and does not know this browser any more. What you see and typed stays here until you close this tab. Open the link that Ratoon printed; this tab then goes on by itself.',
    trouble: (/** @type {{what: string, why: string, how: string}} */ t) =>
        `${sentence(`cannot ${t.what}: ${t.why}`)} ${sentence(t.how)} Your work goes on in memory and is saved when this is over.`,
    partMissing:
        'This part of the page could not be fetched: the server does not answer. Try again when the line is back.',
    startedAnew:
        'Ratoon was started anew or the notebook was reset: the states that were here are gone. What you had just typed is in a draft below.',
    copyAll: 'Copy all code',
    allCopied: 'The code of all cells was copied.',
    allReady: 'Copy this code',
    draftRemoved: 'Draft removed.',
    undo: 'Put it back',
    asks: (/** @type {string} */ what) =>
        what.trim() ? `A cell asks: ${what.trim()}` : 'A cell waits for an answer.',
    asksGo: 'Answer it',
    themeOf: (/** @type {string} */ theme) =>
        ({ auto: 'Theme: as the system', light: 'Theme: light', dark: 'Theme: dark' })[theme] ?? theme,
    keys: 'Keyboard shortcuts',
    restart: 'Restart…',
    restartAsk: 'Restart?',
    restartWhy: (/** @type {number} */ n) =>
        `You go back to the start, without variables. The cells of this line wait there as drafts, to be run again. Nothing is deleted: what ran stays in the graph.${n ? ` ${n === 1 ? 'One cell is' : `${n} cells are`} running and will be stopped.` : ''}`,
    restartDo: 'Restart',
    restarted: (/** @type {number} */ n, /** @type {number} */ others) =>
        `Restarted. ${n === 1 ? 'One cell waits as a draft' : `${n} cells wait as drafts`}${others ? `, above ${others === 1 ? 'one that was' : `${others} that were`} here` : ''}.`,
    atStart: 'You are at the start. Nothing has run here yet.',
    reset: 'Forget everything…',
    resetAsk: 'Forget everything?',
    resetWhy:
        'This stops every running cell and removes all states, drafts and outputs of this notebook, for everybody. A copy goes into the trash, from where it can be restored for 30 days.',
    resetDo: 'Forget everything',
    forgotten: 'Everything was forgotten. A copy is in the trash.',
    restore: 'Restore it',
    restoreFailed: 'The copy was not found in the trash. The list of notebooks shows what is there.',
    typeName: (/** @type {string} */ name) => `Type “${name}” to confirm`,
    // Cells
    run: 'Run',
    stop: 'Stop',
    stopHard: 'Kill',
    stopHint: 'Stop this cell',
    stopHardHint: 'It does not stop by itself: end its process. Earlier states stay.',
    placeholder: 'Write Python here. Shift-Enter runs it.',
    textPlaceholder: 'Write Markdown here.',
    code: 'Code',
    text: 'Text',
    toText: 'Make it text',
    toCode: 'Make it code',
    insertAbove: 'Insert a cell above',
    insertBelow: 'Insert a cell below',
    runBeside: 'Run beside the running cell',
    runBesideHint: 'Against the same state, at the same time: a branch grows.',
    runBelow: 'Run this and all below',
    runAllBelow: 'Run all below',
    runThese: (/** @type {number} */ n) => `Run these ${n} cells`,
    removeDraft: 'Remove this draft',
    cellRan: (/** @type {number} */ n) => `Cell ${n}`,
    cellDraft: 'Draft',
    cellAttempt: 'Attempt',
    cellMenu: 'What to do with this cell',
    standHere: 'Go back to here',
    copyCode: 'Copy as a new draft',
    label: 'Label…',
    labelAsk: 'Label this state',
    labelWhy: 'A short name for people, shown in the graph. Leave it empty to take the label away.',
    labelDo: 'Save label',
    dropAttempt: 'Forget this attempt',
    dropHint: 'Its draft goes too, unless you changed it.',
    remove: 'Remove',
    cancel: 'Cancel',
    edited: 'Changed. Running it grows a new version; this one stays in the graph.',
    undoEdit: 'Put back what ran',
    outdated: 'Ran after the earlier version',
    version: (/** @type {number} */ k, /** @type {number} */ n) => `version ${k} of ${n}`,
    earlierVersion: 'Earlier version of this cell',
    laterVersion: 'Later version of this cell',
    inside: 'Runs against the state above. What stands below then waits as drafts.',
    queued: 'waiting',
    asked: 'waiting for the server',
    stoppedWhole: 'stopped: what it had set was undone',
    partial: (/** @type {boolean} */ isStopped, /** @type {number | undefined} */ line) =>
        `partial: its cell ${isStopped ? 'was stopped' : 'failed'}${line === undefined ? '' : ` at line ${line}`}`,
    takenBack: 'What this cell had set before that was undone.',
    keepPartial: 'Keep what it had set',
    keepPartialHint: 'Makes a state of it, marked as partial',
    wait: 'The cell above is still running. Run this one when it is done.',
    goesOn: 'Goes on with',
    // Where a state lives
    lives: Object.freeze({
        freezing: 'In memory',
        memory: 'In memory',
        disk: 'On disk',
        replay: 'Needs replay',
    }),
    comesBack: 'comes back when you run',
    savedAs: (/** @type {string} */ size) => `${size} on disk`,
    saving: (/** @type {number} */ percent) => `saving ${percent} %`,
    waitsToBeSaved: 'waits to be saved',
    notSaved: 'not saved',
    unsaved: 'not on disk yet',
    saveFailed: (/** @type {string} */ why) => `could not be saved: ${why}`,
    saveFailedLong: (/** @type {string} */ why) =>
        `${sentence(`This state could not be saved: ${why}`)} Nothing is wrong with the state itself.`,
    saveAgain: 'Try again',
    pinned: 'kept in memory',
    pinnedAway: 'stays in memory once it is back',
    unsavable: (/** @type {number} */ n) => `${names(n)} could not be saved`,
    namesGone: (/** @type {number} */ n) => `${names(n)} could not come back`,
    livesOnly: (/** @type {number} */ n) =>
        capital(`${names(n)} cannot be saved: there while this state is in memory`),
    restored: (/** @type {number} */ n) => `Restored from disk; ${names(n)} could not come back`,
    onDiskWithout: (/** @type {number} */ n) =>
        capital(`${names(n)} could not be saved and will not come back with this state`),
    moreNames: (/** @type {number} */ n) => `and ${n} more`,
    replayed: 'came back by running its cells again',
    needsReplay:
        'No process and no checkpoint holds this state. Its code and outputs are here; running its cells again brings it back.',
    replayStopped: 'The replay was stopped. The state is as it was.',
    replay: 'Replay the cells',
    replayMenu: 'Replay the cells…',
    replayAsk: (/** @type {number} */ n) => (n === 1 ? 'Run one cell again?' : `Run ${n} cells again?`),
    replayWhy: (/** @type {number} */ n, /** @type {string} */ from) =>
        `${n === 1 ? `This cell runs again: “${from}”.` : `These are the cells from “${from}” to this state, in order.`} Whatever else ${n === 1 ? 'it does' : 'they do'}, such as writing files or asking other servers, happens again, too. Other states stay as they are.`,
    replayFirst: (/** @type {number} */ n) =>
        `This state has no process. Run its ${n === 1 ? 'cell' : `${n} cells`} again first?`,
    replayDo: (/** @type {number} */ n) => (n === 1 ? 'Run it' : `Run ${n} cells`),
    replayRunDo: 'Replay, then run',
    replaying: (/** @type {number} */ done, /** @type {number} */ total) =>
        total ? `replaying ${Math.min(done + 1, total)} of ${total}` : 'replaying',
    replayingLong: (/** @type {number} */ done, /** @type {number} */ total) =>
        total ? `Replaying ${Math.min(done + 1, total)} of ${total}` : 'Replaying…',
    pin: 'Keep in memory',
    pinHint: 'As long as that is possible. Other states are let go first.',
    unpin: 'No longer keep in memory',
    forkAnyway: 'Fork all the same',
    forkAnywayHint:
        'Branches start at once and have everything, but may hang. Otherwise they are loaded from disk.',
    noForkAnyway: 'Load branches from disk',
    saveNow: 'Save now',
    savedNow: (/** @type {string} */ size, /** @type {number} */ n) =>
        `Saved, ${size} on disk.${n ? ` ${capital(names(n))} could not be saved: see below the cell.` : ''}`,
    foreign: 'Written elsewhere or imported: only plain values are read.',
    foreignShort: 'written elsewhere or imported: only plain values are read',
    trust: 'Trust…',
    trustAsk: 'Trust the checkpoints of this notebook?',
    trustWhy:
        'They were written by another install of Ratoon, imported from a file, or changed since. To bring a state back whole, Ratoon runs the code that lies in its checkpoint, with everything that you may do on this machine. Trust them only if you trust whoever gave you this notebook. This concerns all states of the notebook.',
    trustDo: 'Trust, and let their code run',
    trusted: (/** @type {number} */ n) =>
        n === 1 ? 'One checkpoint is trusted now.' : `${n} checkpoints are trusted now.`,
    deletedState: 'This state was deleted. Nothing can run from it; stand on another state to go on.',
    failed: Object.freeze({ error: 'failed', interrupted: 'stopped', crashed: 'crashed' }),
    answer: 'Answer',
    answerHint: 'The cell waits for an answer',
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
    nodeHere: 'you stand here',
    linkWhy: 'The browser does not let this page reach the clipboard. Press Ctrl-C.',
    // Home
    noNotebook: (/** @type {string} */ name) => `There is no notebook called “${name}”.`,
    close: 'Close',
    refused: (/** @type {{what: string, why: string, how: string}} */ r) =>
        `${sentence(`cannot ${r.what}: ${r.why}`)} ${sentence(r.how)}`,
});

/** @param {number} n */
const names = (n) => (n === 1 ? 'one name' : `${n} names`);

/** As a sentence: the server's words begin small and end without a dot. @param {string} text */
function sentence(text) {
    const trimmed = text.trim();
    return `${capital(trimmed)}${/[.!?]$/.test(trimmed) ? '' : '.'}`;
}

/** @param {string} text */
const capital = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

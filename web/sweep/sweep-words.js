// @ts-check
// The texts of the dialog, the table and the plot of a sweep.

const NUMBERS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
/** @param {number} n */
const word = (n) => NUMBERS[n] ?? String(n);
/** @param {number} n @param {string} one */
const some = (n, one) => (n === 1 ? `1 ${one}` : `${n.toLocaleString('en')} ${one}s`);

const PLACES = {
    here: ', as many at a time as there are cores',
    workers: ' at the workers',
    both: ', as many here as there are cores, and the others at the workers',
};

export const FORM_WORDS = Object.freeze({
    title: 'Sweep',
    why: 'Runs the cell once for every combination of the values below. Each run is a branch from the same state, and a table compares the results.',
    whyDrawn:
        'Runs the cell many times with values drawn from the lists and ranges below. Each run is a branch from the same state, and a table compares the results.',
    looking: 'Looking for the parameters of the cell…',
    retry: 'Try again',
    syntax: (/** @type {string} */ why) => `The cell has a syntax error: ${why}`,
    nothing:
        'The cell assigns no parameter. A parameter is a name that the cell sets once, at its top level, to a literal or a variable, such as lr = 0.1.',
    nothingReads: 'The cell assigns no parameter, but you can add one of the variables that it reads.',
    parameter: 'Parameter',
    now: 'now',
    values: 'Values to try',
    valuesOf: (/** @type {string} */ name) => `Values of ${name}`,
    syntaxHint:
        'Lists (0.1, 1) or ranges: 1..10, 0..1 step 0.25, 0..1 in 3, 0.01..1 log 5. Leave a field empty to keep the present value.',
    syntaxDrawn:
        'Lists to choose from (0.1, 1), or ranges to draw from: 1..10 (integers), 0.0..1.0, 0.01..1 log. Leave a field empty to keep the present value.',
    count: (/** @type {number} */ n) => some(n, 'value'),
    exampleWords: (/** @type {string} */ value) => `${value}, other`,
    exampleAny: 'a, b',
    example: (/** @type {string} */ values) => `e.g. ${values}`,
    add: 'Add a variable that the cell reads',
    addChoose: 'Add a variable that the cell reads…',
    removeRead: (/** @type {string} */ name) => `Remove ${name}`,
    reads: 'read',
    obstacles: (/** @type {[string, string][]} */ all) =>
        `Not parameters: ${all.map(([name, why]) => `${name} (${why})`).join(', ')}.`,
    metric: 'Metric',
    metricHint: 'e.g. score',
    metricBelow: 'An expression such as score or -loss. Without it, no run counts as the best.',
    metricWhy:
        'A number that says how good a result is: a variable or an expression, evaluated after the cell',
    goal: 'Better is',
    goals: { max: 'greater', min: 'smaller' },
    parallel: 'At the same time',
    parallelHint: 'one per core',
    keep: 'Keep in memory',
    keepHint: 'default: 5',
    keepWhy: 'How many of the best rows stay ready. To continue from another row, its cells run again.',
    where: 'Where',
    places: { here: 'here', workers: 'workers', both: 'both' },
    whereWhy:
        'Workers are other machines or processes, which the engine given by --workers provides. The state moves to them through the store.',
    workersGone: (/** @type {string} */ why) =>
        `The workers cannot be reached: ${why}. Rows wait until they can.`,
    checking: 'Asking a worker…',
    moves: (/** @type {string} */ store, /** @type {string} */ node) =>
        `${store} go to the store, and each node fetches at most ${node}, once.`,
    label: 'Name',
    labelHint: 'optional',
    advanced: 'Advanced',
    sampler: 'Combinations',
    samplers: { all: 'All', random: 'Random', optuna: 'Optuna' },
    samplerWhy:
        'Optuna proposes values from the results so far. It must be installed in the notebook’s Python.',
    trials: 'Rows',
    seed: 'Seed',
    stop: 'Stop the sweep early',
    stopRows: 'after rows',
    stopSeconds: 'after seconds',
    stopTarget: 'at a metric of',
    timeout: 'Seconds per row',
    timeoutHint: 'no limit',
    rungs: 'continuing the best rows',
    targets: 'stopping at a metric',
    keeps: 'keeping the best rows',
    rungsTitle: 'Then continue the best rows with this cell',
    rungCode: 'Cell that continues the best rows',
    rungHint: 'e.g. train(epochs=10)',
    rungCount: 'Times',
    rungFactor: 'Continue one row of',
    optuna: 'Optuna',
    // Problems
    notWhole: (/** @type {number} */ least) => `Type a whole number, at least ${least}.`,
    notNumber: 'Type a number.',
    notSeconds: 'Type a number of seconds, more than 0.',
    needsTrials: 'Type how many rows to draw.',
    needsMetric: (/** @type {string} */ what) => `Type a metric: it is needed for ${what}.`,
    manyRows: (/** @type {number} */ most) => `A sweep has at most ${most.toLocaleString('en')} rows.`,
    manyCombinations: (/** @type {number} */ rows, /** @type {number} */ most) =>
        `These are ${rows.toLocaleString('en')} combinations; a sweep has at most ${most.toLocaleString('en')} rows.`,
    // What will happen
    sentence: (
        /** @type {number} */ rows,
        /** @type {string} */ cell,
        /** @type {number | null} */ parallel,
        /** @type {string} */ rungs,
        /** @type {string} */ time,
        /** @type {keyof typeof PLACES} */ where = 'here',
    ) => {
        const branches = rows === 1 ? 'One branch' : some(rows, 'branch').replace(/branchs$/, 'branches');
        const at =
            rows === 1
                ? ''
                : parallel === null
                  ? PLACES[where]
                  : `, ${word(Math.min(parallel, rows))} at a time`;
        return `${branches} of ${cell}${at}${rungs}${time && `; ${time}`}.`;
    },
    continuing: (/** @type {number[]} */ counts) =>
        `; then the best ${counts.map(word).join(', then the best ')} ${counts.at(-1) === 1 ? 'continues' : 'continue'}`,
    about: (/** @type {string} */ time) => `about ${time}`,
    atMost: (/** @type {string} */ time) => `at most about ${time}`,
    waiting: 'Type values for at least one parameter.',
    mend: 'Correct the marked fields.',
    start: 'Start',
    starting: 'Starting…',
    thisCell: 'this cell',
    cell: (/** @type {number} */ n) => `cell ${n}`,
});

export const TABLE_WORDS = Object.freeze({
    gone: 'This sweep was deleted.',
    none: 'There is no sweep yet.',
    choose: 'Which sweep?',
    chooseWhy: 'Choose a sweep to see its table. The newest is first.',
    status: { running: 'Running', done: 'Done', stopped: 'Stopped' },
    counts: {
        ok: (/** @type {number} */ n) => `${n} ok`,
        failed: (/** @type {number} */ n) => `${n} failed`,
        stopped: (/** @type {number} */ n) => `${n} stopped`,
        running: (/** @type {number} */ n) => `${n} running`,
        waiting: (/** @type {number} */ n) => `${n} waiting`,
        skipped: (/** @type {number} */ n) => `${n} not run`,
    },
    left: (/** @type {string} */ time) => `about ${time} left`,
    took: (/** @type {string} */ time) => `took ${time}`,
    progress: 'Progress',
    said: (/** @type {number} */ ended, /** @type {number} */ all, /** @type {string} */ best) =>
        `${ended} of ${all} rows have ended${best && `, ${best}`}.`,
    ended: (/** @type {string} */ how, /** @type {string} */ counts) => `The sweep is ${how}: ${counts}.`,
    bestIs: (/** @type {string} */ metric) => `best ${metric}`,
    stop: 'Stop',
    collapse: 'Keep one row…',
    remove: 'Delete…',
    csv: 'Download CSV',
    markdown: 'Copy as Markdown',
    columns: 'Columns',
    columnsTitle: 'Columns shown',
    copied: 'Copied the table as Markdown.',
    copyTitle: 'The table as Markdown',
    close: 'Close',
    // Columns
    row: 'Row',
    metric: 'Metric',
    difference: 'Vs. best',
    statusName: 'Status',
    rung: 'Continued',
    time: 'Time',
    state: 'State',
    node: 'Where',
    here: 'here',
    picture: 'Plot',
    error: 'Error',
    best: 'best',
    sortBy: (/** @type {string} */ name) => `Sort by ${name}`,
    rowStatus: {
        ok: 'ok',
        error: 'failed',
        interrupted: 'stopped',
        crashed: 'crashed',
        queued: 'queued',
        running: 'running',
        waiting: 'waiting',
        skipped: 'not run',
        deleted: 'deleted',
        imported: 'ok',
    },
    noError: 'The run failed.',
    timedOut: (/** @type {number} */ seconds) => `stopped after ${seconds} s`,
    inMemory: (/** @type {string} */ size) => `in memory, ${size}`,
    where: { memory: 'in memory', disk: 'on disk', replay: 'needs replay' },
    whereWhy: {
        memory: 'The state is in memory: the next cell runs at once.',
        disk: 'The state is saved on disk. It is loaded before the next cell runs.',
        replay: 'The state is neither in memory nor on disk. Going there offers a replay, which runs its cells again.',
    },
    keys: 'Arrow keys move, Enter goes to the row’s state, Space marks the row, Enter on a column’s name sorts.',
    // Compare
    compare: 'Compare',
    compareHint: 'Compares the states of the marked rows',
    compareNeeds: 'Mark two or more rows: with Space, their boxes, or Ctrl-click',
    mark: (/** @type {number} */ row) => `Mark row ${row + 1}`,
    cannotMark: 'A row without a state cannot be compared.',
    manyMarked: (/** @type {number} */ most) => `At most ${most} states can be compared. Mark fewer rows.`,
    goneRow: 'This row has no state any more.',
    notYet: 'This row has not run yet.',
    label: (/** @type {string} */ name) => `Rows of ${name}`,
    // Collapse
    collapseTitle: 'Keep only one row?',
    collapseKeeps: 'Row to keep',
    collapseChoice: (
        /** @type {number} */ row,
        /** @type {boolean} */ isBest,
        /** @type {string} */ values,
    ) => `Row ${row + 1}${isBest ? ', the best' : ''}: ${values}`,
    collapseWhy: (/** @type {number} */ gone, /** @type {number} */ running) =>
        `${gone === 1 ? 'The state of one other row is' : `The states of ${gone} other rows are`} deleted, except those from which somebody has continued. The results stay in the table.${
            running ? ` ${running === 1 ? 'One running row stops.' : `${running} running rows stop.`}` : ''
        } Undo, or “Deleted states…” in the menu, brings the states back.`,
    collapseRow: (/** @type {number} */ row) => `Keep row ${row + 1}`,
    collapsed: (/** @type {number} */ gone, /** @type {number} */ continued) =>
        `Deleted the ${gone === 1 ? 'state of 1 row' : `states of ${gone} rows`}.${continued ? ` ${continued} stay, because somebody has continued from them.` : ''}`,
    undo: 'Undo',
    undone: 'The states are back.',
    nothingToKeep: 'No row has a state that could be kept.',
    removeTitle: (/** @type {string} */ name) => `Delete ${name}?`,
    removeWhy:
        'The table and the states of its rows are deleted, except states from which somebody has continued. “Deleted states…” in the menu brings the states back.',
    removeDo: 'Delete the sweep',
    // The plot
    plot: 'Plot',
    plotOf: (/** @type {string} */ metric, /** @type {string} */ name) => `${metric} by ${name}`,
    against: 'Against',
    point: (/** @type {number} */ row, /** @type {string} */ x, /** @type {string} */ y) =>
        `Row ${row + 1}: ${x}, metric ${y}`,
    noMetric: 'No row has a metric.',
    noPoints: 'The plot appears with the first metric.',
    plotHint: 'The table has the same numbers.',
});

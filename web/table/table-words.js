// @ts-check
// Texts of the grid that shows a data frame, or a file of values.

/** @param {number} n */
const number = (n) => n.toLocaleString('en');
/** @param {number} n @param {string} one @param {string} many */
const count = (n, one, many) => `${number(n)} ${n === 1 ? one : many}`;

export const TABLE_WORDS = Object.freeze({
    after: (/** @type {number} */ n) => (n === 0 ? 'at the start' : `after cell ${n}`),
    // The state
    onDisk: 'This state is on disk. Load it to see the table.',
    load: 'Load the state',
    loading: 'Loading…',
    needsReplay: 'This state is not in memory and cannot be loaded from disk.',
    replay: 'Replay its cells…',
    replaying: (/** @type {{done: number, total: number}} */ { done, total }) =>
        total ? `Replaying cell ${Math.min(done + 1, total)} of ${total}…` : 'Replaying…',
    gone: 'This state was deleted. Its variables are gone.',
    retry: 'Retry',
    ask: 'Open as grid',
    askWhy: 'The name of a DataFrame or a Series in this state, such as df or frames["a"].',
    open: 'Open',
    // Counts
    rows: (/** @type {number} */ matching, /** @type {number} */ total) =>
        matching === total
            ? count(total, 'row', 'rows')
            : `${number(matching)} of ${count(total, 'row', 'rows')}`,
    columns: (/** @type {number} */ shown, /** @type {number} */ more) =>
        more
            ? `the first ${number(shown)} of ${number(shown + more)} columns`
            : count(shown, 'column', 'columns'),
    noMatch: 'No row matches the filters.',
    noRows: 'No rows.',
    // Headers
    sort: Object.freeze({
        none: 'not sorted',
        ascending: 'sorted ascending',
        descending: 'sorted descending',
    }),
    sortBy: (/** @type {string} */ name) => `Sort by ${name}`,
    width: (/** @type {string} */ name) => `Width of ${name}`,
    index: 'index',
    missing: 'missing',
    summary: (/** @type {{low: string, high: string, missing: number}} */ { low, high, missing }) =>
        `from ${low} to ${high}${missing ? `, ${number(missing)} missing` : ''}`,
    distinct: (/** @type {number} */ n, /** @type {boolean} */ isAtLeast) =>
        isAtLeast ? `${number(n)}+ values` : count(n, 'value', 'values'),
    missingCount: (/** @type {number} */ n) => `${number(n)} missing`,
    sampled: (/** @type {number} */ n) => `Column summaries cover a sample of ${number(n)} rows.`,
    keys: 'Enter sorts · F filters · Shift-← and Shift-→ change the width',
    // The columns of a file
    dtype: Object.freeze({ number: 'number', text: 'text' }),
    unnamed: (/** @type {number} */ n) => `Column ${n}`,
    notANumber: (/** @type {string} */ column, /** @type {string} */ value) => ({
        what: 'show a table',
        why: `the column ${column} is compared with “${value}”, which is not a number`,
        how: 'compare it with a number, or search for a text',
    }),
    // Filters
    filter: 'Filter',
    filterColumn: (/** @type {string} */ name) => `Filter ${name}`,
    column: 'Column',
    condition: 'Condition',
    value: 'Value',
    valueHint: Object.freeze({
        number: 'e.g. 12.5',
        time: 'e.g. 2024-01-31',
        bool: 'True or False',
        text: 'any text',
    }),
    apply: 'Apply',
    cancel: 'Cancel',
    removeFilter: (/** @type {string} */ what) => `Remove the filter ${what}`,
    editFilter: (/** @type {string} */ what) => `Edit the filter ${what}`,
    removeAll: 'Remove all filters',
    is: Object.freeze({
        contains: 'contains',
        equal: 'is equal to',
        unequal: 'is not equal to',
        less: 'is less than',
        at_most: 'is at most',
        greater: 'is greater than',
        at_least: 'is at least',
        missing: 'is missing',
        present: 'is not missing',
    }),
    sign: Object.freeze({
        contains: 'contains',
        equal: '=',
        unequal: '≠',
        less: '<',
        at_most: '≤',
        greater: '>',
        at_least: '≥',
        missing: 'is missing',
        present: 'is not missing',
    }),
    // Copy and download
    copy: 'Copy',
    selected: (/** @type {number} */ rows, /** @type {number} */ columns) =>
        `${count(rows, 'row', 'rows')} × ${count(columns, 'column', 'columns')} selected`,
    copying: 'Copying…',
    copied: (/** @type {number} */ rows, /** @type {number} */ columns) =>
        rows === 1 && columns === 1
            ? 'Copied the value.'
            : `Copied ${count(rows, 'row', 'rows')} × ${count(columns, 'column', 'columns')}.`,
    copyTitle: 'Copy this selection',
    tooManyToCopy: (/** @type {number} */ most) =>
        `The selection has more than ${number(most)} rows. Select fewer rows, or download CSV.`,
    copyCsv: 'Copy as CSV',
    copiedCsv: (/** @type {number} */ rows) => `Copied ${count(rows, 'row', 'rows')} as CSV.`,
    copiedCsvPart: (/** @type {number} */ rows, /** @type {number} */ all, /** @type {number} */ most) =>
        `Copied the first ${number(rows)} of ${number(all)} rows as CSV. ` +
        `Copying ends at ${number(most)} rows or 10 MB; Download CSV has no limit.`,
    copyCsvTitle: 'Copy these rows',
    download: 'Download CSV',
    reading: (/** @type {number} */ done, /** @type {number} */ all) =>
        `Reading rows: ${number(done)} of ${number(all)}`,
    downloaded: (/** @type {number} */ rows) => `Downloaded ${count(rows, 'row', 'rows')}.`,
    close: 'Close',
});

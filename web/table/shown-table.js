// @ts-check
// Which data frame an output shows. Pure.
//
// The kernel adds nothing to outputs for this. Python keeps the result of a cell as `Out[n]`, in
// the state and in its checkpoint: exactly the object that is shown, also if it has no name, as in
// `df.head()`. `display(df)` keeps nothing, so its name comes from the code.

/** @typedef {import('../shell/model.js').Item} Item */
/** @typedef {import('../shell/model.js').Run} Run */
/** @typedef {{state: string, expression: string, title: string}} ShownTable */

/** A call `display(df)` on a line of its own. */
const DISPLAY = /^display\(\s*([\p{L}_][\p{L}\p{N}_]*)\s*\)\s*;?\s*(?:#.*)?$/gmu;

/**
 * The data frame that an output shows; null if it shows none, or if it cannot be told which.
 * @param {Run} run
 * @param {Item} item
 * @returns {ShownTable | null}
 */
export function shownTable(run, item) {
    const { state, code } = run;
    if (!state || !isTable(item)) return null;
    if (item.output_type === 'execute_result')
        return { state, expression: `Out[${item.execution_count}]`, title: lastLine(code) };
    const names = [...code.matchAll(DISPLAY)].map(([, name]) => name ?? '');
    const shown = run.outputs.filter((one) => one.output_type === 'display_data');
    const name = names[shown.indexOf(/** @type {any} */ (item))];
    // With other calls of `display`, or with loops, the calls and the outputs do not correspond.
    return name && names.length === shown.length ? { state, expression: name, title: name } : null;
}

/**
 * Whether an output is the text of a DataFrame or a Series of pandas or polars.
 * @param {Item} item
 */
function isTable(item) {
    if (item.output_type !== 'execute_result' && item.output_type !== 'display_data') return false;
    const [html, text] = [asText(item.data['text/html']), asText(item.data['text/plain'])];
    // pandas and polars write the class; pandas' Styler writes the id.
    if (html) return /<table\b[^>]*(?:\bdataframe\b|id="T_)/.test(html);
    return /(?:^|\n|, )dtype: [^\n]+(?:\nCategories \([\s\S]*)?$/.test(text) && text.includes('\n');
}

/** @param {unknown} value */
const asText = (value) => (Array.isArray(value) ? value.join('') : typeof value === 'string' ? value : '');

/** The first line of the last statement. @param {string} code */
const lastLine = (code) =>
    code
        .split('\n')
        .findLast((line) => /^[^\s#)\]}]/.test(line))
        ?.trim()
        .slice(0, 80) ?? '';

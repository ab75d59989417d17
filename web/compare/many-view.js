// @ts-check
// The comparison of three or more states: one column for each, which scroll sideways together.
// Within a row, what equals an earlier column only names that column.

import { canRun } from '../shell/protocol.js';
import { html } from '../vendor/preact.js';
import { letterOf } from './compare-command-words.js';
import { COMPARE_WORDS as SAY } from './compare-words.js';
import { whyNoVariables } from './compared-state.js';
import { codeRows, outputRows, variableRows } from './many-differences.js';
import { EqualScale } from './outputs-side-by-side.js';
import { Outputs } from '../outputs/outputs.js';
import { fullName } from '../graph/node-names.js';
import { Folded } from './variable-differences.js';

/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {import('../shell/protocol.js').State} State */
/** @typedef {import('../shell/protocol.js').Variable} Variable */

/**
 * The sections for code, variables and outputs.
 * @param {Page} page
 * @param {import('../cell/cell-controller.js').CellController} controller
 * @param {State[]} states
 * @param {(Variable[] | string | null | undefined)[]} known the variables of each state
 */
export function manySections(page, controller, states, known) {
    const code = codeRows(page.model, states);
    return [
        html`<${ManyCode} key="code" page=${page} states=${states} code=${code} />`,
        html`<${ManyVariables} key="variables" page=${page} states=${states} known=${known} />`,
        html`<${ManyOutputs} key="outputs" page=${page} controller=${controller} states=${states}
            rows=${outputRows(page.model, states, code.rows)} />`,
    ];
}

/**
 * A cell of a row: the letter of its state, and its content.
 * @param {{page: Page, state: State, at: number, title?: any, children?: any}} props
 */
const Column = ({ page, state, at, title, children }) => html`
    <div class="many-cell" data-branch=${page.branches.colourOf(page.model, state.id)} role="group"
        aria-label=${SAY.stateName(letterOf(at))}>
        <div class="many-head"><span class="letter" aria-hidden="true">${letterOf(at)}</span>${title}</div>
        ${children}</div>`;

/** @param {number} same */
const sameAs = (same) =>
    html`<p class="hint"><span aria-hidden="true">= </span>${SAY.sameAs(letterOf(same))}</p>`;

/** @param {{page: Page, states: State[], code: ReturnType<typeof codeRows>}} props */
function ManyCode({ page, states, code: { ancestor, shared, rows } }) {
    const differing = rows.filter(({ isEqual }) => !isEqual);
    const equal = rows.length - differing.length;
    return html`<section>
        <h3>${SAY.code}</h3>
        <p class="hint">${ancestor && SAY.sharedByAll(shared, fullName(page.nameOf(ancestor.id)))} ${
            equal > 0 && `${SAY.equalCells(equal)}.`
        } ${differing.length === 0 && SAY.sameLine}</p>
        ${differing.map(
            ({ cells }) =>
                html`<div class="many compare-cell">${cells.map((cell, at) => {
                    const state = states[at];
                    if (!state) return null;
                    const title = cell && html`<span class="hint">${SAY.cell(cell.state.exec_count)}</span>`;
                    return html`<${Column} page=${page} state=${state} at=${at} title=${title}>${
                        !cell
                            ? html`<p class="hint">${SAY.noCell}</p>`
                            : cell.same !== null
                              ? sameAs(cell.same)
                              : html`<pre class="many-code" tabindex="0">${cell.lines.map(
                                    ({ text, isOther }) =>
                                        html`<span data-sign=${isOther ? '+' : null}>${
                                            isOther &&
                                            html`<span class="visually-hidden">${SAY.sign['~']}: </span>`
                                        }${text}${'\n'}</span>`,
                                )}</pre>`
                    }<//>`;
                })}</div>`,
        )}
    </section>`;
}

/** @typedef {Variable[] | string | null | undefined} Known the variables, or an error text */

/** @param {{page: Page, states: State[], known: Known[]}} props */
function ManyVariables({ page, states, known }) {
    const lists = known.map((one, i) =>
        Array.isArray(one) && canRun(states[i]?.living ?? 'deleted') ? one : null,
    );
    const found = variableRows(lists);
    const obstacles = states.map((state, at) => whyNoVariables(page, letterOf(at), state, known[at]));
    return html`<section>
        <h3>${SAY.variables}</h3>
        ${obstacles.some(Boolean) && html`<div role="status">${obstacles}</div>`}
        ${
            lists.filter(Boolean).length > 1 &&
            html`<p class="hint">${SAY.differing(found.rows.length)}</p>
            ${found.rows.map(
                ({ name, values }) => html`<div class="compare-value" key=${name}>
                <h4><code>${name}</code></h4>
                <div class="many">${values.map((value, at) => {
                    const state = states[at];
                    return (
                        state &&
                        html`<${Column} page=${page} state=${state} at=${at}
                        title=${value && html`<span class="type">${typeOf(value.variable)}</span>`}>
                        ${manyValue(value, lists[at] !== null)}<//>`
                    );
                })}</div></div>`,
            )}
            <${Folded} title=${SAY.imports(found.imports.length)} names=${found.imports} />
            <${Folded} title=${SAY.equal(found.equal.length)} names=${found.equal} />
            <${Folded} title=${SAY.alike(found.alike.length)} hint=${SAY.alikeHint} names=${found.alike} />`
        }
    </section>`;
}

/** @param {Variable} variable */
const typeOf = ({ type, size }) => [type, size].filter(Boolean).join(' ');

/** @param {import('./many-differences.js').Value | null} value @param {boolean} isKnown */
function manyValue(value, isKnown) {
    if (!isKnown) return html`<p class="hint">${SAY.unknown}</p>`;
    if (!value) return html`<p class="hint">${SAY.noVariable}</p>`;
    if (value.same !== null) return sameAs(value.same);
    if (value.isNumber)
        return html`<p class="from-to"><code>${value.text}</code> <b>${value.difference}</b></p>`;
    if (value.facts.length)
        return html`<dl class="many-facts">${value.facts.map(
            ([what, text]) => html`<dt>${SAY.fact[what]}</dt><dd>${text}</dd>`,
        )}</dl>`;
    return html`<pre class="preview" tabindex="0">${value.text}</pre>`;
}

/**
 * @param {{page: Page, controller: import('../cell/cell-controller.js').CellController,
 *   states: State[], rows: import('./many-differences.js').OutputRow[]}} props
 */
function ManyOutputs({ page, controller, states, rows }) {
    return html`<section>
        <h3>${SAY.outputs}</h3>
        ${rows.map((row) => {
            const cells = row.states.map((state) => (state ? SAY.cell(state.exec_count) : '–'));
            const title = row.isTip ? SAY.tips : [...new Set(cells)].join(' · ');
            return html`<div class="compare-output" key=${row.states.map((state) => state?.id).join(' ')}>
                <h4>${title}</h4>
                <${EqualScale} class="many">${row.runs.map((run, at) => {
                    const state = states[at];
                    const same = row.same[at];
                    return (
                        state &&
                        html`<${Column} page=${page} state=${state} at=${at}>${
                            same != null
                                ? sameAs(same)
                                : run?.outputs.length || run?.error
                                  ? html`<${Outputs} key=${run.exec_id} run=${run} rev=${run.rev}
                                    controller=${controller} mayRun=${false} isCopy />`
                                  : html`<p class="hint">${row.states[at] ? SAY.noOutput : SAY.noCell}</p>`
                        }<//>`
                    );
                })}<//>
            </div>`;
        })}
    </section>`;
}

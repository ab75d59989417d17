// @ts-check
// Shows the variables that differ between two states: one heading for each, with details below.

import { bytes } from '../text/format.js';
import { html } from '../vendor/preact.js';
import { COMPARE_WORDS as SAY } from './compare-words.js';
import { TAKE_WORDS } from '../take/take-words.js';
import { Diff, Sign } from './diff-view.js';

/** @typedef {import('./differences.js').Fact} Fact */
/** @typedef {import('./differences.js').Detail} Detail */
/** @typedef {import('../shell/protocol.js').Variable} Variable */

/**
 * @param {{found: import('./differences.js').Variables,
 *   take: ((name: string | null) => void) | null}} props `take` takes a variable of B into A, or
 *   all that B has changed; null if the user may not
 */
export function ComparedVariables({ found, take }) {
    const { added, removed, changed, equal, alike, imports } = found;
    return html`
        <p class="hint">
            ${SAY.tally({ changed: changed.length, added: added.length, removed: removed.length })}${
                take &&
                changed.length + added.length > 0 &&
                html` <button class="text-button" title=${TAKE_WORDS.allHint} onClick=${() => take(null)}>
                    ${TAKE_WORDS.all}</button>`
            }</p>
        ${changed.map(
            (one) => html`
            <div class="compare-value" key=${one.name}>
                <h4><${Sign} sign="~" /> <code>
                    ${one.name}</code> <${Types} before=${one.before} after=${one.after} />
                    <${Take} name=${one.name} take=${take} /></h4>
                <${Difference} name=${one.name} before=${one.before} after=${one.after}
                    detail=${one.detail} />
            </div>`,
        )}
        ${removed.map((one) => html`<${Only} key=${one.name} sign="-" variable=${one} />`)}
        ${added.map((one) => html`<${Only} key=${one.name} sign="+" variable=${one} take=${take} />`)}
        <${Folded} title=${SAY.imports(imports.length)} names=${imports} />
        <${Folded} title=${SAY.equal(equal.length)} names=${equal} />
        <${Folded} title=${SAY.alike(alike.length)} hint=${SAY.alikeHint} names=${alike} />`;
}

/** @param {{before: Variable, after: Variable}} props */
function Types({ before, after }) {
    const told = (/** @type {Variable} */ { type, size }) => [type, size].filter(Boolean).join(' ');
    const [from, to] = [told(before), told(after)];
    return html`<span class="type">
        ${
            from === to
                ? to
                : html`${from} <span aria-hidden="true">→</span>
        <span class="visually-hidden">, then</span> ${to}`
        }</span>`;
}

/** @param {{name: string, take: ((name: string) => void) | null | undefined}} props */
const Take = ({ name, take }) =>
    take &&
    html`<button class="text-button" aria-label=${TAKE_WORDS.oneLabel(name)} title=${TAKE_WORDS.oneHint}
        onClick=${() => take(name)}>${TAKE_WORDS.one}</button>`;

/** @param {{sign: '-' | '+', variable: Variable, take?: ((name: string) => void) | null}} props */
const Only = ({ sign, variable: { name, type, size, repr }, take }) => html`
    <div class="compare-value">
        <h4><${Sign} sign=${sign} /> <code>${name}</code> <span class="type">
            ${[type, size].filter(Boolean).join(' ')}</span> <${Take} name=${name} take=${take} /></h4>
        <pre class="preview" tabindex="0">${repr}</pre>
    </div>`;

/** @param {{name: string, before: Variable, after: Variable, detail: Detail}} props */
function Difference({ name, before, after, detail }) {
    if (detail.kind === 'number')
        return html`<p class="from-to"><code>${detail.before}</code> <span aria-hidden="true">→</span>
        <span class="visually-hidden">, then</span> <code>${detail.after}</code> <b>
            ${detail.difference}</b></p>`;
    if (detail.kind === 'lines') return html`<${Diff} rows=${detail.rows} label=${name} isBare />`;
    if (detail.kind === 'frame') return html`<${Frame} name=${name} detail=${detail} />`;
    const isQuiet = !detail.facts.some(({ differs, what }) => differs && what !== 'bytes');
    return html`<${Facts} name=${name} facts=${detail.facts} />
    ${
        isQuiet &&
        html`<p class="hint">${SAY.insideDiffers}</p>
    <${Previews} before=${before} after=${after} />`
    }`;
}

/** @param {{before: Variable, after: Variable}} props */
const Previews = ({ before, after }) => html`<div class="side-by-side">
    ${
        /** @type {const} */ (['a', 'b']).map(
            (side) => html`<div class="side-by-side-column" data-side=${side}
        role="group" aria-label=${SAY.sideName[side]}><span class="letter" aria-hidden="true">
            ${SAY.side[side]}</span><pre class="preview" tabindex="0">
                ${(side === 'a' ? before : after).repr}</pre></div>`,
        )
    }
</div>`;

/**
 * A table of facts about a variable, such as shape and dtype, with one column for each state.
 * @param {{name: string, facts: Fact[]}} props
 */
const Facts = ({ name, facts }) => html`
    <div class="facts" role="region" aria-label=${name} tabindex="0"><table>
        <thead><tr><th scope="col">${SAY.what}</th><th scope="col">A</th><th scope="col">B</th>
        <th scope="col">${SAY.difference}</th></tr></thead>
        <tbody>${facts.map(
            (fact) => html`<tr data-differs=${fact.differs ? '' : null}><th scope="row">
            ${SAY.fact[fact.what]}</th><td>${told(fact, fact.before)}</td><td>${told(fact, fact.after)}</td>
            <td>${fact.difference}</td></tr>`,
        )}</tbody>
    </table></div>`;

/** @param {Fact} fact @param {string} text */
function told({ what }, text) {
    if (text === '') return '–';
    return what === 'bytes' ? bytes(Number(text)) : text;
}

/** @param {{name: string, detail: Extract<Detail, {kind: 'frame'}>}} props */
function Frame({ name, detail: { facts, columns, equal, unknown, more, elsewhere } }) {
    const cell = (/** @type {Fact | undefined} */ fact, /** @type {'-' | '+' | '~'} */ sign) => {
        if (!fact) return html`<td></td>`;
        if (sign !== '~' || !fact.differs)
            return html`<td>${told(fact, sign === '-' ? fact.before : fact.after)}</td>`;
        return html`<td data-differs>${told(fact, fact.before)} <span aria-hidden="true">→</span>
        <span class="visually-hidden">, then</span> ${told(fact, fact.after)}</td>`;
    };
    const kinds = /** @type {const} */ (['dtype', 'min', 'max', 'mean', 'nulls']).filter((what) =>
        columns.some((column) => column.facts.some((fact) => fact.what === what)),
    );
    return html`
        <${Facts} name=${name} facts=${facts} />
        ${
            columns.length > 0 &&
            html`<div class="facts" role="region" aria-label=${`${name}, ${SAY.fact.columns}`} tabindex="0">
                <table>
            <thead><tr><th scope="col">${SAY.column}</th><th scope="col">${SAY.change}</th>
            ${kinds.map((what) => html`<th scope="col">${SAY.fact[what]}</th>`)}</tr></thead>
            <tbody>${columns.map(
                (column) => html`<tr>
                <th scope="row"><code>${column.name}</code></th><td><${Sign} sign=${column.sign} /></td>
                ${kinds.map((what) =>
                    cell(
                        column.facts.find((fact) => fact.what === what),
                        column.sign,
                    ),
                )}
            </tr>`,
            )}</tbody>
        </table></div>`
        }
        <p class="hint">
            ${[
                equal > 0 && `${SAY.equalColumns(equal)}.`,
                unknown.length > 0 && SAY.notCompared(unknown),
                more > 0 && SAY.moreColumns(more),
                elsewhere && SAY.elsewhere[elsewhere],
            ]
                .filter(Boolean)
                .join(' ')}</p>`;
}

/** @param {{title: string, hint?: string, names: string[]}} props */
export const Folded = ({ title, hint, names }) =>
    names.length > 0 &&
    html`
    <details class="equal"><summary>${title}</summary>${hint && html`<p class="hint">${hint}</p>`}
    <p class="names">${names.map((name) => html`<code>${name}</code> `)}</p></details>`;

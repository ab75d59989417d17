// @ts-check
// A diff of lines. Each changed line has a sign, and for screen readers a word. Long sequences of
// equal lines are folded.

import { fold } from '../text/diff.js';
import { Component, html } from '../vendor/preact.js';
import { COMPARE_WORDS as SAY } from './compare-words.js';

/** @typedef {import('../text/diff.js').Row} Row */

/** The character shown before a line, by the sign of its row. */
const SIGNS = Object.freeze({ '=': ' ', '-': '−', '+': '+' });

/**
 * `isBare`: without line numbers. `open`: the unfolded sequences, by index.
 * @extends {Component<{rows: Row[], label: string, isBare?: boolean}, {open: number[]}>}
 */
export class Diff extends Component {
    state = { open: /** @type {number[]} */ ([]) };

    /**
     * @param {{rows: Row[], label: string, isBare?: boolean}} props
     * @param {{open: number[]}} state
     */
    render({ rows, label, isBare }, { open }) {
        const parts = fold(rows);
        const toggle = (/** @type {number} */ i) => () => this.setState({ open: [...open, i] });
        return html`
            <div class="diff" data-bare=${isBare ? '' : null} role="region" aria-label=${label} tabindex="0">
                <div class="diff-lines">
                ${parts.map((part, i) => {
                    if (!('folded' in part)) return line(part);
                    if (open.includes(i)) return part.folded.map(line);
                    return html`<button class="diff-fold" onClick=${toggle(i)}>
                        ${SAY.equalLines(part.folded.length)}</button>`;
                })}
                </div>
            </div>`;
    }
}

/** @param {Row} row */
const line = ({ sign, a, b, parts }) => html`
    <div class="diff-line" data-sign=${sign}>
        <span class="nr" aria-hidden="true">${a}</span><span class="nr" aria-hidden="true">${b}</span>
        <span class="sign">${sign !== '=' && html`<span class="visually-hidden">${SAY.sign[sign]}: </span>`}
        <span aria-hidden="true">${SIGNS[sign]}</span></span>
        <code>${parts.map(({ text, isMarked }) =>
            isMarked
                ? sign === '-'
                    ? html`<del>
            ${text}</del>`
                    : html`<ins>${text}</ins>`
                : text,
        )}${'\n'}</code>
    </div>`;

/** A sign and its meaning. @param {{sign: '-' | '+' | '~' | '='}} props */
export const Sign = ({ sign }) =>
    html`<span class="mark-sign" data-sign=${sign}><span aria-hidden="true">
        ${sign === '-' ? '−' : sign}</span> ${SAY.sign[sign]}</span>`;

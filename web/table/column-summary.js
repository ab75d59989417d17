// @ts-check
// The summary of a column in its header: a histogram, or the most frequent values.

import { html } from '../vendor/preact.js';
import { TABLE_WORDS as SAY } from './table-words.js';

/** @typedef {import('../shell/protocol-types').ColumnSummary} Summary */

const HEIGHT = 18;
/** The most characters of a frequent value in a text. */
const LONGEST = 40;

/**
 * The summary in words, for screen readers and the tooltip.
 * @param {Summary} summary
 * @param {boolean} isSample whether it covers a sample of the rows
 */
export function summaryText(summary, isSample) {
    if ('bars' in summary) return SAY.summary(summary);
    return [
        SAY.distinct(summary.distinct, isSample),
        ...summary.frequent.map(
            ({ text, count }) => `${text.slice(0, LONGEST)}: ${count.toLocaleString('en')}`,
        ),
        ...(summary.missing ? [SAY.missingCount(summary.missing)] : []),
    ].join(', ');
}

/**
 * @param {{summary: Summary | null | undefined, rows: number, isSample: boolean}} props `rows`: how
 *   many it covers
 */
export function ColumnSummaryView({ summary, rows, isSample }) {
    if (!summary) return html`<div class="grid-summary"></div>`;
    const missing =
        summary.missing > 0 && html`<span class="grid-missing">${SAY.missingCount(summary.missing)}</span>`;
    if ('bars' in summary) {
        const most = Math.max(1, ...summary.bars);
        return html`<div class="grid-summary" aria-hidden="true">
            <svg class="grid-bars" viewBox=${`0 0 ${summary.bars.length} ${HEIGHT}`} preserveAspectRatio="none">
                ${summary.bars.map((count, i) => {
                    // A bar of few values is still visible.
                    const height = count && Math.max(1, (count / most) * HEIGHT);
                    return html`<rect x=${i + 0.1} width="0.8" y=${HEIGHT - height} height=${height} />`;
                })}</svg>
            <div class="grid-range"><span>${summary.low}</span>${missing}<span>${summary.high}</span></div>
        </div>`;
    }
    return html`<div class="grid-summary" aria-hidden="true">
        ${summary.frequent.slice(0, 2).map(
            ({ text, count }) => html`<div class="grid-frequent">
            <i style=${`width:${Math.min(100, (100 * count) / Math.max(1, rows))}%`}></i>
            <span>${text}</span><span>${percent(count, rows)}</span></div>`,
        )}
        <div class="grid-range">${
            summary.distinct > Math.min(2, summary.frequent.length) &&
            html`<span>${SAY.distinct(summary.distinct, isSample)}</span>`
        }${missing}</div>
    </div>`;
}

/** @param {number} count @param {number} rows */
function percent(count, rows) {
    const share = (100 * count) / Math.max(1, rows);
    return share > 0 && share < 1 ? '<1%' : `${Math.round(share)}%`;
}

// @ts-check
// The mark of a node. Its shape shows status and residency: filled for in memory, hollow for on
// disk, dashed for needs replay; an arc shows the progress of saving or replaying.

import { residencyMark } from '../checkpoints/residency.js';
import { html } from '../vendor/preact.js';
import { spot } from './geometry.js';

/** @typedef {import('./scene.js').Row} Row */
/** @typedef {typeof import('../shell/words.js').WORDS['nodeStatus']} Statuses */

/** @param {Row['node']} node @returns {keyof Statuses} */
export function statusOf({ state, run }) {
    if (state?.living === 'replay' || state?.living === 'deleted') return state.living;
    if (state?.partial) return 'partial';
    return state ? 'ok' : (run?.status ?? 'ok');
}

/**
 * @param {{row: Row, progress: import('../checkpoints/residency.js').Progress | undefined,
 *   isHere: boolean, isOnLine: boolean, isNew: boolean}} props
 */
export function Mark({ row, progress, isHere, isOnLine, isNew }) {
    const { x, y } = spot(row.place);
    const style = { transform: `translate(${x}px, ${y}px)` };
    if (row.fold)
        return html`<g class="mark" data-fold data-line=${isOnLine ? '' : null} style=${style}>
            <rect class="ground" x="-4" y="-9" width="8" height="18" />
            <path class="dots" d="M0 -5v.01M0 0v.01M0 5v.01" /></g>`;
    const { state, parent } = row.node;
    const status = statusOf(row.node);
    const cross = status === 'error' || status === 'crashed' || status === 'interrupted';
    const saving = state?.saving;
    const sign = state && residencyMark(state);
    const arc = progress
        ? progress.done / progress.total
        : saving?.now === 'writing'
          ? saving.percent / 100
          : null;
    const size = parent === null ? 5.5 : status === 'running' ? 3 : 4.5;
    return html`
        <g class="mark" data-status=${status} data-living=${state?.living ?? null}
            data-here=${isHere ? '' : null} data-line=${isOnLine ? '' : null} data-new=${isNew ? '' : null}
            style=${style}>
            ${isNew && html`<circle class="pulse" r="9" />`}
            ${isHere && html`<circle class="halo" r="9" />`}
            ${
                cross
                    ? html`<circle class="ground" r="5" />
                    <path class="cross"
                        d=${
                            status === 'interrupted'
                                ? 'M-3.5 0h7'
                                : 'M-2.75 -2.75l5.5 5.5M2.75 -2.75l-5.5 5.5'
                        } />`
                    : html`<circle class="dot" r=${size} />
                    ${status === 'running' && html`<circle class="spin" r="7.5" />`}`
            }
            ${
                arc !== null &&
                html`<circle class="arc" data-late=${progress ? null : ''}
                r=${isHere ? 12 : 7.5} pathLength="100" stroke-dasharray=${`${Math.max(4, 100 * arc)} 100`}
                transform="rotate(-90)" />`
            }
            ${sign === 'partial' && html`<circle class="speck" cx="5" cy="5" r="2.75" />`}
            ${
                sign === 'failed' &&
                html`<path class="alarm" d="M0 -8v4.5M0 -0.5v.01"
                transform=${`translate(${isHere ? 13 : 8} 0)`} />`
            }
        </g>`;
}

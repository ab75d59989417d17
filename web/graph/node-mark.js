// @ts-check
// The mark of a node in the graph. The shape shows the status and the residency: a filled circle is
// in memory, a hollow circle is on disk, and a dashed circle needs a replay. An arc shows the
// progress of a save or a replay. Two squares are the rows of a sweep.

import { residencyMark } from '../checkpoints/residency.js';
import { Component, html } from '../vendor/preact.js';
import { laneX, rowY } from './geometry.js';

/** @typedef {import('./scene.js').Row} Row */
/** @typedef {typeof import('../shell/words.js').WORDS['nodeStatus']} Statuses */

/** @param {Row['node']} node @returns {keyof Statuses} */
export function statusOf({ state, run, sweep }) {
    if (sweep) return sweep.status === 'running' ? 'running' : 'ok';
    if (state?.living === 'replay' || state?.living === 'deleted') return state.living;
    if (state?.partial) return 'partial';
    return state ? 'ok' : (run?.status ?? 'ok');
}

/**
 * @typedef {{row: Row, progress: import('../checkpoints/residency.js').Progress | undefined,
 *   isHere: boolean, isOnLine: boolean, isNew: boolean, stamp: string | undefined}} MarkProps
 *   `stamp`: see graph-row.js
 */

/** @extends {Component<MarkProps, {}>} */
export class Mark extends Component {
    /** @param {MarkProps} next */
    shouldComponentUpdate({ stamp, isNew }) {
        return stamp !== this.props.stamp || isNew !== this.props.isNew;
    }

    render() {
        const { row, progress, isHere, isOnLine, isNew } = this.props;
        const { lane, row: at, colour } = row.place;
        const style = { transform: `translate(${laneX(lane)}px, ${rowY(at)}px)` };
        if (row.fold)
            return html`<g class="mark" data-fold data-branch=${colour} data-line=${isOnLine ? '' : null}
                style=${style}>
                <rect class="ground" x="-4" y="-9" width="8" height="18" />
                <path class="dots" d="M0 -5v.01M0 0v.01M0 5v.01" /></g>`;
        if (row.node.sweep)
            return html`<g class="mark" data-sweep data-branch=${colour}
                data-here=${isHere ? '' : null} data-line=${isOnLine ? '' : null} style=${style}>
                <rect class="dot" x="-2.5" y="-6" width="8" height="8" rx="2" />
                <rect class="dot" x="-5.5" y="-2.5" width="8" height="8" rx="2" /></g>`;
        const { state, from } = row.node;
        const status = statusOf(row.node);
        const cross = status === 'error' || status === 'crashed' || status === 'interrupted';
        const saving = state?.saving;
        const sign = state && residencyMark(state);
        const arc = progress
            ? progress.done / progress.total
            : saving?.now === 'writing'
              ? saving.percent / 100
              : null;
        const size = from < 0 ? 5.5 : status === 'running' ? 3 : 4.5;
        return html`
            <g class="mark" data-status=${status} data-living=${state?.living ?? null}
                data-branch=${colour} data-here=${isHere ? '' : null} data-line=${isOnLine ? '' : null} data-new=${isNew ? '' : null}
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
}

// @ts-check
// One row of the graph: the name of a state and its most important facts.

import { isInMemory, residencyText, residencyMark } from '../checkpoints/residency.js';
import { bytes, duration } from '../text/format.js';
import { Component, html } from '../vendor/preact.js';
import { WORDS } from '../shell/words.js';
import { GRAPH_WORDS } from './graph-words.js';
import { PinIcon, WarningIcon } from '../ui/icons.js';
import { statusOf } from './node-mark.js';
import { ROW } from './geometry.js';
import { Thumb } from './thumbnails.js';

/** The least time (milliseconds) and memory (bytes) that a row shows. */
const LONG_MS = 1000;
const LARGE = 100_000_000;
/** The most people shown by initials. */
const SHOWN = 3;

/**
 * @typedef {object} RowProps
 * @property {import('./scene.js').Row} row
 * @property {import('../shell/model.js').Model} model
 * @property {string} stamp changes whenever the row must be rendered again
 * @property {number} count the number of rows
 * @property {number} left the left edge of the text, in px
 * @property {boolean} isHere
 * @property {boolean} isOnLine
 * @property {boolean} isCursor
 * @property {boolean} isGoing
 * @property {boolean} isCompared
 * @property {boolean} isDim a search is active, and this row does not match
 * @property {string | null} changes the searched variable, if this cell added or changed it
 * @property {import('./row-annotations.js').Other[]} people
 */

/** @param {string} id */
export const rowId = (id) => `node-${id.replaceAll(/\s/g, '-')}`;

/** @param {import('./scene.js').Row} row */
export const titleOf = ({ node }) => node.state?.label ?? (node.from < 0 ? WORDS.graphRoot : node.name);

/** @extends {Component<RowProps, {}>} */
export class GraphRow extends Component {
    /** @param {RowProps} next */
    shouldComponentUpdate(next) {
        return next.stamp !== this.props.stamp;
    }

    render() {
        const { row, count, left, isHere, isOnLine, isCursor, isGoing, isCompared, isDim, people } =
            this.props;
        const { node, fold, place } = row;
        return html`
            <div class="row" id=${rowId(row.id)} role="treeitem" aria-selected=${isHere ? 'true' : 'false'}
                aria-level=${node.level} aria-setsize=${count} aria-posinset=${place.row + 1}
                aria-expanded=${fold ? 'false' : null}
                aria-label=${fold ? GRAPH_WORDS.foldedLong(fold.length) : this.#said()}
                data-node=${fold ? null : node.id} data-fold=${fold ? '' : null} data-row=${place.row}
                data-status=${fold ? null : statusOf(node)} data-here=${isHere ? '' : null}
                data-line=${isOnLine ? '' : null} data-cursor=${isCursor ? '' : null}
                data-going=${isGoing ? '' : null} data-compared=${isCompared ? '' : null}
                data-dim=${isDim ? '' : null}
                style=${{ top: `${place.row * ROW}px`, paddingLeft: `${left}px` }}>
                ${
                    fold
                        ? html`<span class="what fold-name">
                    ${GRAPH_WORDS.folded(fold.length)}</span>`
                        : this.#about(people)
                }
            </div>`;
    }

    /** @param {import('./row-annotations.js').Other[]} people */
    #about(people) {
        const { row, model, changes } = this.props;
        const { node } = row;
        const waiting = this.#waiting();
        const { state, run } = node;
        const said = this.#status();
        const isNamed = Boolean(state?.label) || node.from < 0;
        return html`
            <span class="what" data-label=${isNamed ? '' : null}>
                ${
                    !isNamed && node.lead
                        ? html`<span class="lead">${node.lead}</span><span class="tail">
                    ${node.name.replace(/^… /, '')}</span>`
                        : titleOf(row)
                }</span>
            ${changes !== null && html`<span class="changes">${GRAPH_WORDS.changes(changes)}</span>`}
            ${
                people.length > 0 &&
                html`<span class="standing">
                ${people.slice(0, SHOWN).map(
                    ({ id, initials, colour }) => html`<i key=${id} class="avatar"
                    data-colour=${colour}>${initials}</i>`,
                )}${
                    people.length > SHOWN &&
                    html`<i
                        class="avatar">+${people.length - SHOWN}</i>`
                }</span>`
            }
            ${state && state.warnings.length > 0 && html`<span class="warned"><${WarningIcon} /></span>`}
            ${state?.pinned && html`<span class="pinned"><${PinIcon} /></span>`}
            ${waiting > 0 && html`<span class="cost">${GRAPH_WORDS.waiting(waiting)}</span>`}
            ${
                state?.saving.now === 'writing' &&
                !model.replays.has(node.id) &&
                html`<span class="said late">
                ${state.saving.percent} %</span>`
            }
            ${!said && costsOf(node).map((cost) => html`<span class="cost">${cost}</span>`)}
            ${run && state && html`<${Thumb} run=${run} />`}
            ${
                said
                    ? html`<span class="said" data-bad=${state?.saving.now === 'failed' ? '' : null}>
                ${said}</span>`
                    : html`<span class="number">${state?.exec_count || ''}</span>`
            }`;
    }

    /** The number of drafts at a state that is not the current one. */
    #waiting() {
        const { row, model, isHere } = this.props;
        return row.node.state && !isHere ? model.waitingAt(row.node.state.id) : 0;
    }

    #status() {
        const { row, model, isGoing } = this.props;
        const { state } = row.node;
        const progress = model.replays.get(row.node.id);
        if (isGoing) return GRAPH_WORDS.going;
        if (progress) return WORDS.replaying(progress.done, progress.total);
        return state?.saving.now === 'failed' ? WORDS.notSaved : WORDS.nodeStatus[statusOf(row.node)];
    }

    /** The accessible description. */
    #said() {
        const { row, model, isHere, isCompared, people, changes } = this.props;
        const { state } = row.node;
        const where = state
            ? residencyText(
                  state,
                  model.replays.get(row.node.id),
                  model.trouble !== null && model.unsaved.has(state.id),
              )
            : '';
        const status = this.#status();
        return [
            state?.exec_count || '',
            titleOf(row),
            state?.partial && !isPlain(state) && WORDS.nodeStatus.partial,
            state && isPlain(state) ? status : where || status,
            ...costsOf(row.node),
            this.#waiting() > 0 && GRAPH_WORDS.waiting(this.#waiting()),
            changes !== null && GRAPH_WORDS.changes(changes),
            state && state.warnings.length > 0 && GRAPH_WORDS.warned,
            people.length > 0 && GRAPH_WORDS.standsHere(people.map(({ called }) => called).join(', ')),
            isCompared && GRAPH_WORDS.compared,
            isHere && WORDS.nodeHere,
        ]
            .filter(Boolean)
            .join(', ');
    }
}

/**
 * Whether the state's residency needs no announcement.
 * @param {import('../shell/protocol.js').State} state
 */
const isPlain = (state) =>
    (state.living === 'memory' || state.living === 'freezing' || state.living === 'deleted') &&
    residencyMark(state) === null &&
    !state.pinned;

/**
 * The cost of a cell, if it is worth showing: time, memory.
 * @param {import('./nodes.js').Node} node
 * @returns {string[]}
 */
function costsOf({ state, run }) {
    if (!state) return [];
    const costs = [];
    if (run?.duration_ms != null && run.duration_ms >= LONG_MS) costs.push(duration(run.duration_ms));
    if (state.memory_bytes !== null && state.memory_bytes >= LARGE && isInMemory(state))
        costs.push(bytes(state.memory_bytes));
    return costs;
}

// @ts-check
// One row of the graph: the name of a state or attempt, and its most important facts.

import { isInMemory, residencyText, residencyMark } from '../checkpoints/residency.js';
import { bytes, duration } from '../text/format.js';
import { Component, html } from '../vendor/preact.js';
import { WORDS } from '../shell/words.js';
import { ROW_WORDS } from '../sweep/row-words.js';
import { GRAPH_WORDS } from './graph-words.js';
import { DownIcon, OnIcon, PinIcon, WarningIcon } from '../ui/icons.js';
import { statusOf } from './node-mark.js';
import { Name } from './name-view.js';
import { fullName } from './node-names.js';
import { lastValue } from '../outputs/output-text.js';
import { pictureOf } from '../outputs/mime.js';
import { ROW } from './geometry.js';
import { Thumb } from './thumbnails.js';

/** The minimum duration (milliseconds) and memory (bytes) that a row shows. */
const LONG_MS = 1000;
const LARGE = 100_000_000;
/** The maximum number of people whose initials a row shows. */
const SHOWN = 3;

/**
 * @typedef {object} RowProps
 * @property {import('./scene.js').Row} row
 * @property {import('../shell/model.js').Model} model
 * @property {string} stamp a text that changes whenever the row must be rendered again
 * @property {number} siblings the number of rows with the same nearest shown ancestor
 * @property {number} left the left edge of the text, in px
 * @property {boolean} isHere
 * @property {boolean} isOnLine
 * @property {boolean} isCursor
 * @property {string} letter of the state in the open comparison; '' if it is not compared
 * @property {boolean} isFiltered whether a search hides rows; subtrees then cannot be closed
 * @property {boolean} isDim whether a search is active and this row does not match
 * @property {string | null} changes the searched variable, if the row's cell added or changed it
 * @property {import('./row-annotations.js').Other[]} people
 */

/** @param {string} id */
export const rowId = (id) => `node-${id.replaceAll(/\s/g, '-')}`;

/** @param {import('./scene.js').Row} row */
export const titleOf = ({ node }) =>
    node.state?.label ??
    (node.from < 0 ? WORDS.graphRoot : fullName(node) || GRAPH_WORDS.cell(node.state?.exec_count ?? 0));

/** @extends {Component<RowProps, {}>} */
export class GraphRow extends Component {
    /** @param {RowProps} next */
    shouldComponentUpdate(next) {
        return next.stamp !== this.props.stamp;
    }

    render() {
        const { row, siblings, left, isHere, isOnLine, isCursor, letter, isDim, people } = this.props;
        const { node, fold, closed, place } = row;
        return html`
            <div class="row" id=${rowId(row.id)} role="treeitem" aria-selected=${isHere ? 'true' : 'false'}
                aria-level=${place.depth + 1} aria-setsize=${siblings} aria-posinset=${place.nth + 1}
                aria-expanded=${fold || closed ? 'false' : null}
                aria-label=${fold ? GRAPH_WORDS.foldedLong(fold.length) : this.#said()}
                data-node=${fold ? null : node.id} data-fold=${fold ? '' : null} data-sweep=${node.sweep && !fold ? node.sweep.id : null}
                data-closed=${closed ? '' : null} data-row=${place.row}
                data-status=${fold ? null : statusOf(node)} data-here=${isHere ? '' : null}
                data-line=${isOnLine ? '' : null} data-cursor=${isCursor ? '' : null}
                data-compared=${letter ? '' : null}
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
        const { row, model, changes, letter } = this.props;
        const { node } = row;
        if (node.sweep) return this.#sweep(node.sweep);
        const waiting = this.#waiting();
        const { state, run } = node;
        const said = this.#status();
        const mayClose = node.children.length > 0 && !this.props.isFiltered;
        const isNamed = Boolean(state?.label) || node.from < 0;
        const value = printedBy(node);
        return html`
            <span class="what" data-label=${isNamed ? '' : null}>
                ${
                    !isNamed && node.lead
                        ? html`<${Name} ...${node} />`
                        : !isNamed && node.member?.rung === 0
                          ? ROW_WORDS.brief(node.member)
                          : titleOf(row)
                }</span>
            ${value && html`<span class="printed">${value}</span>`}
            ${
                mayClose &&
                html`<button class="twist" tabindex="-1" data-closed=${row.closed ? '' : null}
                    aria-hidden="true" title=${row.closed ? GRAPH_WORDS.openBelow : GRAPH_WORDS.closeBelow}>
                    ${row.closed ? html`<${OnIcon} />${GRAPH_WORDS.closed(row.closed)}` : html`<${DownIcon} />`}
                </button>`
            }
            ${letter && html`<span class="letter" data-branch=${row.place.colour}>${letter}</span>`}
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
            ${state && model.newWarnings(state).length > 0 && html`<span class="warned"><${WarningIcon} /></span>`}
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

    /** The node of a sweep. @param {import('../sweep/sweeps.js').Sweep} sweep */
    #sweep(sweep) {
        const { row, isFiltered } = this.props;
        return html`<span class="what">${row.node.name}</span>
            ${
                !isFiltered &&
                html`<button class="twist" tabindex="-1" data-closed=${row.closed ? '' : null}
                    aria-hidden="true" title=${row.closed ? ROW_WORDS.unfold : ROW_WORDS.fold}>
                    ${row.closed ? html`<${OnIcon} />` : html`<${DownIcon} />`}</button>`
            }
            <span class="said" data-sweep title=${ROW_WORDS.counts(sweep)}>${ROW_WORDS.shortly(sweep)}</span>`;
    }

    /** The number of drafts on the row's state; 0 if the page already shows them as cells. */
    #waiting() {
        const { row, model, isHere } = this.props;
        return row.node.state && !isHere ? model.waitingAt(row.node.state.id) : 0;
    }

    #status() {
        const { row, model } = this.props;
        const { state } = row.node;
        const progress = model.replays.get(row.node.id);
        if (progress) return WORDS.replaying(progress.done, progress.total);
        return state?.saving.now === 'failed' ? WORDS.notSaved : WORDS.nodeStatus[statusOf(row.node)];
    }

    /** The row's text for screen readers. */
    #said() {
        const { row, model, isHere, letter, people, changes } = this.props;
        const { state, sweep } = row.node;
        if (sweep)
            return [
                row.node.name,
                ROW_WORDS.status[sweep.status],
                ROW_WORDS.counts(sweep),
                row.closed > 0 && ROW_WORDS.hidden,
                isHere && WORDS.nodeHere,
            ]
                .filter(Boolean)
                .join(', ');
        const where = state
            ? residencyText(
                  state,
                  model.replays.get(row.node.id),
                  model.trouble !== null && model.unsaved.has(state.id),
              )
            : '';
        const status = this.#status();
        const value = printedBy(row.node);
        return [
            state?.exec_count ? GRAPH_WORDS.cell(state.exec_count) : '',
            titleOf(row),
            value && GRAPH_WORDS.value(value),
            isBest(row.node.member) && ROW_WORDS.best,
            row.closed > 0 && GRAPH_WORDS.closedLong(row.closed),
            state?.partial && !isPlain(state) && WORDS.nodeStatus.partial,
            state && isPlain(state) ? status : where || status,
            ...costsOf(row.node),
            this.#waiting() > 0 && GRAPH_WORDS.waiting(this.#waiting()),
            changes !== null && GRAPH_WORDS.changes(changes),
            state && model.newWarnings(state).length > 0 && GRAPH_WORDS.warned,
            people.length > 0 && GRAPH_WORDS.standsHere(people.map(({ called }) => called).join(', ')),
            letter !== '' && GRAPH_WORDS.compared(letter),
            isHere && WORDS.nodeHere,
        ]
            .filter(Boolean)
            .join(', ');
    }
}

/**
 * The last line that a state's cell has printed, or its value; '' if the row shows its picture.
 * @param {import('./nodes.js').Node} node
 */
const printedBy = ({ state, run }) => (state && run && !pictureOf(run.outputs) ? lastValue(run) : '');

/** @param {import('../sweep/sweeps.js').Member | null} member */
const isBest = (member) => member?.row === member?.sweep.tally.best && member?.rung === 0;

/**
 * Whether the text for screen readers omits the state's residency, because it is the usual one.
 * @param {import('../shell/protocol.js').State} state
 */
const isPlain = (state) =>
    (state.living === 'memory' || state.living === 'freezing' || state.living === 'deleted') &&
    residencyMark(state) === null &&
    !state.pinned;

/**
 * The duration of a cell and the memory of its state, each only if it is large enough to show.
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

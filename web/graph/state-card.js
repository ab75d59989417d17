// @ts-check
// The card beside a row of the graph, with details of a state or attempt and its actions. The card
// is to the right of the graph and stays open while it contains the pointer or the focus. On narrow
// screens, the card is at the bottom.

import { partialText, residencyParts } from '../checkpoints/residency.js';
import { ago, duration } from '../text/format.js';
import { lastValue } from '../outputs/output-text.js';
import { addressOf, pictureOf } from '../outputs/mime.js';
import { Component, html } from '../vendor/preact.js';
import { WORDS } from '../shell/words.js';
import { ROW_WORDS } from '../sweep/row-words.js';
import { GRAPH_WORDS } from './graph-words.js';
import { CloseIcon, WarningIcon } from '../ui/icons.js';
import { availableActions } from '../ui/menu.js';
import { highlighted } from './code-snippet.js';
import { statusOf } from './node-mark.js';
import { titleOf } from './graph-row.js';
import { shortActionsOf } from './node-menu.js';

/** @typedef {import('./scene.js').Row} Row */
/** @typedef {import('../shell/protocol.js').Changes} Changes */
/**
 * @typedef {{row: Row, anchor: {right: number, top: number},
 *   people: import('./row-annotations.js').Other[],
 *   context: import('./node-actions.js').ActionContext,
 *   takesFocus: boolean, close: (takesFocus: boolean) => void, onIn: (event: PointerEvent) => void,
 *   onOut: (event: PointerEvent) => void}} CardProps
 */

/** The maximum number of lines of code, and of variable names for each kind of change. */
const LINES = 12;
const NAMES = 8;
/** The card's width, and the minimum gap around the card, in px. */
const WIDTH = 380;
const GAP = 6;

/** @extends {Component<CardProps, {}>} */
export class StateCard extends Component {
    /** @type {HTMLElement | null} */
    element = null;

    componentDidMount() {
        this.#stand();
        this.#focus();
        // The card's height grows when its image is loaded, so position the card again.
        this.grown = new ResizeObserver(() => this.#stand());
        if (this.element) this.grown.observe(this.element);
        document.addEventListener('pointerdown', this.elsewhere, true);
    }

    /** @param {Readonly<CardProps>} before */
    componentDidUpdate(before) {
        this.#stand();
        if (!before.takesFocus || before.row.node.id !== this.props.row.node.id) this.#focus();
    }

    /** Focuses the card's first action. */
    #focus() {
        const { element, props } = this;
        if (!props.takesFocus || !element || element.contains(document.activeElement)) return;
        /** @type {HTMLElement | null} */ (
            element.querySelector('.node-acts button') ?? element.querySelector('button')
        )?.focus();
    }

    componentWillUnmount() {
        this.grown?.disconnect();
        document.removeEventListener('pointerdown', this.elsewhere, true);
    }

    /** Closes the card if the user presses outside of it. @param {Event} event */
    elsewhere = (event) => {
        if (!this.element?.contains(/** @type {Node} */ (event.target))) this.props.close(false);
    };

    /** Positions the card beside the row and inside the window. */
    #stand() {
        const { element } = this;
        const { right, top } = this.props.anchor;
        if (!element) return;
        const isSheet = right + GAP + WIDTH + GAP > innerWidth;
        element.toggleAttribute('data-sheet', isSheet);
        element.style.left = isSheet ? '' : `${right + GAP}px`;
        element.style.top = isSheet
            ? ''
            : `${Math.max(GAP, Math.min(top - 10, innerHeight - element.offsetHeight - GAP))}px`;
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        if (event.key !== 'Escape') return;
        event.preventDefault();
        event.stopPropagation();
        this.props.close(true);
    }

    /** @param {FocusEvent} event */
    #left(event) {
        const to = /** @type {Node | null} */ (event.relatedTarget);
        if (to && !this.element?.contains(to) && !(/** @type {Element} */ (to).closest?.('dialog, .graph')))
            this.props.close(false);
    }

    /** @param {CardProps} props */
    render({ row, people, context, close, onIn, onOut }) {
        const { state, run, sweep } = row.node;
        const name = titleOf(row);
        const own = state ? context.page.model.newWarnings(state) : [];
        const above = (state?.warnings.length ?? 0) - own.length;
        const picture = run && pictureOf(run.outputs);
        const value = run ? lastValue(run) : '';
        const done = availableActions(shortActionsOf(context, row.node));
        return html`
            <div class="node-card" role="dialog" aria-label=${GRAPH_WORDS.about(name)}
                ref=${(/** @type {HTMLElement | null} */ element) => (this.element = element)}
                onPointerEnter=${onIn} onPointerLeave=${onOut}
                onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}
                onFocusOut=${(/** @type {FocusEvent} */ event) => this.#left(event)}>
                <div class="node-head">
                    <b>${
                        state?.label ??
                        (sweep
                            ? name
                            : state?.exec_count
                              ? GRAPH_WORDS.cell(state.exec_count)
                              : row.node.from < 0
                                ? name
                                : GRAPH_WORDS.attempt)
                    }</b>
                    <span data-status=${statusOf(row.node)}>${
                        sweep ? ROW_WORDS.status[sweep.status] : WORDS.nodeStatus[statusOf(row.node)]
                    }</span>
                    <span class="when">${timeOf(row.node)}</span>
                    <button class="node-close" aria-label=${GRAPH_WORDS.close} onClick=${() => close(true)}>
                        <${CloseIcon} /></button>
                </div>
                <div class="node-body">
                    ${sweep && html`<p>${ROW_WORDS.counts(sweep)}</p>`}
                    ${sweep?.note && html`<p class="soft">${WORDS.sentence(sweep.note)}</p>`}
                    ${
                        run || sweep
                            ? code(run?.code ?? sweep?.code ?? '')
                            : html`<p class="soft">${GRAPH_WORDS.noCode}</p>`
                    }
                    ${value && html`<p class="node-value">${value}</p>`}
                    ${
                        run?.error &&
                        html`<p class="bad">
                        ${run.error.ename}${run.error.evalue ? `: ${run.error.evalue}` : ''}</p>`
                    }
                    ${state?.partial && html`<p>${partialText(state, run)}</p>`}
                    ${
                        picture &&
                        html`<img class="node-picture" alt=${GRAPH_WORDS.picture}
                        src=${addressOf(picture)} />`
                    }
                    ${state?.changes && html`<${ChangesOf} changes=${state.changes} />`}
                    ${
                        state &&
                        residencyParts(state).length > 0 &&
                        html`<p class="soft">
                        ${residencyParts(state).join(' · ')}</p>`
                    }
                    ${own.map(
                        (text) => html`<p class="warning"><${WarningIcon} /><span>
                        ${text}</span></p>`,
                    )}
                    ${above > 0 && html`<p class="soft">${GRAPH_WORDS.warnedAbove(above)}</p>`}
                    ${
                        people.length > 0 &&
                        html`<p class="soft">
                        ${GRAPH_WORDS.people(people.map(({ called }) => called).join(', '))}</p>`
                    }
                </div>
                ${
                    done.length > 0 &&
                    html`<div class="node-acts">${done.map(
                        ({ text, hint, act, isBad }, i) => html`
                    <button key=${text} class="button" data-frame=${i < 2 ? '' : null}
                        data-bad=${isBad ? '' : null} title=${hint} onClick=${() => (close(true), act())}>
                        ${text}</button>`,
                    )}</div>`
                }
            </div>`;
    }
}

/** @param {string} code */
function code(code) {
    const lines = code.trimEnd().split('\n');
    const more = lines.length - LINES;
    return html`<pre class="node-code">
        ${highlighted(lines.slice(0, LINES).join('\n'))}${
            more > 0 &&
            html`<small>
            ${`\n${GRAPH_WORDS.moreLines(more)}`}</small>`
        }</pre>`;
}

/** The variables that a cell added, changed and removed. @param {{changes: Changes}} props */
function ChangesOf({ changes }) {
    const { added, changed, removed, more } = changes;
    if (added.length + changed.length + removed.length + more === 0)
        return html`<p class="soft">${GRAPH_WORDS.unchanged}</p>`;
    const list = (/** @type {string[]} */ names, /** @type {string} */ sign, /** @type {string} */ word) =>
        names.length > 0 &&
        html`
        <li data-sign=${sign}><span aria-hidden="true">${sign}</span><span class="visually-hidden">
            ${word}: </span>
            ${names.slice(0, NAMES).map((name, i) => [
                i > 0 && ', ',
                html`<code>
                ${name}</code>`,
            ])}${names.length > NAMES && ` ${GRAPH_WORDS.moreNames(names.length - NAMES)}`}</li>`;
    return html`<ul class="node-changes">
        ${list(added, '+', GRAPH_WORDS.added)}${list(changed, '~', GRAPH_WORDS.changed)}${list(
            removed,
            '−',
            GRAPH_WORDS.removed,
        )}${more > 0 && html`<li>${GRAPH_WORDS.moreNames(more)}</li>`}</ul>`;
}

/** A text that says when a cell ran and how long the run took. @param {Row['node']} node */
function timeOf({ state, run }) {
    const when = run?.started_at ?? (run ? null : (state?.created_at ?? null));
    return [run?.duration_ms != null && duration(run.duration_ms), when !== null && ago(when, Date.now())]
        .filter(Boolean)
        .join(' · ');
}

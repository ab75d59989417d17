// @ts-check
// The pane of variables of the current state: sortable, filterable, in pages, with modules folded.
// A click shows a whole value.

import { bytes } from '../text/format.js';
import { shortly } from '../text/number.js';
import { changedBy, filtered, sorted, withoutModules } from './variables.js';
import { Component, html } from '../vendor/preact.js';
import { isPicture, isTable, isTree } from './value-kind.js';
import { ValueInside } from './value-tree.js';
import { OpenAsGrid } from './open-value.js';
import { VARIABLES_WORDS as SAY } from './variables-words.js';
import { copyText } from '../ui/copy.js';
import { DownIcon, OnIcon } from '../ui/icons.js';
import { PaneEdge } from '../ui/pane-edge.js';

/** @typedef {import('../shell/protocol.js').Variable} Variable */
/** @typedef {import('../shell/protocol.js').State} State */
/** @typedef {import('./variables.js').Order} Order */
/** @typedef {import('./variables.js').Column} Column */
/** @typedef {import('../notebook/page.js').Page} Page */

/** The rows of a page; a button shows the next page below. */
const PAINTED = 300;
/** The most columns of a data frame that are listed. */
const LISTED = 100;
const COLUMNS = /** @type {Column[]} */ (['name', 'type', 'shape', 'bytes', 'cell', 'value']);

/**
 * @typedef {{open: string[], order: Order | null, text: string, most: number,
 *     showsModules: boolean}} PaneState
 */

/** @extends {Component<{page: Page, rev: number}, PaneState>} */
export class VariablesPane extends Component {
    state = {
        open: /** @type {string[]} */ ([]),
        order: /** @type {Order | null} */ (this.props.page.host.recall('variablesOrder')),
        text: '',
        most: PAINTED,
        showsModules: this.props.page.host.recall('showsModules') === true,
    };
    stamp = '';
    /** @type {any} */
    content = null;

    /** @param {string} name */
    #toggle(name) {
        const { open } = this.state;
        this.setState({
            open: open.includes(name) ? open.filter((other) => other !== name) : [...open, name],
        });
    }

    /**
     * Sorts by a column: ascending, then descending, then the original order.
     * @param {Column} by
     */
    #sort(by) {
        const { order } = this.state;
        const next = order?.by !== by ? { by, isDown: false } : order.isDown ? null : { by, isDown: true };
        this.props.page.host.remember('variablesOrder', next);
        this.setState({ order: next });
    }

    #toggleModules() {
        const showsModules = !this.state.showsModules;
        this.props.page.host.remember('showsModules', showsModules);
        this.setState({ showsModules });
    }

    /** @param {{page: Page, rev: number}} props @param {PaneState} state */
    render({ page }, state) {
        const { variables } = page;
        const { shown } = variables;
        const lineage = page.model.lineage(shown?.state ?? page.here);
        const all = shown?.list ?? [];
        const found = filtered(all, state.text);
        const { exec_count } = page.model.states.get(shown?.state ?? page.here) ?? { exec_count: 0 };
        const said = !shown
            ? ''
            : shown.isOld
              ? SAY.isOld(exec_count)
              : variables.mayChange
                ? SAY.runs
                : `${SAY.count(found.length, all.length)} ${SAY.of(exec_count)}`;
        return html`
            <aside class="side variables-pane" aria-label=${SAY.title}
                data-old=${shown?.isOld || variables.mayChange ? '' : null}>
                <${PaneEdge} name="variables" label=${SAY.width} />
                <div class="variables-top">
                    <h2>${SAY.title}</h2>
                    <input class="field" type="search" aria-label=${SAY.filter} placeholder=${SAY.filterHint}
                        value=${state.text}
                        onInput=${(/** @type {any} */ event) =>
                            this.setState({ text: event.target.value, most: PAINTED })} />
                    <p class="hint" role="status">${said}</p>
                </div>
                ${
                    !shown || all.length === 0
                        ? html`<p class="hint variables-none">${this.#why(page)}</p>
                        ${
                            typeof page.variables.here === 'string' &&
                            html`<button
                            class="text-button variables-again" onClick=${() => page.variables.retry()}>
                            ${SAY.again}</button>`
                        }`
                        : found.length === 0
                          ? html`<p class="hint variables-none">${SAY.noneFound}</p>`
                          : this.#table(page, found, lineage)
                }
            </aside>`;
    }

    /** Why there is nothing to show. @param {Page} page */
    #why(page) {
        const { here } = page.variables;
        const { living } = page.model.states.get(page.here) ?? {};
        if (typeof here === 'string') return here;
        if (living === 'replay') return SAY.needsReplay;
        if (living === 'deleted') return SAY.gone;
        return here === null ? SAY.looking : SAY.none;
    }

    /** @param {Page} page @param {Variable[]} found @param {State[]} lineage */
    #table(page, found, lineage) {
        const { order, open, most, text, showsModules } = this.state;
        // Cached: the page paints with every printed line, but the table changes rarely.
        const stamp = JSON.stringify([
            page.variables.shown?.state,
            page.variables.known.size,
            found.length,
            order,
            open,
            most,
            text,
            showsModules,
            page.model.marksRev,
        ]);
        if (stamp === this.stamp) return this.content;
        this.stamp = stamp;
        const cells = changedBy(lineage);
        // A filter also searches the modules, so it shows those that it finds.
        const isFiltered = text.trim() !== '';
        const { data, modules } = isFiltered ? { data: found, modules: [] } : withoutModules(found);
        const rows = sorted(data, order, cells);
        const left = rows.length - most;
        const row = (/** @type {Variable} */ variable) =>
            this.#row(page, variable, cells.get(variable.name), open.includes(variable.name));
        this.content = html`
            <div class="variables-list" role="region" aria-label=${SAY.title} tabindex="0">
                <table>
                    <thead><tr>${COLUMNS.map((by) => this.#head(by))}</tr></thead>
                    <tbody>${rows.slice(0, most).map(row)}</tbody>
                    ${
                        left > 0 &&
                        html`<tbody class="variables-more"><tr><td colspan="6"><button class="text-button"
                        onClick=${() => this.setState({ most: most + PAINTED })}>
                        ${SAY.showMore(Math.min(left, PAINTED), left)}</button></td></tr></tbody>`
                    }
                    ${
                        modules.length > 0 &&
                        html`<tbody class="variables-modules">
                        <tr><td colspan="6"><button class="text-button"
                            aria-expanded=${showsModules ? 'true' : 'false'}
                            onClick=${() => this.#toggleModules()}>
                            ${showsModules ? html`<${DownIcon} />` : html`<${OnIcon} />`}
                            ${SAY.modules(modules.length)}</button></td></tr>
                        ${showsModules && sorted(modules, order, cells).map(row)}</tbody>`
                    }
                </table>
            </div>`;
        return this.content;
    }

    /** @param {Column} by */
    #head(by) {
        const { order } = this.state;
        const way = order?.by !== by ? 'none' : order.isDown ? 'descending' : 'ascending';
        return html`<th scope="col" class=${by === 'cell' ? 'changed-by' : by} aria-sort=${way}
            title=${by === 'cell' ? SAY.cellHint : null}>
            <button onClick=${() => this.#sort(by)}>${SAY.columns[by]}<span aria-hidden="true">
                ${way === 'none' ? '' : way === 'ascending' ? ' ↑' : ' ↓'}</span></button></th>`;
    }

    /**
     * @param {Page} page
     * @param {Variable} variable
     * @param {State | undefined} cell
     * @param {boolean} isOpen
     */
    #row(page, variable, cell, isOpen) {
        const { name, type, size, repr } = variable;
        return [
            html`<tr key=${name} data-open=${isOpen ? '' : null}>
                <th scope="row">
                    <button aria-expanded=${isOpen ? 'true' : 'false'} title=${SAY.valueOf(name)}
                        onClick=${() => this.#toggle(name)}>${name}</button></th>
                <td class="type" title=${type}>${type}</td><td class="shape" title=${size ?? ''}>${size}</td>
                <td class="bytes">${variable.bytes != null && bytes(variable.bytes)}</td>
                <td class="changed-by">
                    ${
                        cell &&
                        html`<button class="text-button" aria-label=${SAY.goToCellOf(name, cell.exec_count)}
                        title=${SAY.goToCellOf(name, cell.exec_count)} onClick=${() => goToCell(page, cell)}>
                        ${cell.exec_count}</button>`
                    }</td>
                <td class="value" title=${repr.slice(0, 1000)} onClick=${() => this.#toggle(name)}>
                    ${lineOf(repr)}</td>
            </tr>`,
            isOpen &&
                html`<tr key=${`${name} whole`}><td class="whole" colspan="6">
                    <${Whole} page=${page} variable=${variable} cell=${cell} /></td></tr>`,
        ];
    }
}

/**
 * All facts about a variable.
 * @param {{page: Page, variable: Variable, cell: State | undefined}} props
 */
function Whole({ page, variable, cell }) {
    const { name, type, size, repr, summary, bytes: memory } = variable;
    const state = page.variables.shown?.state ?? page.here;
    const facts =
        summary?.kind === 'array'
            ? factsOf(summary, memory)
            : memory != null
              ? [[SAY.stats.bytes, bytes(memory)]]
              : [];
    return html`
        <p class="whole-type">${[type, size].filter(Boolean).join(' ')}</p>
        ${
            page.mayRun &&
            (isTree(variable) || isPicture(variable)) &&
            html`<${ValueInside} key=${state} page=${page} state=${state} name=${name} />`
        }
        <pre tabindex="0">${repr}</pre>
        ${
            facts.length > 0 &&
            html`<dl class="stats">
            ${facts.map(([what, value]) => html`<div><dt>${what}</dt><dd>${value}</dd></div>`)}</dl>`
        }
        ${
            summary?.kind === 'frame' &&
            html`<${FrameColumns} name=${name} columns=${summary.columns}
            more=${summary.more} />`
        }
        <p class="whole-acts">
            ${
                page.mayRun &&
                isTable(variable) &&
                html`<${OpenAsGrid} key=${size} page=${page} variable=${variable}
                    state=${state} />`
            }
            <button class="text-button"
                onClick=${() => copyText(page, name, { said: SAY.nameCopied(name), title: SAY.copyByHand })}>
                ${SAY.copyName}</button>
            ${
                cell &&
                html`<button class="text-button" onClick=${() => goToCell(page, cell)}>
                ${SAY.goToCell(cell.exec_count)}</button>`
            }
        </p>`;
}

/**
 * @param {Extract<import('../shell/protocol.js').Summary, {kind: 'array'}>} summary
 * @param {number | null | undefined} memory
 * @returns {[string, any][]}
 */
const factsOf = ({ dtype, min, max, mean, nulls }, memory) =>
    /** @type {[string, any][]} */ ([
        [SAY.stats.dtype, dtype],
        [SAY.stats.min, shortly(min)],
        [SAY.stats.max, shortly(max)],
        [SAY.stats.mean, shortly(mean)],
        [SAY.stats.nulls, nulls || ''],
        [SAY.stats.bytes, memory == null ? '' : bytes(memory)],
    ]).filter(([, value]) => value !== '');

/** @param {{name: string, columns: import('../shell/protocol.js').Column[], more: number}} props */
const FrameColumns = ({ name, columns, more }) => html`
    <div class="frame-columns" role="region" aria-label=${`${name}: ${SAY.column}`} tabindex="0"><table>
        <thead><tr><th scope="col">${SAY.column}</th>
        ${[SAY.columns.type, SAY.stats.min, SAY.stats.max, SAY.stats.mean, SAY.stats.nulls].map(
            (what) => html`<th scope="col">${what}</th>`,
        )}</tr></thead>
        <tbody>${columns.slice(0, LISTED).map(
            (one) => html`<tr><th scope="row">${one.name}</th><td>
            ${one.dtype}</td><td>${shortly(one.min)}</td><td>${shortly(one.max)}</td><td>
                ${shortly(one.mean)}</td><td>${one.nulls || ''}</td></tr>`,
        )}</tbody>
    </table></div>
    ${
        columns.length + more > LISTED &&
        html`<p class="hint">
        ${SAY.moreColumns(columns.length + more - Math.min(columns.length, LISTED))}</p>`
    }`;

/**
 * Scrolls to the cell of a state on the current lineage.
 * @param {Page} page
 * @param {State} state
 */
function goToCell(page, state) {
    page.comparison.close();
    page.host.paintNow();
    const cell = page.cells().find((one) => one.kind === 'ran' && one.state.id === state.id);
    const element = /** @type {HTMLElement | null} */ (
        document.querySelector(`[data-cell="${CSS.escape(cell?.key ?? '')}"]`)
    );
    element?.scrollIntoView({ block: 'nearest' });
    element?.focus({ preventScroll: true });
}

/** The first line of a value. @param {string} repr */
function lineOf(repr) {
    const [first, second] = repr.split('\n').filter((line) => line.trim());
    return first && second ? `${first.trim().replace(/\s+/g, ' ')} …` : repr;
}

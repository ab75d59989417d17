// @ts-check
// A row of the table of branches.

import { html } from '../vendor/preact.js';
import { Thumb } from '../graph/thumbnails.js';
import { ago, bytes, duration } from '../text/format.js';
import { CloseIcon, PinIcon } from '../ui/icons.js';
import { BRANCHES_WORDS as WORDS } from './branches-words.js';
import { differenceAt, hasPicture, missingVariable } from './branch-rows.js';

/** @typedef {import('./branch-rows.js').BranchRow} BranchRow */

/** How many of the lines of code that differ are shown. */
const MOST_LINES = 2;

/**
 * @typedef {object} RowProps
 * @property {import('../notebook/page.js').Page} page
 * @property {BranchRow} row
 * @property {import('./branch-table.js').Choice} choice
 * @property {import('./branch-rows.js').Values} values
 * @property {BranchRow | null} baseline
 * @property {string[]} code the lines in which the row differs
 * @property {boolean} isExtreme see `extremeStates`
 * @property {boolean} isChosen for comparing
 * @property {boolean} hasPictures whether any row has one
 * @property {(state: string) => void} onToggle
 */

/** @param {RowProps} props */
export function BranchRowView(props) {
    const { page, row, choice, baseline, code, isExtreme, isChosen, hasPictures } = props;
    const { state, run, name, last, colour, isPicked } = row;
    const { branchTable } = page;
    const isBaseline = row === baseline;
    const pin = isBaseline ? WORDS.unpin : WORDS.pin(name);
    return html`<tr data-state=${state.id} data-branch=${colour}
        data-here=${state.id === page.here ? '' : null} data-extreme=${isExtreme ? '' : null}
        data-baseline=${isBaseline ? '' : null}>
        <td><input type="checkbox" aria-label=${WORDS.choose(name)} checked=${isChosen}
            onChange=${() => props.onToggle(state.id)} /></td>
        <th scope="row"><span class="branch-cell">
            <button class="branch-name" onClick=${() => page.branchFrom(state.id)}>
                <b>${name}</b>${last && html`<small>${last}</small>`}</button>
            ${isExtreme && html`<span class="label">${choice.order?.isDown ? WORDS.highest : WORDS.lowest}</span>`}
            ${isBaseline && html`<span class="label">${WORDS.baseline}</span>`}
            <button class="tool" aria-label=${pin} title=${pin} aria-pressed=${isBaseline ? 'true' : 'false'}
                onClick=${() => branchTable.change({ baseline: isBaseline ? null : state.id })}>
                <${PinIcon} /></button>
            ${
                isPicked &&
                html`<button class="tool" aria-label=${WORDS.removeRow(name)} title=${WORDS.removeRow(name)}
                onClick=${() => branchTable.toggle(state.id)}><${CloseIcon} /></button>`
            }</span></th>
        ${choice.columns.map((column) => html`<${ValueCell} key=${column} ...${props} column=${column} />`)}
        <${CodeCell} code=${code} />
        <td>${duration(row.duration)}<${By} now=${row.duration} than=${baseline?.duration} text=${duration}
            isOwn=${isBaseline} /></td>
        <td>${row.memory === null ? '–' : bytes(row.memory)}<${By} now=${row.memory} than=${baseline?.memory}
            text=${bytes} isOwn=${isBaseline} /></td>
        <td>${ago(state.created_at, Date.now())}</td>
        ${hasPictures && html`<td>${run && hasPicture(row) && html`<${Thumb} run=${run} />`}</td>`}
    </tr>`;
}

/**
 * By how much a number is more or less than that of the baseline.
 * @param {{now: number | null, than: number | null | undefined, text: (n: number) => string,
 *   isOwn: boolean}} props
 */
const By = ({ now, than, text, isOwn }) =>
    !isOwn && now !== null && than != null && now !== than
        ? html`<small>${now > than ? '+' : '−'}${text(Math.abs(now - than))}</small>`
        : null;

/** @param {{code: string[]}} props */
function CodeCell({ code }) {
    if (code.length === 0) return html`<td class="pending">–</td>`;
    const more = code.length - MOST_LINES;
    return html`<td class="code" title=${code.join('\n')}>
        ${code.slice(0, MOST_LINES).map((line) => html`<code>${line.trim()}</code>`)}
        ${more > 0 && html`<small>${WORDS.moreLines(more)}</small>`}</td>`;
}

/** @param {RowProps & {column: string}} props */
function ValueCell({ page, row: { state }, values, baseline, column }) {
    const value = values.get(state.id)?.get(column);
    if (!value) {
        const isHeld = !page.branchTable.mayEvaluate(column);
        const why = isHeld
            ? page.mayRun
                ? WORDS.notAllowed
                : WORDS.needsRun
            : { disk: WORDS.onDisk, replay: WORDS.needsReplay }[/** @type {string} */ (state.living)];
        return html`<td class="pending">${why ?? '…'}</td>`;
    }
    if ('isPending' in value) return html`<td class="pending">…</td>`;
    if ('refusal' in value) return html`<td data-value="failed">${value.refusal}</td>`;
    const missing = missingVariable(value);
    if (missing)
        return html`<td class="pending" title=${WORDS.missing(missing)}><span aria-hidden="true">–</span>
            <span class="visually-hidden">${WORDS.missing(missing)}</span></td>`;
    const kind = value.failed ? 'failed' : value.number === null ? 'text' : 'number';
    // `np.float64(0.9)` is the number 0.9 for people.
    const shown = value.text.replace(/^np\.\w+\((.*)\)$/s, '$1');
    const by = differenceAt(values, state.id, baseline?.state.id ?? null, column);
    return html`<td data-value=${kind} title=${value.text}>${shown}${by && html`<small>${by}</small>`}</td>`;
}

// @ts-check
// Draws the plot of a sweep. Its points belong to the rows of the table, which is the plot's
// alternative for the keyboard and for screen readers.

import { Component, html } from '../vendor/preact.js';
import { plotOf } from './sweep-plot.js';
import { textOf } from './sweep-rows.js';
import { TABLE_WORDS as SAY } from './sweep-words.js';

/**
 * @typedef {object} PlotProps
 * @property {import('./sweeps.js').Sweep} sweep
 * @property {import('./sweep-rows.js').TableRow[]} rows in the order of the sweep
 * @property {number} parameter the parameter at the x axis, by its index
 * @property {(parameter: number) => void} onParameter
 * @property {number | null} marked the row to mark
 * @property {(row: number | null) => void} onPoint called with the row below the pointer
 * @property {(row: number) => void} onGo called with the row of a pressed point
 */

/**
 * The height of the plot, the room for its axes, and how near to a point a press must be, in px.
 */
const HEIGHT = 168;
const LEFT = 58;
const BOTTOM = 34;
const TOP = 8;
const RIGHT = 14;
const NEAR = 16;

/** @extends {Component<PlotProps, {width: number}>} */
export class SweepPlot extends Component {
    state = { width: 0 };
    /** @type {HTMLElement | null} */
    element = null;
    /**
     * The last drawing, and from what it was made.
     * @type {{rows: PlotProps['rows'], parameter: number, width: number,
     *   plot: import('./sweep-plot.js').Plot | null, drawing: any} | null}
     */
    known = null;

    componentDidMount() {
        const { element } = this;
        if (!element) return;
        this.watch = new ResizeObserver(() => this.setState({ width: element.clientWidth }));
        this.watch.observe(element);
    }

    componentWillUnmount() {
        this.watch?.disconnect();
    }

    /** @param {number} x */
    #x = (x) => LEFT + x * Math.max(1, this.state.width - LEFT - RIGHT);
    /** @param {number} y */
    #y = (y) => TOP + (1 - y) * (HEIGHT - TOP - BOTTOM);

    /**
     * The row whose point is next to the pointer.
     * @param {PointerEvent | MouseEvent} event
     * @param {import('./sweep-plot.js').Plot} plot
     */
    #near(event, plot) {
        const edge = this.element?.getBoundingClientRect();
        if (!edge) return null;
        const away = (/** @type {import('./sweep-plot.js').Point} */ { x, y }) =>
            Math.hypot(this.#x(x) - (event.clientX - edge.left), this.#y(y) - (event.clientY - edge.top));
        const near = plot.points.reduce(
            (best, point) => (best && away(best) <= away(point) ? best : point),
            /** @type {import('./sweep-plot.js').Point | null} */ (null),
        );
        return near && away(near) <= NEAR ? near.row : null;
    }

    /** The plot and its drawing, which stay the same while only the marked row changes. */
    #drawn() {
        const { rows, sweep, parameter } = this.props;
        const { width } = this.state;
        const { known } = this;
        if (known?.rows === rows && known.parameter === parameter && known.width === width) return known;
        const plot = plotOf(rows, parameter);
        const drawing = plot && this.#drawing(plot, sweep.parameters[parameter]?.name ?? '');
        this.known = { rows, parameter, width, plot, drawing };
        return this.known;
    }

    /** @param {PlotProps} props @param {{width: number}} state */
    render({ sweep, rows, parameter, onParameter, marked, onPoint, onGo }, { width }) {
        const { parameters, options } = sweep;
        const { plot, drawing } = this.#drawn();
        const name = parameters[parameter]?.name ?? '';
        const point = plot?.points.find(({ row }) => row === marked);
        const own = point && rows[point.row];
        return html`<div>
            <div class="sweep-plot-head">
                <span class="sweep-axis">${options.metric}</span>
                ${
                    parameters.length > 1 &&
                    html`<label>${SAY.against} <select class="field" value=${parameter}
                    onChange=${(/** @type {any} */ event) => onParameter(Number(event.target.value))}>
                    ${parameters.map((one, i) => html`<option value=${i} selected=${i === parameter}>${one.name}</option>`)}</select></label>`
                }
                <span class="sweep-pointed">${
                    own ? SAY.point(own.row, `${name} = ${own.values[parameter]}`, textOf(own, 'metric')) : ''
                }</span>
            </div>
            <div class="sweep-drawing" style=${`height:${HEIGHT}px`}
                ref=${(/** @type {HTMLElement | null} */ element) => (this.element = element)}>
                ${
                    !plot
                        ? html`<p class="hint">${sweep.status === 'running' ? SAY.noPoints : SAY.noMetric}</p>`
                        : width > 0 &&
                          html`<svg role="img" width=${width} height=${HEIGHT}
                        aria-label=${`${SAY.plotOf(options.metric ?? '', name)}. ${SAY.plotHint}`}
                        data-pointing=${point ? '' : null}
                        onPointerMove=${(/** @type {PointerEvent} */ event) =>
                            onPoint(this.#near(event, plot))}
                        onPointerLeave=${() => onPoint(null)}
                        onClick=${(/** @type {MouseEvent} */ event) => {
                            const row = this.#near(event, plot);
                            if (row !== null) onGo(row);
                        }}>${drawing}${
                            point &&
                            html`<circle class="sweep-ring" cx=${this.#x(point.x)} cy=${this.#y(point.y)} r="8" />`
                        }</svg>`
                }
            </div>
        </div>`;
    }

    /**
     * @param {import('./sweep-plot.js').Plot} plot
     * @param {string} name
     */
    #drawing(plot, name) {
        const { width } = this.state;
        const [left, right, bottom] = [this.#x(0), this.#x(1), this.#y(0)];
        // Later elements are on top.
        const points = [...plot.points].sort((a, b) => Number(a.isBest) - Number(b.isBest));
        return html`
            ${plot.y.ticks.map(
                ({ at, text }) => html`<path class="sweep-line" d=${`M${left} ${this.#y(at)}H${right}`} />
                <text x=${left - 6} y=${this.#y(at) + 4} text-anchor="end">${text}</text>`,
            )}
            <path class="sweep-line" data-axis d=${`M${left} ${TOP}V${bottom}H${right}`} />
            ${plot.x.ticks.map(
                ({
                    at,
                    text,
                }) => html`<path class="sweep-line" data-axis d=${`M${this.#x(at)} ${bottom}v4`} />
                <text x=${this.#x(at)} y=${bottom + 16} text-anchor="middle">${short(text)}</text>`,
            )}
            <text class="sweep-axis" x=${(left + width - RIGHT) / 2} y=${HEIGHT - 3} text-anchor="middle">
                ${name}${plot.x.kind === 'log' ? ' (log)' : ''}</text>
            ${points.map(({ row, x, y, isBest }) =>
                isBest
                    ? html`<path class="sweep-point" key=${row} data-best
                        transform=${`translate(${this.#x(x)} ${this.#y(y)})`}
                        d="M0 -7L2 -2.2 7 -2.2 3 1 4.5 6 0 3 -4.5 6 -3 1 -7 -2.2 -2 -2.2Z" />`
                    : html`<circle class="sweep-point" key=${row} cx=${this.#x(x)} cy=${this.#y(y)} r="3.5" />`,
            )}
`;
    }
}

/** A tick's text that leaves room for its neighbours. @param {string} text */
const short = (text) => (text.length > 12 ? `${text.slice(0, 11)}…` : text);

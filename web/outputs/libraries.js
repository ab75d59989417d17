// @ts-check
// Maps public addresses to libraries, and makes HTML for plots that are data. Pure.
//
// Outputs refer to plotly.js, BokehJS and Vega by public addresses. The page never loads these: the
// user's Python packages contain the same libraries, and the server finds them (docs/api.md).

/**
 * The name of a library on the server. `nothing`: the script is not needed, because another one
 * contains it or the plot works without it.
 * @typedef {'plotly'
 *   | 'bokeh'
 *   | 'bokeh-gl'
 *   | 'bokeh-widgets'
 *   | 'bokeh-tables'
 *   | 'bokeh-mathjax'
 *   | 'vega'
 *   | 'nothing'} Library
 */

const ADDRESSES = /** @type {[RegExp, (found: RegExpMatchArray) => Library][]} */ ([
    [/^cdn\.plot\.ly\/plotly-/, () => 'plotly'],
    [/\/plotly(?:\.js(?:-dist(?:-min)?)?)?(?:@|\/|$)/, () => 'plotly'],
    [
        /^cdn\.bokeh\.org\/bokeh\/\w+\/bokeh(-gl|-widgets|-tables|-mathjax)?-\d/,
        ([, part]) => /** @type {Library} */ (`bokeh${part ?? ''}`),
    ],
    [/\/vega-embed(?:@|\/|$)/, () => 'vega'],
    // vega-embed contains all parts of Vega.
    [/\/vega(?:-lite|-lib)?(?:@|\/|$)/, () => 'nothing'],
    [/\/mathjax[/@]/i, () => 'nothing'],
]);

/** The display name of a library, and the package to install. */
export const PACKAGES = /** @type {Record<Library, [string, string]>} */ (
    Object.freeze({
        plotly: ['plotly', 'plotly'],
        vega: ['Vega', 'vl-convert-python'],
        bokeh: ['Bokeh', 'bokeh'],
        'bokeh-gl': ['Bokeh', 'bokeh'],
        'bokeh-widgets': ['Bokeh', 'bokeh'],
        'bokeh-tables': ['Bokeh', 'bokeh'],
        'bokeh-mathjax': ['Bokeh', 'bokeh'],
        nothing: ['', ''],
    })
);

/** @param {string} url @returns {Library | null} */
export function libraryOf(url) {
    const address = url.replace(/^(?:https?:)?\/\//, '').replace(/[?#].*$/, '');
    for (const [pattern, name] of ADDRESSES) {
        const found = address.match(pattern);
        if (found) return name(found);
    }
    return null;
}

/** JSON that is safe inside a script element. @param {unknown} data */
const literal = (data) =>
    JSON.stringify(data)
        .replaceAll('<', '\\u003c')
        .replaceAll('\u2028', '\\u2028')
        .replaceAll('\u2029', '\\u2029');

/** A plotly figure as HTML. @param {any} figure */
export function plotlyHtml(figure) {
    const { data = [], layout = {}, config = {} } = figure ?? {};
    const given = [data, layout, { responsive: true, ...config }].map(literal).join(', ');
    return (
        '<div id="plot"></div><script src="https://cdn.plot.ly/plotly-latest.min.js"></script>' +
        `<script>Plotly.newPlot('plot', ${given})</script>`
    );
}

/** A Vega or Vega-Lite chart as HTML. @param {any} spec @param {boolean} isLite */
export const vegaHtml = (spec, isLite) =>
    '<div id="plot"></div><script src="https://cdn.jsdelivr.net/npm/vega-embed@7"></script>' +
    `<script>vegaEmbed('#plot', ${literal(spec)}, {mode: '${isLite ? 'vega-lite' : 'vega'}'})</script>`;

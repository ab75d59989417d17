// @ts-check
// Numbers as Python shows them, and their differences. Pure.

/** @typedef {number | bigint} Some */

const INTEGER = /^-?\d+$/;
const NUMBER = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
/** A number in a wrapper, such as `np.float64(0.5)`. */
const WRAPPED = /^(?:np\.)?\w+\((-?[\d.]+(?:e[+-]?\d+)?)\)$/i;

/**
 * The numeric value of a variable, if it is a number. Integers stay exact.
 * @param {{type: string, repr: string}} variable
 * @returns {Some | null}
 */
export function numberOf({ type, repr }) {
    const text = /^(?:u?int|float|longdouble|half)\d*$/.test(type)
        ? (repr.match(WRAPPED)?.[1] ?? repr)
        : repr;
    if (!/^(?:u?int|float|longdouble|half|Decimal)/.test(type)) return null;
    if (INTEGER.test(text)) return BigInt(text);
    return NUMBER.test(text) ? Number(text) : null;
}

/**
 * The difference from `before` to `after`: "+2 (+50 %)", "−0.25".
 * @param {Some} before
 * @param {Some} after
 * @returns {string}
 */
export function difference(before, after) {
    const [a, b] = [Number(before), Number(after)];
    const by = typeof before === 'bigint' && typeof after === 'bigint' ? after - before : b - a;
    const share = (b - a) / Math.abs(a);
    const percent = Number.isFinite(share) && Math.abs(share) < 100 ? ` (${percentOf(share)} %)` : '';
    return `${signed(by)}${percent}`;
}

/**
 * Three significant digits, or more if rounding would wrongly show 100 % or a doubling.
 * @param {number} share
 */
function percentOf(share) {
    const size = Math.abs(share) * 100;
    let digits = 3;
    while (digits < 15 && size !== 100 && Number(size.toPrecision(digits)) === 100) digits += 1;
    return `${share < 0 ? '−' : '+'}${grouped(Number(size.toPrecision(digits)))}`;
}

/**
 * @param {Some} n
 * @returns {string} with a sign, and without the rounding noise of binary fractions
 */
function signed(n) {
    const size = n < 0 ? -n : n;
    return `${n < 0 ? '−' : '+'}${grouped(typeof size === 'bigint' ? size : rounded(size))}`;
}

/** Rounds to six significant digits, but keeps all digits before the point. @param {number} n */
function rounded(n) {
    const digits = Math.max(6, Math.floor(Math.log10(Math.abs(n))) + 1);
    return Number.isInteger(n) || digits > 100 ? n : Number(n.toPrecision(digits));
}

/** All digits of a number, grouped: "−1,501.5". @param {Some} n */
export function grouped(n) {
    const text = String(n).replace('-', '−');
    const [, sign, digits, rest = ''] = text.match(/^(−?)(\d+)(.*)$/) ?? [];
    // The minus sign of an exponent stays ASCII, as in Python.
    return digits === undefined
        ? text
        : `${sign}${digits.replaceAll(/\B(?=(\d{3})+$)/g, ',')}${rest.replace('−', '-')}`;
}

/** Formats a number for display, rounded. @param {number | string | null | undefined} n */
export const shortly = (n) => (typeof n === 'number' ? grouped(rounded(n)) : (n ?? ''));

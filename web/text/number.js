// @ts-check
// Numbers as Python shows them, and by how much two of them differ. Pure.

/** @typedef {number | bigint} Some */

const INTEGER = /^-?\d+$/;
const NUMBER = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
/** What has a representation of this form, such as `np.float64(0.5)`, is a number, too. */
const WRAPPED = /^(?:np\.)?\w+\((-?[\d.]+(?:e[+-]?\d+)?)\)$/i;

/** The number that a variable is, if it is one. Integers stay exact. @param {{type: string, repr: string}} variable @returns {Some | null} */
export function numberOf({ type, repr }) {
    const text = /^(?:u?int|float|longdouble|half)\d*$/.test(type) ? repr.match(WRAPPED)?.[1] ?? repr : repr;
    if (!/^(?:u?int|float|longdouble|half|Decimal)/.test(type)) return null;
    if (INTEGER.test(text)) return BigInt(text);
    return NUMBER.test(text) ? Number(text) : null;
}

/** By how much the second is more than the first: "+2 (+50 %)", "−0.25". @param {Some} before @param {Some} after @returns {string} */
export function difference(before, after) {
    const [a, b] = [Number(before), Number(after)];
    const by = typeof before === 'bigint' && typeof after === 'bigint' ? after - before : b - a;
    const share = (b - a) / Math.abs(a);
    const percent = Number.isFinite(share) && Math.abs(share) < 100 ? ` (${percentOf(share)} %)` : '';
    return `${signed(by)}${percent}`;
}

/** Three digits that count; more where fewer would say that it is all, or twice as much, and it is not. @param {number} share */
function percentOf(share) {
    const size = Math.abs(share) * 100;
    let digits = 3;
    while (digits < 15 && size !== 100 && Number(size.toPrecision(digits)) === 100) digits += 1;
    return `${share < 0 ? '−' : '+'}${Number(size.toPrecision(digits))}`;
}

/** @param {Some} n @returns {string} with a sign, and without the noise that binary fractions end with */
function signed(n) {
    const size = n < 0 ? -n : n;
    const text = typeof size === 'bigint' ? size.toString() : String(Number(size.toPrecision(6)));
    return `${n < 0 ? '−' : '+'}${text}`;
}

/** A number to be read, not to be reckoned with: six digits that count. @param {number | string | null | undefined} n */
export function shortly(n) {
    if (typeof n !== 'number') return n ?? '';
    return Number.isInteger(n) ? n.toLocaleString('en') : String(Number(n.toPrecision(6)));
}

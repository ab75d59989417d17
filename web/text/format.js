// @ts-check
// Small pure formatters: durations, sizes, first lines, ids.

/** @param {number} ms @returns {string} such as "12 ms", "3.4 s", "2 min 5 s", "1 h 20 min" */
export function duration(ms) {
    if (ms < 1) return '< 1 ms';
    if (ms < 999.5) return `${Math.round(ms)} ms`;
    const seconds = Math.round(ms / 1000);
    if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
    if (seconds < 60) return `${seconds} s`;
    const minutes = Math.floor(seconds / 60);
    if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
    return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** @param {number} n @returns {string} such as "512 B", "3.1 MB", "12 GB" */
export function bytes(n) {
    if (n < 1000) return `${n} B`;
    const units = ['kB', 'MB', 'GB', 'TB'];
    let value = n / 1000;
    for (; value >= 999.5 && units.length > 1; value /= 1000) units.shift();
    return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[0]}`;
}

/**
 * The first meaningful line of code, skipping blank lines and cell markers.
 * @param {string} code
 */
export function firstLine(code) {
    const lines = code.split('\n').map((line) => line.trim());
    const found = lines.find((line) => line && !/^#\s*%%\s*$/.test(line)) ?? '';
    // The id of a state, which generated code contains, tells people nothing.
    return found.replace(/\b([0-9a-f]{6})[0-9a-f]{26}\b/g, '$1').slice(0, 120);
}

/**
 * A random id. `crypto.randomUUID` is missing on plain http, except on localhost.
 * @returns {string}
 */
export function newId() {
    return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
        byte.toString(16).padStart(2, '0'),
    ).join('');
}

/**
 * The smallest replacement that turns one text into another.
 * @param {string} from
 * @param {string} to
 */
export function difference(from, to) {
    let start = 0;
    const most = Math.min(from.length, to.length);
    while (start < most && from[start] === to[start]) start += 1;
    let end = 0;
    while (end < most - start && from[from.length - 1 - end] === to[to.length - 1 - end]) end += 1;
    return { from: start, to: from.length - end, insert: to.slice(start, to.length - end) };
}

const UNITS = /** @type {[Intl.RelativeTimeFormatUnit, number][]} */ ([
    ['year', 31_557_600],
    ['month', 2_629_800],
    ['week', 604_800],
    ['day', 86_400],
    ['hour', 3600],
    ['minute', 60],
]);

/**
 * @param {number} then
 * @param {number} now both in milliseconds since the Unix epoch
 * @returns {string} such as "just now", "5 minutes ago", "yesterday"
 */
export function ago(then, now) {
    const seconds = (now - then) / 1000;
    const [unit, length] = UNITS.find(([, length]) => seconds >= length) ?? [];
    if (!unit || !length) return 'just now';
    return new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(-Math.floor(seconds / length), unit);
}

/**
 * A number with its noun.
 * @param {number} n
 * @param {string} one the noun in the singular
 * @param {string} [many] in the plural
 */
export const counted = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

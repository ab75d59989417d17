// Rewrites html`…` templates as calls, html(Component, {prop: value}, child), which TypeScript can
// check. htm itself parses them, so this is exactly what runs. Lines keep their numbers.

import htm from 'htm';

/** Before a slash: an operator or keyword, so that the slash begins a regular expression. */
const BEFORE_REGEX = /(^|[(,=:[!&|?{};+\-*%<>~^]|=>|\breturn|\btypeof|\bcase)\s*$/;

/**
 * The offset at which the code that begins at `from` ends: its closing brace, or the end of the
 * text.
 * @param {string} text
 * @param {number} from
 * @param {(start: number, end: number, parts: [number, number][]) => void} onTemplate called for
 *   each template literal, outermost only, with the ranges of the code in it
 * @returns {number}
 */
function scan(text, from, onTemplate) {
    let depth = 0;
    let at = from;
    while (at < text.length) {
        const char = text.charAt(at);
        if (char === '}' && depth === 0) return at;
        if (char === '{') depth += 1;
        if (char === '}') depth -= 1;
        if (text.startsWith('//', at)) at = endOf(text, '\n', at);
        else if (text.startsWith('/*', at)) at = endOf(text, '*/', at);
        else if (char === "'" || char === '"') at = skip(text, at, char);
        else if (char === '/' && BEFORE_REGEX.test(text.slice(Math.max(0, at - 20), at)))
            at = skip(text, at, '/');
        else if (char === '`') at = scanTemplate(text, at, onTemplate);
        else at += 1;
    }
    return at;
}

/** @param {string} text @param {string} what @param {number} from */
function endOf(text, what, from) {
    const at = text.indexOf(what, from + 1);
    return at < 0 ? text.length : at + what.length;
}

/**
 * Skips a string or regular expression.
 * @param {string} text @param {number} at @param {string} end
 */
function skip(text, at, end) {
    let isClass = false;
    for (let i = at + 1; i < text.length; i += 1) {
        const char = text.charAt(i);
        if (char === '\\') i += 1;
        else if (char === '[' && end === '/') isClass = true;
        else if (char === ']') isClass = false;
        else if (char === end && !isClass) return i + 1;
    }
    return text.length;
}

/** @type {(text: string, at: number, onTemplate: Parameters<typeof scan>[2]) => number} */
function scanTemplate(text, at, onTemplate) {
    /** @type {[number, number][]} */
    const parts = [];
    let i = at + 1;
    for (; i < text.length && text[i] !== '`'; i += 1) {
        if (text[i] === '\\') i += 1;
        else if (text.startsWith('${', i)) {
            const end = scan(text, i + 2, () => {});
            parts.push([i + 2, end]);
            i = end;
        }
    }
    onTemplate(at, i + 1, parts);
    return i + 1;
}

/**
 * A `${…}` part of a template, represented by its index. When htm spreads it, it acts as an object
 * with one marker key.
 */
class Code {
    /** @param {number} number */
    constructor(number) {
        Object.defineProperty(this, 'mark', { value: `\u0001${number}\u0002` });
        /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (this))[`...${number}`] = true;
    }

    toString() {
        return /** @type {{mark: string}} */ (/** @type {unknown} */ (this)).mark;
    }
}

/** The text of a call that replaces an element. */
class Call {
    /** @param {string} text */
    constructor(text) {
        this.text = text;
    }
}

/** @param {unknown} value */
const codeOf = (value) =>
    value instanceof Call ? value.text : value instanceof Code ? String(value) : stringOf(value);

/** A value of htm's own; an attribute may mix text and code. @param {unknown} value */
const stringOf = (value) =>
    typeof value === 'string' && value.includes('\u0001')
        ? `\`${value.replaceAll(/\u0001\d+\u0002/g, (mark) => `\${${mark}}`)}\``
        : JSON.stringify(value);

const asCalls = htm.bind((type, props, ...children) => {
    const given = Object.entries(props ?? {}).map(([name, value]) =>
        name.startsWith('...')
            ? `...\u0001${name.slice(3)}\u0002`
            : `${JSON.stringify(name)}: ${codeOf(value)}`,
    );
    const isElement = typeof type === 'string';
    if (!isElement && children.length) given.push(`children: [${children.map(codeOf).join(', ')}]`);
    const rest = isElement ? children.map((child) => `, ${codeOf(child)}`).join('') : '';
    return new Call(`html(${codeOf(type)}, {${given.join(', ')}}${rest})`);
});

const newlines = (/** @type {string} */ text) => text.split('\n').length - 1;

/**
 * @param {string} text of a module
 * @returns {string}
 */
export function withCalls(text) {
    let result = '';
    let done = 0;
    scan(text, 0, (start, end, parts) => {
        const isHtml = /\bhtml$/.test(text.slice(Math.max(0, start - 5), start));
        result += text.slice(done, isHtml ? start - 'html'.length : start);
        result += isHtml ? call(text, start, end, parts) : template(text, start, end, parts);
        done = end;
    });
    return result + text.slice(done);
}

/** @type {(text: string, start: number, end: number, parts: [number, number][]) => string} */
function template(text, start, end, parts) {
    let result = '';
    let done = start;
    for (const [from, to] of parts) {
        result += text.slice(done, from) + withCalls(text.slice(from, to));
        done = to;
    }
    return result + text.slice(done, end);
}

/** @type {(text: string, start: number, end: number, parts: [number, number][]) => string} */
function call(text, start, end, parts) {
    const cuts = [start + 1, ...parts.map(([, to]) => to + 1)];
    const statics = cuts.map((from, i) => text.slice(from, (parts[i]?.[0] ?? end + 1) - 2));
    // htm caches by the identity of the list.
    const strings = /** @type {TemplateStringsArray} */ (/** @type {unknown} */ (statics));
    const made = asCalls(strings, ...parts.map((_, i) => new Code(i)));
    const code = Array.isArray(made) ? `[${made.map(codeOf).join(', ')}]` : codeOf(made);
    let lines = 0;
    const before = (/** @type {number} */ at) => newlines(text.slice(start, at));
    const filled = code.replaceAll(/\u0001(\d+)\u0002/g, (_, number) => {
        const [from, to] = parts[Number(number)] ?? [0, 0];
        const pad = '\n'.repeat(Math.max(0, before(from) - lines));
        lines = before(to);
        return `(${pad}${withCalls(text.slice(from, to))})`;
    });
    return filled + '\n'.repeat(Math.max(0, before(end) - lines));
}

// @ts-check
// Reads a CSV or TSV file (RFC 4180): its encoding, its separator and its records. Pure.
//
// No text is refused. A quote inside a field, and one that is never closed, are plain characters.

const SEPARATORS = [',', ';', '\t'];
/** The number of records that tell the separator. */
const FIRST = 20;

/**
 * The text of a file, and its encoding; null if the bytes are no text.
 * @param {Uint8Array} bytes the beginning of the file. Its last character may be cut.
 * @returns {{text: string, encoding: 'utf-8' | 'windows-1252'} | null}
 */
export function decoded(bytes) {
    if (bytes.includes(0)) return null;
    try {
        // The decoder removes a byte order mark.
        const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
        return { text, encoding: 'utf-8' };
    } catch {
        const text = new TextDecoder('windows-1252').decode(bytes);
        // Any byte has a character there, so control characters tell what is no text.
        return /[\x01-\x08\x0e-\x1f]/.test(text) ? null : { text, encoding: 'windows-1252' };
    }
}

/**
 * The records of a text. Empty lines are left out.
 * @param {string} text with `\n` as the only end of lines
 * @param {string} separator one character
 * @param {{isCut?: boolean, most?: number}} [options] `isCut`: the text has no end, so that its
 *   last record is left out
 * @returns {string[][]}
 */
export function recordsIn(text, separator, { isCut = false, most = Infinity } = {}) {
    /** @type {string[][]} */
    const records = [];
    const fieldEnd = new RegExp(`[${separator}\n]`, 'g');
    let at = 0;
    while (at < text.length && records.length < most) {
        const end = text.indexOf('\n', at);
        if (end < 0 && isCut) break;
        const line = text.slice(at, end < 0 ? text.length : end);
        if (line.includes('"')) {
            const record = quotedRecord(text, at, fieldEnd, isCut);
            if (!record) break;
            records.push(record.fields);
            at = record.next;
        } else {
            if (line) records.push(line.split(separator));
            at += line.length + 1;
        }
    }
    return records;
}

/**
 * The record that begins at a position; null if it is cut.
 * @param {string} text
 * @param {number} at
 * @param {RegExp} fieldEnd finds a separator or the end of a line
 * @param {boolean} isCut
 * @returns {{fields: string[], next: number} | null}
 */
function quotedRecord(text, at, fieldEnd, isCut) {
    const fields = [];
    for (;;) {
        let field = '';
        if (text[at] === '"') {
            const close = closingQuote(text, at + 1);
            if (close < 0 && isCut) return null;
            if (close >= 0) {
                field = text.slice(at + 1, close).replaceAll('""', '"');
                at = close + 1;
            }
        }
        fieldEnd.lastIndex = at;
        const end = fieldEnd.exec(text)?.index;
        if (end === undefined && isCut) return null;
        fields.push(field + text.slice(at, end));
        if (end === undefined || text[end] === '\n') return { fields, next: (end ?? text.length) + 1 };
        at = end + 1;
    }
}

/**
 * The first quote that is not doubled; -1 if there is none.
 * @param {string} text
 * @param {number} at
 */
function closingQuote(text, at) {
    let found = text.indexOf('"', at);
    while (found >= 0 && text[found + 1] === '"') found = text.indexOf('"', found + 2);
    return found;
}

/**
 * The separator with which most of the first records have as many fields as the header. If it has
 * one field with each, the comma.
 * @param {string} text
 * @param {boolean} isCut
 */
export function separatorOf(text, isCut) {
    let [best, most] = [',', 0];
    for (const separator of SEPARATORS) {
        const records = recordsIn(text, separator, { isCut, most: FIRST });
        const width = records[0]?.length ?? 0;
        const alike = records.filter(({ length }) => length === width).length;
        // Of equally good separators, the one with more fields.
        const score = width > 1 ? alike + 1 - 1 / width : 0;
        if (score > most) [best, most] = [separator, score];
    }
    return best;
}

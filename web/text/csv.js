// @ts-check
// Writes CSV (RFC 4180) and TSV. Pure.

/**
 * Writes fields as a line, without its end.
 * @param {string} separator one character
 * @returns {(fields: string[]) => string}
 */
export function csvWriter(separator) {
    const special = new RegExp(`["\r\n${separator}]`);
    const field = (/** @type {string} */ text) =>
        special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    return (fields) => fields.map(field).join(separator);
}

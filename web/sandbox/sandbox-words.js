// @ts-check
// Texts about the sandbox of cells.

export const SANDBOX_WORDS = Object.freeze({
    short: 'Sandbox',
    whole: (/** @type {string[] | null} */ write, /** @type {boolean} */ network) =>
        [
            write && `Cells may write only below ${write.join(', ')}, and to temporary files.`,
            !network && 'Cells have no network.',
        ]
            .filter(Boolean)
            .join(' '),
});

// @ts-check
// The texts of the notice about a cell that failed out of sight.

export const FAILURE_WORDS = Object.freeze({
    failed: (/** @type {{ename: string, evalue: string} | null} */ error) =>
        `A cell ${error ? `failed: ${error.ename}: ${error.evalue.slice(0, 200)}` : 'failed.'}`,
    goThere: 'Go to it',
});

// @ts-check
// Texts about agents: programs that use the notebook over MCP.

export const AGENT_WORDS = Object.freeze({
    label: (/** @type {string} */ name, /** @type {string} */ where, /** @type {boolean} */ stopped) =>
        `Agent ${name} is at ${where}${stopped ? ' and is stopped' : ''}`,
    face: (/** @type {string} */ name, /** @type {boolean} */ stopped) =>
        stopped ? `${name} (stopped)` : name,
    follow: 'Follow',
    unfollow: 'Stop following',
    stop: 'Stop the agent',
    stopHint: 'Interrupts its cells; it may run no others',
    resume: 'Let the agent continue',
    stopped: (/** @type {string} */ name) => `${name} is stopped. It may look, but run no cells.`,
    resumed: (/** @type {string} */ name) => `${name} may run cells again.`,
    failed: 'The agent could not be reached. Try again.',
});

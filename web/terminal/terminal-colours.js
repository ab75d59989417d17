// @ts-check
// The colours of a terminal: those of the page's theme.

/** xterm.js' names of the 16 colours, in their order. */
const NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
const BRIGHT = NAMES.map((name) => `bright${name[0]?.toUpperCase()}${name.slice(1)}`);

/** The theme for xterm.js, from the styles in effect. @returns {Record<string, string>} */
export function terminalTheme() {
    const probe = document.createElement('i');
    document.body.append(probe);
    const colour = (/** @type {string} */ variable) => {
        probe.style.color = `var(${variable})`;
        return getComputedStyle(probe).color;
    };
    const ansi = [...NAMES, ...BRIGHT].map((name, i) => [name, colour(`--ansi-${i}`)]);
    const theme = {
        ...Object.fromEntries(ansi),
        background: colour('--surface'),
        foreground: colour('--ink'),
        cursor: colour('--accent'),
        cursorAccent: colour('--surface'),
        selectionBackground: colour('--accent-line'),
    };
    probe.remove();
    return theme;
}

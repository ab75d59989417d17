// @ts-check
// Names of Pythons, and which checkpoints each can load. Pure.

/** @typedef {import('../shell/protocol.js').Checkpoint} Checkpoint */

/**
 * The series of a Python: its major and minor version. Pythons of one series can load each other's
 * checkpoints.
 * @param {string} version
 */
export const seriesOf = (version) => version.split('.').slice(0, 2).join('.');

/**
 * The name of a Python's environment, by its path: the directory of the environment, or '' for a
 * Python of the system.
 * @param {string} path
 */
export function environmentOf(path) {
    const parts = path.split('/').filter(Boolean);
    const bin = parts.lastIndexOf('bin');
    const dir = bin > 0 ? parts[bin - 1] : undefined;
    if (dir === undefined || bin !== parts.length - 2 || dir === 'usr' || dir === 'local') return '';
    // Many environments are named `.venv`, so the name also contains the project's directory.
    const isHidden = dir.startsWith('.') || dir === 'venv' || dir === 'env';
    return isHidden && bin > 1 ? `${parts[bin - 2]}/${dir}` : dir;
}

/**
 * A Python in a few words: its version and, if it has one, the name of its environment.
 * @param {string} version
 * @param {string} path
 */
export function nameOf(version, path) {
    const environment = environmentOf(path);
    // pyenv names the directory of a Python after its version.
    return environment && environment !== version
        ? `Python ${version} · ${environment}`
        : `Python ${version}`;
}

/**
 * The series of the Python that wrote a checkpoint, if another one runs now and can therefore load
 * only the checkpoint's plain values; else null.
 * @param {Checkpoint | null} checkpoint
 * @param {{version: string} | null} python the Python that runs the cells
 */
export function otherSeries(checkpoint, python) {
    const by = checkpoint?.form === 'environment' && checkpoint.is_trusted ? checkpoint.python : null;
    return by && python && by !== seriesOf(python.version) ? by : null;
}

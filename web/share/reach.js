// @ts-check
// Which address a share link names, and whether other machines can open it. Pure.

/**
 * @typedef {{port: number, is_loopback: boolean, reachable_as: string[]}} Listens Where the server
 *   listens; see `GET /api/links`.
 */

/**
 * Whether a host, with or without a port, names the machine of the browser itself.
 * @param {string} host
 */
export const isThisMachine = (host) => /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i.test(host);

/**
 * The origin of a new link: that of the page, unless only this machine can open it and the server
 * has an address for others.
 * @param {{origin: string, host: string}} page the page's `location`
 * @param {Listens} listens
 */
export function linkOrigin({ origin, host }, { reachable_as }) {
    const outside = reachable_as.find((name) => !isThisMachine(name));
    if (!isThisMachine(host) || outside === undefined) return origin;
    // A host without a port is a proxy with TLS; see docs/environments.md.
    const port = outside.match(/:(\d+)$/)?.[1];
    return `${port === undefined || port === '443' ? 'https' : 'http'}://${outside}`;
}

/**
 * The commands that make the server reachable from other machines.
 * @param {{port: string}} page the page's `location`
 * @param {Listens} listens
 */
export const waysIn = ({ port }, listens) => ({
    tunnel: `ssh -N -L ${port || 80}:127.0.0.1:${listens.port} USER@HOST`,
    proxy: 'ratoon --reachable-as HOST',
    bind:
        `ratoon --bind 0.0.0.0:${listens.port} --dangerously-listen-beyond-loopback ` +
        `--reachable-as HOST:${listens.port}`,
});

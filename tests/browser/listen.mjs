import { once } from 'node:events';

/**
 * Makes a server listen on this machine only.
 * @param {import('node:net').Server} server
 * @param {number} [port] 0: any free one
 * @returns {Promise<number>} the port
 */
export async function listen(server, port = 0) {
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return /** @type {import('node:net').AddressInfo} */ (server.address()).port;
}

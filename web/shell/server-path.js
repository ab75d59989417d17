// @ts-check
// The paths of the server, which may be below a base path, and what requests to them share.

/**
 * Returns a path of the server as the browser requests it: behind a proxy, `/api/links` may be
 * `/ratoon/api/links`. The server writes its base path into every page.
 * @param {string} path
 */
export const serverPath = (path) => (globalThis.document?.documentElement?.dataset?.base ?? '') + path;

/** The options of a request with a JSON body. @param {object} body */
export const jsonRequest = (body, method = 'POST') => ({
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
});

// @ts-check
// Share links: the one place that knows how they are asked for and how they look.

/** Makes a link to a state. @param {string} notebook @param {'view' | 'run'} scope @param {string} state @returns {Promise<string>} */
export async function makeLink(notebook, scope, state) {
    const answer = await fetch('/api/links', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ scope, notebook }),
    });
    if (!answer.ok) throw new Error(`${answer.status}`);
    const { token } = await answer.json();
    const url = new URL(`/n/${encodeURIComponent(notebook)}`, location.origin);
    url.searchParams.set('token', token);
    url.hash = state;
    return url.href;
}

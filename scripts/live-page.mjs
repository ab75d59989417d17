// Shows the page of a running server with the files in `web/` as they are on disk, and reloads it when one
// of them changes. Everything else goes to the server. For work on the page.
//
// usage: node scripts/live-page.mjs ADDRESS [PORT]
// ADDRESS is what the server has printed, with its token. PORT is that of this script, else 8890.

import { watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const WEB = fileURLToPath(new URL('../web/', import.meta.url));
const TYPES = {
    '.js': 'text/javascript; charset=utf-8',
    '.css': 'text/css; charset=utf-8',
    '.svg': 'image/svg+xml',
    '.woff2': 'font/woff2',
    '.txt': 'text/plain; charset=utf-8',
};
/** The address at which pages learn of changes. */
const CHANGES = '/live-page/changes';
/** Goes to the script that every page runs first. */
const RELOAD = `\nnew EventSource('${CHANGES}').onmessage = () => location.reload();\n`;
/** Editors write a file in several steps, in milliseconds. */
const SETTLE_MS = 100;

const [address, port = '8890'] = process.argv.slice(2);
if (!address || !URL.canParse(address)) {
    console.error("usage: node scripts/live-page.mjs 'http://localhost:8888/?token=…' [PORT]");
    process.exit(2);
}
const server = new URL(address);

/** The headers of a request, as if it came from a page of the server. */
const forwarded = (headers) => ({
    ...headers,
    host: server.host,
    ...(headers.origin && { origin: server.origin }),
    'accept-encoding': 'identity',
});

/** The text of a file in `web/` that a path of the page's files names. */
async function file(path) {
    const [, name] = /^\/.*?assets\/[0-9a-f]+\/(.+)$/.exec(path) ?? [];
    const type = TYPES[extname(name ?? '')];
    if (!type || normalize(name) !== name || name.startsWith('..')) return null;
    const text = await readFile(join(WEB, name)).catch(() => null);
    return text && { type, text: name === 'early.js' ? text + RELOAD : text };
}

/** @type {Set<import('node:http').ServerResponse>} */
const pages = new Set();

function tellPages() {
    for (const page of pages) page.write('data: changed\n\n');
}

const proxy = createServer(async (asked, answer) => {
    const { pathname } = new URL(asked.url, server);
    if (pathname === CHANGES) {
        answer.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
        answer.flushHeaders();
        pages.add(answer);
        answer.on('close', () => pages.delete(answer));
        return;
    }
    const own = await file(pathname);
    if (own) {
        answer.writeHead(200, { 'content-type': own.type, 'cache-control': 'no-store' });
        answer.end(own.text);
        return;
    }
    const { method, url: path } = asked;
    const passed = request(new URL(path, server), { method, headers: forwarded(asked.headers) }, (got) => {
        answer.writeHead(got.statusCode, got.headers);
        got.pipe(answer);
    });
    passed.on('error', (error) => {
        if (!answer.headersSent) answer.writeHead(502, { 'content-type': 'text/plain' });
        answer.end(`the server at ${server.origin} does not answer: ${error.message}\n`);
    });
    answer.on('close', () => passed.destroy());
    asked.pipe(passed);
});

proxy.on('upgrade', (asked, socket, head) => {
    const passed = connect(Number(server.port || 80), server.hostname.replaceAll(/[[\]]/g, ''), () => {
        const lines = Object.entries(forwarded(asked.headers)).map(([name, value]) => `${name}: ${value}`);
        passed.write(`GET ${asked.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
        passed.write(head);
        socket.pipe(passed).pipe(socket);
    });
    for (const end of [socket, passed]) {
        end.on('error', () => {});
        end.on('close', () => [socket, passed].forEach((other) => other.destroy()));
    }
});

/** @type {ReturnType<typeof setTimeout> | undefined} */
let settling;
watch(WEB, { recursive: true }, () => {
    clearTimeout(settling);
    settling = setTimeout(tellPages, SETTLE_MS);
});

proxy.on('error', (error) => {
    console.error(`cannot listen on port ${port}: ${error.message}; give another as the second argument`);
    process.exit(1);
});
proxy.listen(Number(port), 'localhost', () => {
    const live = new URL(server);
    live.port = port;
    console.log(live.href);
});

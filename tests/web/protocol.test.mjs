// The names in the page's protocol match those in the server's source.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { COMMANDS, EVENTS, REPLIES } from '../../web/shell/protocol.js';

/** The variants of a Rust enum, as serde serializes them. */
async function variants(file, name) {
    const text = await readFile(new URL(`../../src/notebook/${file}.rs`, import.meta.url), 'utf8');
    const body = text.match(new RegExp(`pub enum ${name} \\{\\n(.*?)\\n\\}`, 's'))?.[1];
    assert.ok(body, `there is an enum ${name} in ${file}.rs`);
    const known = body.replace(/^ {4}#\[serde\(skip\)\]\n {4}\w+/gm, '');
    const each = known.matchAll(/(?:^ {4}#\[serde\(rename = "(\w+)"\)\]\n)?^ {4}([A-Z]\w*)/gm);
    return [...each].map(
        ([, renamed, word]) =>
            renamed ?? word.replace(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase(),
    );
}

test('the page has the names of all commands', async () =>
    assert.deepEqual(Object.keys(COMMANDS), await variants('command', 'Command')));
test('the page has the names of all events', async () => {
    const known = [...(await variants('event', 'Fact')), ...(await variants('event', 'Live'))];
    assert.deepEqual(Object.keys(EVENTS).sort(), known.sort());
});
test('the page has the names of all replies', async () =>
    assert.deepEqual([...REPLIES], await variants('command', 'Reply')));

test('no command has a field with the name of its number in messages', async () => {
    const text = await readFile(new URL('../../src/notebook/command.rs', import.meta.url), 'utf8');
    assert.doesNotMatch(text.match(/pub enum Command \{\n.*?\n\}/s)[0], /^ {8}(id|do):/m);
});

// The addresses of pictures in text cells. The server has the same rules (src/formats/tests.rs).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPicture, localPath, pictureAt } from '../../web/outputs/local-images.js';

test('only paths below the directory are local', () => {
    for (const [address, path] of /** @type {[string, string | null][]} */ ([
        ['fig.png', 'fig.png'],
        ['./a//b%20c.png?x#y', 'a/b c.png'],
        ['a/../b.png', 'b.png'],
        ['../b.png', null],
        ['a/../../b.png', null],
        ['%2e%2e/b.png', null],
        ['/etc/x.png', null],
        ['//host/x.png', null],
        ['https://host/x.png', null],
        ['data:image/png;base64,x', null],
        ['attachment:x.png', null],
        ['a\\b.png', null],
        ['%ff.png', null],
        ['', null],
        ['?x', null],
        ['..', null],
    ]))
        assert.equal(localPath(address), path, address);
});

test('a text shows pictures of the directory and attachments, and nothing else of the server', () => {
    const at = (address) => pictureAt('my notebook', address, 7);
    assert.equal(at('plots/a%20b.png'), '/api/notebooks/my%20notebook/pictures/plots/a%20b.png?v=7');
    assert.equal(
        at('attachment:image%20(1).png'),
        '/api/notebooks/my%20notebook/attachments/image%20(1).png',
    );
    assert.equal(at('ATTACHMENT:x.PNG'), '/api/notebooks/my%20notebook/attachments/x.PNG');
    for (const other of [
        'data.csv',
        'attachment:x.html',
        'attachment:../x.png',
        'attachment:',
        'https://host/x.png',
        '/api/notebooks/main/pictures/x.png',
        'javascript:x.png',
    ])
        assert.equal(at(other), null, other);
    assert.ok(isPicture('A.JPeG') && !isPicture('png') && !isPicture('a.svg.html'));
});

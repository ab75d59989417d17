// The height that a frame reserves before its content reports one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimatedHeight } from '../../web/outputs/frame-height.js';

const table = (rows, around = '') =>
    `<div><style scoped>.dataframe tbody tr th { vertical-align: top; }</style>
    <table border="1" class="dataframe">${'<tr style="text-align: right;"><th>a</th></tr>'.repeat(rows)}</table>${around}</div>`;

test('the height of a pandas table follows from the rows of its HTML', () => {
    assert.equal(estimatedHeight(table(4)), 113);
    assert.equal(estimatedHeight(table(11)) - estimatedHeight(table(1)), 275);
    assert.equal(estimatedHeight(table(4, '\n<p>300 rows × 1 columns</p>')) - estimatedHeight(table(4)), 24);
});

test('other content has no estimated height', () => {
    assert.equal(estimatedHeight('<p>text</p>'), 0);
    assert.equal(estimatedHeight('<table><tr><td>not of pandas</td></tr></table>'), 0);
    assert.equal(estimatedHeight(`${table(3)}<script>draw()</script>`), 0);
    assert.equal(estimatedHeight(`${table(3)}<img src="data:,">`), 0);
});

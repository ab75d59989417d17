// The settings of the browser: what is stored, and what an invalid stored value means.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settingsIn } from '../../web/settings/settings.js';

const DEFAULTS = {
    codeSize: 13,
    tabWidth: 4,
    wraps: false,
    numbers: false,
    autoclose: true,
    advances: true,
    diagnostics: true,
    vim: false,
};

/** @param {Record<string, string>} stored */
const reading = (stored) => settingsIn((key) => stored[key] ?? null);

test('without stored values, the settings are the defaults', () => {
    assert.deepEqual(reading({}), DEFAULTS);
});

test('stored values are read', () => {
    assert.deepEqual(
        reading({
            'ratoon.codeSize': '20',
            'ratoon.tabWidth': '8',
            'ratoon.wraps': 'yes',
            'ratoon.lineNumbers': 'yes',
            'ratoon.autoclose': 'no',
            'ratoon.advances': 'no',
            'ratoon.diagnostics': 'no',
            'ratoon.vim': 'yes',
        }),
        {
            ...{ codeSize: 20, tabWidth: 8, wraps: true, numbers: true },
            ...{ autoclose: false, advances: false, diagnostics: false, vim: true },
        },
    );
});

test('an invalid stored value is replaced by the default, and the others are kept', () => {
    for (const bad of ['', '11', '21', '13.5', 'NaN', '1e9', 'true', '{"a":1}'])
        assert.deepEqual(
            reading({
                'ratoon.codeSize': bad,
                'ratoon.tabWidth': bad,
                'ratoon.wraps': bad,
                'ratoon.lineNumbers': 'yes',
                'ratoon.vim': bad,
            }),
            { ...DEFAULTS, numbers: true },
            bad,
        );
});

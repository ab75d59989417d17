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
const reading = (stored) => settingsIn((name) => stored[name] ?? null);

test('without stored values, the settings are the defaults', () => {
    assert.deepEqual(reading({}), DEFAULTS);
});

test('stored values are read', () => {
    assert.deepEqual(
        reading({
            codeSize: '20',
            tabWidth: '8',
            wraps: 'yes',
            numbers: 'yes',
            autoclose: 'no',
            advances: 'no',
            diagnostics: 'no',
            vim: 'yes',
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
                codeSize: bad,
                tabWidth: bad,
                wraps: bad,
                numbers: 'yes',
                vim: bad,
            }),
            { ...DEFAULTS, numbers: true },
            bad,
        );
});

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { COLOURS } from '../../web/graph/layout.js';
import { COLOURS as PEOPLE } from '../../web/presence/presence.js';

const css = (path) => readFile(fileURLToPath(new URL(`../../web/${path}`, import.meta.url)), 'utf8');

/** The colours of a CSS custom property in the light and in the dark theme, in linear light. */
function themes(text) {
    const [, light, dark] = text.match(/light-dark\(#(\w{6}), #(\w{6})\)/);
    return [light, dark].map((hex) =>
        [0, 2, 4].map((at) => {
            const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
            return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        }),
    );
}

const times = (matrix, colour) =>
    matrix.map((row) => row.reduce((sum, part, i) => sum + part * colour[i], 0));

/**
 * What people with complete colour blindness of each kind see, in linear light. The matrices are
 * those of Machado, Oliveira and Fernandes (2009), severity 1.0.
 */
const SIGHTS = {
    usual: [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
    ],
    protanopia: [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    deuteranopia: [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    tritanopia: [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
};

/**
 * Oklab (Ottosson, 2020), in which the distance of two colours is about how different they look.
 */
function oklab(colour) {
    const cones = times(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ],
        colour,
    ).map((one) => Math.cbrt(Math.max(0, one)));
    return times(
        [
            [0.2104542553, 0.793617785, -0.0040720468],
            [1.9779984951, -2.428592205, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.808675766],
        ],
        cones,
    );
}

const distance = (one, other) => Math.hypot(...one.map((part, i) => part - other[i]));
const luminance = (colour) => times([[0.2126, 0.7152, 0.0722]], colour)[0];
function contrast(one, other) {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
}

/** The colour of each branch, by theme. */
async function palette() {
    const [base, graph] = await Promise.all([css('style/base.css'), css('graph/branch-names.css')]);
    const property = (name) => base.split('\n').find((line) => line.includes(`--${name}: light-dark`));
    const own = [...graph.matchAll(/\[data-branch="\d"\] \{ --branch: (.*?); \}/g)].map(([, text]) => text);
    const all = [property('accent'), ...own].map(themes);
    const papers = themes(property('paper'));
    return [0, 1].map((theme) => ({ paper: papers[theme], colours: all.map((one) => one[theme]) }));
}

function differ(colours) {
    for (const [kind, matrix] of Object.entries(SIGHTS)) {
        const seen = colours.map((colour) => oklab(times(matrix, colour)));
        for (const [i, one] of seen.entries())
            for (const [k, other] of seen.slice(0, i).entries())
                assert.ok(distance(one, other) > 0.08, `${kind}: colours ${k} and ${i} look alike`);
    }
}

test('the colours of branches differ in every kind of sight, in both themes', async () => {
    for (const { colours } of await palette()) {
        assert.equal(colours.length, COLOURS);
        differ(colours);
    }
});

test('the colours of people differ in every kind of sight, and their names are readable on them', async () => {
    const [people, base] = await Promise.all([css('presence/presence.css'), css('style/base.css')]);
    const all = [...people.matchAll(/--person-\d: (.*?);/g)].map(([, text]) => themes(text));
    assert.equal(all.length, PEOPLE);
    const inks = themes(people.match(/color: (light-dark\(.*?\));/)[1]);
    const papers = themes(base.split('\n').find((line) => line.includes('--paper: light-dark')));
    for (const theme of [0, 1]) {
        const colours = all.map((one) => one[theme]);
        differ(colours);
        for (const [i, colour] of colours.entries()) {
            assert.ok(contrast(colour, inks[theme]) >= 4.5, `name on colour ${i}`);
            assert.ok(contrast(colour, papers[theme]) >= 3, `colour ${i} on the paper`);
        }
    }
});

test('the colours of branches stand out from the paper by at least 3:1', async () => {
    for (const { paper, colours } of await palette())
        for (const [i, colour] of colours.entries())
            assert.ok(contrast(colour, paper) >= 3, `colour ${i}: ${contrast(colour, paper)}`);
});

// Walks through the main job of the page with the keyboard alone, and writes down what a screen
// reader conveys at each step: the focused element, as Chromium's accessibility tree has it, and
// the live announcements. The transcript must equal screen-reader.golden.txt. After an intended
// change, RATOON_GOLDEN=1 writes that file: read it as a blind user would before you commit it.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { nightly, PATIENCE, startServer } from './browser.mjs';
import { allParts, open, testWithoutPage as test } from './harness.mjs';

const GOLDEN = new URL('screen-reader.golden.txt', import.meta.url);

/** Runs in the page: collects what its live regions say. */
function listenToRegions() {
    const LIVE = '[role="status"], [role="alert"], [aria-live]';
    globalThis.heard = [];
    /** A modal dialog and `inert` silence the regions outside or inside of them. */
    const isSilent = (region) => {
        const modal = document.querySelector('dialog:modal');
        return region.closest('[inert], [aria-hidden="true"]') || (modal && !modal.contains(region));
    };
    const say = (region) => {
        const text = region.textContent.replace(/\s+/g, ' ').trim();
        if (text && !isSilent(region)) globalThis.heard.push(text);
    };
    new MutationObserver((records) => {
        const regions = new Set();
        for (const { target, addedNodes } of records) {
            const element = target instanceof Element ? target : target.parentElement;
            const region = element?.closest(LIVE);
            if (region) regions.add(region);
            // An alert is announced when it appears, another region only when it changes.
            for (const node of addedNodes)
                if (node instanceof Element)
                    for (const alert of [node, ...node.querySelectorAll('*')])
                        if (alert.matches('[role="alert"]')) regions.add(alert);
        }
        for (const region of regions) if (region.isConnected) say(region);
    }).observe(document, { subtree: true, childList: true, characterData: true });
}

/** Durations, sizes (which come late), times and the server's address differ between runs. */
const steady = (text) =>
    text
        .replace(/(< )?\b\d+(\.\d+)? m?s\b/g, 'N ms')
        .replace(/\b[A-Z][a-z]{2} \d+, \d{4}(, \d+:\d+(:\d+)?\s[AP]M)?/g, 'DATE')
        .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
        .replace(/token=[\w-]+/g, 'token=TOKEN')
        .replace(/-L \d+:127\.0\.0\.1:PORT/g, '-L PORT:127.0.0.1:PORT')
        .replace(/#[\w-]{20,}/g, '#STATE')
        .replace(/ · [\d.]+ [kM]?B\b( own, [\d.]+ [kM]?B shared\b)?/g, '');

class ScreenReader {
    constructor(page, cdp) {
        this.page = page;
        this.cdp = cdp;
        this.lines = [];
    }

    /** The focused element, or the one that it names as its active descendant. */
    async focused() {
        const { result } = await this.cdp.send('Runtime.evaluate', {
            expression: `(() => {
                const at = document.activeElement;
                return document.getElementById(at.getAttribute('aria-activedescendant')) ?? at;
            })()`,
        });
        const { nodes } = await this.cdp.send('Accessibility.getPartialAXTree', {
            objectId: result.objectId,
            fetchRelatives: false,
        });
        const { result: place } = await this.cdp.send('Runtime.callFunctionOn', {
            objectId: result.objectId,
            functionDeclaration: `function () {
                const nth = this.getAttribute('aria-posinset');
                return nth ? nth + ' of ' + this.getAttribute('aria-setsize') : '';
            }`,
            returnByValue: true,
        });
        const [{ role, name, value, description, properties = [] }] = nodes;
        const has = Object.fromEntries(properties.map((one) => [one.name, one.value.value]));
        const states = [
            value?.value && role.value !== 'option' && `value ${JSON.stringify(value.value)}`,
            has.expanded !== undefined && (has.expanded ? 'expanded' : 'collapsed'),
            has.pressed === 'true' && 'pressed',
            has.checked === 'true' && 'checked',
            has.selected && role.value !== 'textbox' && 'selected',
            has.disabled && 'disabled',
            has.readonly && 'read only',
            has.hasPopup && `opens a ${has.hasPopup}`,
            has.level && `level ${has.level}`,
            place.value,
        ].filter(Boolean);
        const said = [`${role.value} ${JSON.stringify(name?.value ?? '')}`, ...states].join(', ');
        return description?.value ? `${said}: ${description.value}` : said;
    }

    write(...lines) {
        this.lines.push(...lines.map((line) => steady(line).replaceAll('\n', ' ⏎ ')));
    }

    title(text) {
        this.lines.push('', `## ${text}`);
    }

    /**
     * Presses keys or types text, waits until `until` was announced and `shows` exists, if given,
     * and writes down the focus and all announcements.
     */
    async press(keys, { until = '', shows = '', types = false } = {}) {
        for (const key of types ? [] : keys.split(' ')) await this.page.keyboard.press(key);
        if (types) await this.page.keyboard.insertText(keys);
        if (until) await this.hears(until);
        if (shows) await this.page.waitForSelector(shows);
        this.write(`${types ? 'type' : 'press'} ${keys}`);
        await this.tell();
    }

    async hears(until) {
        await this.page
            .waitForFunction((wanted) => globalThis.heard.some((text) => text.includes(wanted)), until, {
                timeout: PATIENCE,
            })
            .catch(async () => {
                const heard = await this.page.evaluate(() => globalThis.heard);
                throw new Error(`“${until}” was not announced, but ${JSON.stringify(heard)}\n${this.text}`);
            });
    }

    async tell() {
        // Two frames, so that the page has painted what the key did.
        const heard = await this.page.evaluate(
            () =>
                new Promise((done) =>
                    requestAnimationFrame(() =>
                        requestAnimationFrame(() => done(globalThis.heard.splice(0))),
                    ),
                ),
        );
        // On a fast machine, the variables are there at once.
        const steadily = heard.filter((text) => !text.startsWith('Loading the variables'));
        this.write(`    on ${await this.focused()}`, ...steadily.map((text) => `    hear “${text}”`));
    }

    /** Writes down what reading a part of the page says. */
    async read(selector) {
        const tree = await this.page.locator(selector).last().ariaSnapshot();
        this.write(`read ${selector}`, ...tree.split('\n').map((line) => `    | ${line}`));
    }

    get text() {
        return `${this.lines.join('\n').trim()}\n`;
    }
}

test(
    'what a screen reader says on the way through the main job, by keyboard alone',
    nightly({
        skip: !process.env.RATOON_BIN,
    }),
    async (t) => {
        // How far a state is saved depends on the time.
        const server = await startServer('--no-checkpoints');
        t.after(() => server.stop());
        const page = await open(server.url);
        await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
        await page.addInitScript(listenToRegions);
        await page.reload();
        await page.waitForSelector('.notebook[aria-busy="false"]');
        await allParts(page);
        const cdp = await page.context().newCDPSession(page);
        const reader = new ScreenReader(page, cdp);
        const graph = () => page.locator('#graph').focus();

        reader.title('The page opens');
        await page.waitForFunction(() => document.activeElement?.closest('.cm-editor'));
        await reader.tell();

        reader.title('Run a cell');
        await reader.press('x = 1', { types: true });
        await reader.press('Shift+Enter', { until: 'Cell 1 finished' });

        reader.title('An error, and the way back');
        await reader.press('y = x / 0', { types: true });
        await reader.press('Control+Enter', { until: 'Cell failed' });
        await reader.read('.cell[data-status="error"]');
        await reader.press('Enter');
        await reader.press('Control+a');
        await reader.press('y = x + 1', { types: true });
        await reader.press('Shift+Enter', { until: 'Cell 2 finished' });
        await reader.press('print(x, y)', { types: true });
        await reader.press('Shift+Enter', { until: 'Cell 3 finished' });
        await reader.press('Escape');
        await reader.press('ArrowUp');
        await reader.press('ArrowUp');
        await reader.read('.cell[data-kind="ran"]');

        reader.title('Go to an earlier state');
        await reader.press('g');
        await reader.press('ArrowUp');
        await reader.press('ArrowUp');
        await reader.press('ArrowLeft');
        await reader.press('Enter', { until: 'The page shows' });

        reader.title('Branch');
        await reader.press('Enter');
        await reader.press('y = x * 10', { types: true });
        await reader.press('Shift+Enter', { until: 'branches from cell 1' });
        await reader.press('Escape');
        await reader.press('g');
        await reader.press('ArrowDown');
        await reader.read('#graph');

        reader.title('Compare');
        await reader.press('End');
        await reader.press('Shift+Enter', { shows: '.compare-value' });
        await reader.read('.compare');
        await reader.press('Escape');

        reader.title('Share');
        await page.waitForSelector('.compare', { state: 'detached' });
        await graph();
        await reader.press('F1');
        await reader.press('share', { types: true });
        await reader.press('Enter', { shows: 'dialog .reach' });
        await reader.read('dialog');
        await reader.press('Enter', { until: 'The link is copied', shows: 'dialog .links' });
        await reader.read('dialog .links');
        for (let i = 0; i < 3; i += 1) await reader.press('Tab');
        await reader.press('Escape');

        if (process.env.RATOON_GOLDEN) await writeFile(GOLDEN, reader.text);
        assert.equal(reader.text, await readFile(GOLDEN, 'utf8').catch(() => ''), 'the transcript');
    },
);

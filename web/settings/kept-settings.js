// @ts-check
// Keeps the owner's settings on the server, for all browsers in which the owner opens notebooks.
// This browser has a copy, with which the page starts. At a guest, or without the server, the
// browser alone has them.

import { jsonRequest, serverPath } from '../shell/server-path.js';
import { chosenTheme, onTheme, setTheme } from '../ui/theme.js';
import { onSettings, setSetting, settings, settingsIn, written } from './settings.js';

/** @typedef {Record<string, string>} Texts settings as texts, by name, as the server keeps them */

const PATH = '/api/settings';
/** What the server kept when this browser last heard of it. */
const KEPT = 'ratoon.keptSettings';

let [isWatching, isSending, isUnanswered] = [false, false, false];
/** @type {Set<() => void>} */
const listeners = new Set();

/** Whether the server did not answer the last request. */
export const hasFailed = () => isUnanswered;

/** @param {() => void} listener called after each request @returns {() => void} removes it */
export function onKept(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
}

/** @param {string} theme @param {import('./settings.js').Settings} all @returns {Texts} */
const textsOf = (theme, all) => ({
    theme,
    ...Object.fromEntries(Object.entries(all).map(([name, value]) => [name, written(value)])),
});

/** The settings of this browser. */
const current = () => textsOf(chosenTheme(), settings());
/** The settings without any choice of the user. */
const DEFAULTS = Object.freeze(
    textsOf(
        'auto',
        settingsIn(() => null),
    ),
);

/** The settings that the user has changed in this browser since it last heard of the server's. */
function changed() {
    const kept = { ...DEFAULTS, ...parsed(localStorage.getItem(KEPT)) };
    return Object.fromEntries(Object.entries(current()).filter(([name, text]) => kept[name] !== text));
}

/** @param {string | null} text @returns {Texts} */
function parsed(text) {
    try {
        return JSON.parse(text ?? '{}');
    } catch {
        return {};
    }
}

/** @param {Texts} texts */
function take(texts) {
    const found = settingsIn((name) => texts[name] ?? null);
    for (const name of /** @type {(keyof typeof found)[]} */ (Object.keys(found)))
        if (found[name] !== settings()[name]) setSetting(name, found[name]);
    if (texts.theme && texts.theme !== chosenTheme()) setTheme(texts.theme);
}

/** @param {RequestInit} [request] @returns {Promise<Texts | null>} null without an answer */
async function ask(request) {
    const answer = await fetch(serverPath(PATH), request).catch(() => null);
    isUnanswered = !answer?.ok;
    return answer?.ok ? (await answer.json()).settings : null;
}

/** Sends changes until there are none, or the server does not answer. */
async function send() {
    const changes = changed();
    if (isSending || Object.keys(changes).length === 0) return;
    isSending = true;
    const kept = await ask(jsonRequest({ settings: changes }, 'PATCH'));
    isSending = false;
    if (kept) {
        localStorage.setItem(KEPT, JSON.stringify(kept));
        void send();
    }
    for (const listener of listeners) listener();
}

/**
 * Takes the owner's settings from the server, and sends it each change from now on. Called at each
 * connection.
 */
export async function keepSettings() {
    const kept = await ask();
    for (const listener of listeners) listener();
    if (!kept) return;
    const changes = changed();
    localStorage.setItem(KEPT, JSON.stringify(kept));
    take({ ...current(), ...kept, ...changes });
    if (!isWatching) {
        onSettings(() => void send());
        onTheme(() => void send());
    }
    isWatching = true;
    void send();
}

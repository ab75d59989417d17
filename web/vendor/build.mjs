// Makes the bundles in this folder: the only way third-party code enters the page.
//
// Each bundle is a list of re-exports, so the same text is also the bundle's type declaration. The packages and
// esbuild are pinned by package-lock.json, and the output depends on nothing else: a test builds into another folder
// and compares byte for byte.
//
// Run: npm ci --ignore-scripts && npm run vendor

import { build } from 'esbuild';
import { copyFile, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = resolve(HERE, '../..');

/** Bundle name → what it exports. */
const BUNDLES = {
    preact: `
export { h, render, Component, Fragment, createRef } from 'preact';
export { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback } from 'preact/hooks';
export { html } from 'htm/preact';
`,
    codemirror: `
export { ChangeSet, Compartment, EditorState, Prec, RangeSetBuilder, StateEffect, StateEffectType, StateField, Text, Transaction, Annotation } from '@codemirror/state';
export { EditorView, Decoration, ViewPlugin, ViewUpdate, keymap, placeholder, highlightSpecialChars, lineNumbers, WidgetType, drawSelection, rectangularSelection, crosshairCursor, showTooltip, tooltips } from '@codemirror/view';
export { defaultKeymap, history, historyKeymap, indentMore, indentLess, toggleComment } from '@codemirror/commands';
export { HighlightStyle, syntaxHighlighting, bracketMatching, indentOnInput, indentUnit } from '@codemirror/language';
export { autocompletion, startCompletion, closeCompletion, acceptCompletion, completionStatus, currentCompletions, selectedCompletionIndex, setSelectedCompletion, closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete';
export { selectNextOccurrence, selectSelectionMatches } from '@codemirror/search';
export { diff, presentableDiff } from '@codemirror/merge';
export { pythonLanguage } from '@codemirror/lang-python';
export { highlightTree, tagHighlighter, tags } from '@lezer/highlight';
`,
    markdown: `
export { default as MarkdownIt } from 'markdown-it';
export { default as DOMPurify } from 'dompurify';
`,
    katex: `
export { default as katex } from 'katex';
`,
};

/**
 * CodeMirror's style-mod uses constructed style sheets inside shadow roots only, and a <style> element in a document: the
 * page's policy refuses that one. It takes one condition to let documents have the same.
 */
const constructedSheets = {
    name: 'constructed-sheets',
    setup(/** @type {import('esbuild').PluginBuild} */ { onLoad }) {
        onLoad({ filter: /style-mod[/\\]src[/\\]style-mod\.js$/ }, async ({ path }) => {
            const before = await readFile(path, 'utf8');
            const contents = before.replace(
                'if (!root.head && root.adoptedStyleSheets',
                'if (root.adoptedStyleSheets',
            );
            if (contents === before)
                throw new Error('style-mod has changed: look at how it mounts its sheets');
            return { contents };
        });
    },
};

/** Builds all bundles, their declarations and the licences into a folder. */
export async function buildVendor(/** @type {string} */ into) {
    await mkdir(into, { recursive: true });
    const packages = new Set();
    for (const [name, contents] of Object.entries(BUNDLES)) {
        const { metafile } = await build({
            stdin: { contents, resolveDir: ROOT, sourcefile: `${name}.entry.js` },
            absWorkingDir: ROOT,
            // The packages' names are read from their paths, also where the folder is a link.
            preserveSymlinks: true,
            outfile: join(into, `${name}.js`),
            bundle: true,
            format: 'esm',
            target: 'es2022',
            minify: true,
            charset: 'utf8',
            legalComments: 'none',
            metafile: true,
            plugins: [constructedSheets],
            logLevel: 'warning',
        });
        await writeFile(join(into, `${name}.d.ts`), contents.trimStart());
        for (const input of Object.keys(metafile.inputs)) {
            const found = input.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//);
            if (found) packages.add(found[1]);
        }
    }
    await copyKatexStyle(into);
    await writeFile(join(into, 'LICENSES.txt'), await licences([...packages].sort()));
}

/** KaTeX's style sheet and its fonts, in the one format that every browser of today reads. */
async function copyKatexStyle(/** @type {string} */ into) {
    const from = join(ROOT, 'node_modules/katex/dist');
    const css = await readFile(join(from, 'katex.min.css'), 'utf8');
    const own = css.replace(
        /url\(fonts\/([\w-]+\.woff2)\) format\("woff2"\)[^;}]*/g,
        'url($1) format("woff2")',
    );
    if (/url\(fonts/.test(own) || own === css)
        throw new Error('katex has changed: look at how its style names its fonts');
    await writeFile(join(into, 'katex.css'), own);
    for (const [, name] of own.matchAll(/url\(([\w-]+\.woff2)\)/g))
        await copyFile(join(from, 'fonts', name), join(into, name));
}

async function licences(/** @type {string[]} */ packages) {
    const parts = ['The bundles beside this file contain code of these packages.\n'];
    for (const name of packages) {
        const folder = join(ROOT, 'node_modules', name);
        const { version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
        const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
        if (!file) throw new Error(`${name} has no licence file`);
        const text = await readFile(join(folder, file), 'utf8');
        parts.push(`${'-'.repeat(80)}\n${name} ${version} (${license})\n\n${text.trim()}\n`);
    }
    return parts.join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildVendor(HERE);

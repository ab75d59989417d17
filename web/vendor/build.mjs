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
export { ChangeSet, Compartment, countColumn, EditorSelection, EditorState, Prec, RangeSetBuilder, StateEffect, StateEffectType, StateField, Text, Transaction, Annotation } from '@codemirror/state';
export { EditorView, Decoration, ViewPlugin, ViewUpdate, keymap, placeholder, highlightSpecialChars, lineNumbers, WidgetType, drawSelection, rectangularSelection, crosshairCursor, showTooltip, tooltips } from '@codemirror/view';
export { defaultKeymap, history, historyField, historyKeymap, isolateHistory, indentMore, indentLess, redoDepth, toggleComment, undoDepth } from '@codemirror/commands';
export { HighlightStyle, syntaxHighlighting, bracketMatching, indentOnInput, indentUnit, defineLanguageFacet, foldNodeProp, foldService, indentNodeProp, Language, languageDataProp, LanguageDescription, LanguageSupport, ParseContext, syntaxTree } from '@codemirror/language';
export { autocompletion, startCompletion, closeCompletion, acceptCompletion, completionStatus, currentCompletions, selectedCompletionIndex, setSelectedCompletion, closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete';
export { selectNextOccurrence, selectSelectionMatches } from '@codemirror/search';
export { diff, presentableDiff } from '@codemirror/merge';
export { pythonLanguage } from '@codemirror/lang-python';
export { highlightTree, styleTags, Tag, tagHighlighter, tags } from '@lezer/highlight';
export { IterMode, NodeProp, NodeSet, NodeType, Parser, parseMixed, Tree } from '@lezer/common';
export { CharCategory, codePointAt, codePointSize, combineConfig, Facet, findClusterBreak, fromCodePoint, MapMode, RangeSet } from '@codemirror/state';
export { activateHover, Direction, getPanel, gutter, GutterMarker, hoverTooltip, logException, runScopeHandlers, showPanel } from '@codemirror/view';
export { cursorCharBackward, cursorCharLeft, cursorLineBoundaryBackward, cursorLineBoundaryForward, indentSelection, insertNewlineAndIndent, redo, toggleLineComment, undo } from '@codemirror/commands';
export { ensureSyntaxTree, foldCode, matchBrackets, StringStream } from '@codemirror/language';
`,
    markdown: `
export { default as MarkdownIt } from 'markdown-it';
export { default as DOMPurify } from 'dompurify';
`,
    'markdown-editing': `
export { deleteMarkupBackward, insertNewlineContinueMarkup, markdownLanguage } from '@codemirror/lang-markdown';
export { parseCode } from '@lezer/markdown';
`,
    lint: `
export { closeLintPanel, forEachDiagnostic, nextDiagnostic, openLintPanel, previousDiagnostic, setDiagnostics } from '@codemirror/lint';
`,
    vim: `
export { getCM, Vim, vim } from '@replit/codemirror-vim';
`,
    xterm: `
export { Terminal } from '@xterm/xterm';
export { FitAddon } from '@xterm/addon-fit';
`,
    katex: `
export { default as katex } from 'katex';
`,
    widgets: `
export * as base from '@jupyter-widgets/base';
export * as controls from '@jupyter-widgets/controls';
export { ManagerBase } from '@jupyter-widgets/base-manager';
export { Widget } from '@lumino/widgets';
export { MessageLoop } from '@lumino/messaging';
export { default as anywidget } from 'anywidget';
`,
};

/** The style of widgets, with the font of their icons. The frame that shows widgets gets it as text. */
const WIDGETS_STYLE = `
@import '@jupyter-widgets/base/css/index.css';
@import '@jupyter-widgets/controls/css/widgets.css';
@import 'font-awesome/css/font-awesome.css';
`;

/** Packages without a licence file: the file in scripts/licences/ that has the text. */
const LICENCES = /** @type {[RegExp, string][]} */ ([
    [/^@jupyter-widgets\//, 'jupyter-widgets.txt'],
    [/^@lumino\//, 'lumino.txt'],
    [/^font-awesome$/, 'font-awesome.txt'],
]);

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

/**
 * CodeMirror's packages compare their objects by identity, so the bundles beside codemirror.js import from that bundle what
 * both need.
 */
const sharedCodemirror = {
    name: 'shared-codemirror',
    setup(/** @type {import('esbuild').PluginBuild} */ { onResolve }) {
        const filter =
            /^(@codemirror\/(autocomplete|commands|language|state|view)|@lezer\/(common|highlight))$/;
        onResolve({ filter }, () => ({ path: './codemirror.js', external: true, sideEffects: false }));
    },
};

/**
 * anywidget is written for a loader of Jupyter. sanitize-html needs a parser of CSS and of HTML, and
 * DOMPurify does the same with the browser's own.
 */
const widgetModules = {
    name: 'widget-modules',
    setup(/** @type {import('esbuild').PluginBuild} */ { onLoad, onResolve }) {
        onLoad({ filter: /anywidget[/\\]dist[/\\]index\.js$/ }, async ({ path }) => {
            const before = await readFile(path, 'utf8');
            const contents = before.replace(
                'define(["@jupyter-widgets/base"], widget_default);',
                'export default widget_default;',
            );
            if (contents === before) throw new Error('anywidget has changed: look at how it is loaded');
            return { contents };
        });
        onResolve({ filter: /^sanitize-html$/ }, () => ({ path: 'sanitize-html', namespace: 'own' }));
        onLoad({ filter: /^sanitize-html$/, namespace: 'own' }, () => ({
            contents: `import DOMPurify from 'dompurify';
                export default (text, { allowedTags }) => DOMPurify.sanitize(text, { ALLOWED_TAGS: allowedTags });`,
            resolveDir: ROOT,
        }));
    },
};

const BESIDE_CODEMIRROR = new Set(['lint', 'markdown-editing', 'vim']);

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
            plugins: [
                constructedSheets,
                widgetModules,
                ...(BESIDE_CODEMIRROR.has(name) ? [sharedCodemirror] : []),
            ],
            logLevel: 'warning',
        });
        await writeFile(join(into, `${name}.d.ts`), contents.trimStart());
        notePackages(metafile, packages);
    }
    await copyKatexStyle(into);
    await copyFile(join(ROOT, 'node_modules/@xterm/xterm/css/xterm.css'), join(into, 'xterm.css'));
    await buildWidgetsStyle(into, packages);
    await writeFile(join(into, 'LICENSES.txt'), await licences([...packages].sort()));
}

function notePackages(
    /** @type {import('esbuild').Metafile} */ metafile,
    /** @type {Set<string>} */ packages,
) {
    const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
    for (const [input, { bytesInOutput }] of inputs) {
        if (!bytesInOutput) continue;
        const found = input.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//);
        if (found) packages.add(found[1]);
    }
}

async function buildWidgetsStyle(/** @type {string} */ into, /** @type {Set<string>} */ packages) {
    const { metafile } = await build({
        stdin: { contents: WIDGETS_STYLE, resolveDir: ROOT, sourcefile: 'widgets.entry.css', loader: 'css' },
        absWorkingDir: ROOT,
        preserveSymlinks: true,
        outfile: join(into, 'widgets.css'),
        bundle: true,
        minify: true,
        charset: 'utf8',
        legalComments: 'none',
        metafile: true,
        // Browsers read the first format that they know, which is woff2.
        loader: { '.woff2': 'dataurl', '.woff': 'empty', '.ttf': 'empty', '.eot': 'empty', '.svg': 'empty' },
        logLevel: 'warning',
    });
    notePackages(metafile, packages);
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
        const own = LICENCES.find(([pattern]) => pattern.test(name))?.[1];
        if (!file && !own) throw new Error(`${name} has no licence file`);
        const path = file ? join(folder, file) : join(ROOT, 'scripts/licences', own ?? '');
        const text = await readFile(path, 'utf8');
        parts.push(`${'-'.repeat(80)}\n${name} ${version} (${license})\n\n${text.trim()}\n`);
    }
    return parts.join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildVendor(HERE);

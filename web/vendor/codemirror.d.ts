export { ChangeSet, Compartment, EditorState, Prec, RangeSetBuilder, StateEffect, StateEffectType, StateField, Text, Transaction, Annotation } from '@codemirror/state';
export { EditorView, Decoration, ViewPlugin, ViewUpdate, keymap, placeholder, highlightSpecialChars, lineNumbers, WidgetType, drawSelection, rectangularSelection, crosshairCursor, showTooltip, tooltips } from '@codemirror/view';
export { defaultKeymap, history, historyKeymap, indentMore, indentLess, toggleComment } from '@codemirror/commands';
export { HighlightStyle, syntaxHighlighting, bracketMatching, indentOnInput, indentUnit } from '@codemirror/language';
export { autocompletion, startCompletion, closeCompletion, acceptCompletion, completionStatus, currentCompletions, selectedCompletionIndex, setSelectedCompletion, closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete';
export { selectNextOccurrence, selectSelectionMatches } from '@codemirror/search';
export { diff, presentableDiff } from '@codemirror/merge';
export { pythonLanguage } from '@codemirror/lang-python';
export { highlightTree, tagHighlighter, tags } from '@lezer/highlight';

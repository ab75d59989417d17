export { Compartment, EditorState, Prec, Transaction, Annotation } from '@codemirror/state';
export { EditorView, keymap, placeholder, highlightSpecialChars } from '@codemirror/view';
export { defaultKeymap, history, historyKeymap, indentMore, indentLess, toggleComment } from '@codemirror/commands';
export { HighlightStyle, syntaxHighlighting, bracketMatching, indentOnInput, indentUnit } from '@codemirror/language';
export { closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete';
export { search, searchKeymap } from '@codemirror/search';
export { pythonLanguage } from '@codemirror/lang-python';
export { tags } from '@lezer/highlight';

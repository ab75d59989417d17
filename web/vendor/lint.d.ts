export { closeLintPanel, forEachDiagnostic, nextDiagnostic, openLintPanel, previousDiagnostic, setDiagnostics } from '@codemirror/lint';

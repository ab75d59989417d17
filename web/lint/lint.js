// @ts-check
// The part of the page that finds problems in code and formats it; see lazy-parts.js.

export { CodeProblems } from './code-problems.js';
export { formatCell, formatDrafts } from './format-code.js';
export { goToNext, goToPrevious, toggleList } from './problem-marks.js';

export { default as katex } from 'katex';

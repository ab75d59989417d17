export { getCM, Vim, vim } from '@replit/codemirror-vim';

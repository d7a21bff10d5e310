export { type CodeBlock, placeOf } from './code-block.ts';
export type { Attributes } from './info-string.ts';
export { blocksIn, type Page, readPages } from './read-pages.ts';

export type { TokenTextKind } from './token-text.ts';
export { createTokenText, parseTokenText, tokenSha256 } from './token-text.ts';

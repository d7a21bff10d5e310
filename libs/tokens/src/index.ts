export type { TokenTextKind } from './token-text.ts';
export { createTokenText, parseTokenText, tokenSha256, tokenSha256Text } from './token-text.ts';

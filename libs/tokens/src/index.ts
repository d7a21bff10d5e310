export { scopedKey } from './scoped-key.ts';
export { detailProblems, type GivenDetails, maxKeepOldSeconds, type TokenLimits } from './token-rules.ts';
export type { TokenTextKind } from './token-text.ts';
export { createTokenText, parseTokenText, tokenSha256 } from './token-text.ts';

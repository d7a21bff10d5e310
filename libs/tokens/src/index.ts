export { scopedKey } from './scoped-key.ts';
export {
  detailProblems,
  type GivenAccess,
  type GivenDetails,
  type GivenGroup,
  type GroupBudget,
  type GroupLimits,
  groupProblems,
  isAccountLabel,
  isLimited,
  maxKeepOldSeconds,
  requestsAtATimeOfBudget,
  type TokenLimits,
} from './token-rules.ts';
export type { TokenTextKind } from './token-text.ts';
export { createTokenText, parseTokenText, tokenSha256, tokenTextFrom } from './token-text.ts';

export { lastReasoningAfter, lastReasoningIn, type ReasoningMember, reasoningDigest } from './encrypted-reasoning.ts';

export { digestOfSeal, lastSealBehind, lastSealedReasoning, type SealMember } from './sealed-reasoning.ts';

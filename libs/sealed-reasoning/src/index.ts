export { digestOfSeal, lastSealedReasoning, type SealMember } from './sealed-reasoning.ts';

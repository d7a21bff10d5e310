export { digestOfSeal, lastSealedReasoning, lastSealedReasoningInTurns, type SealMember } from './sealed-reasoning.ts';

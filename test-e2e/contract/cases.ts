import { chatCases } from './chat-cases.ts';
import type { ContractCase } from './contract-case.ts';
import { countTokensCases, messagesCases } from './messages-cases.ts';
import { otherCases } from './other-cases.ts';
import { responsesCases } from './responses-cases.ts';

/**
 * Every cell of the contract except those that need a fault of the gateway.
 */
export const contractCases: readonly ContractCase[] = [
  ...chatCases,
  ...messagesCases,
  ...countTokensCases,
  ...responsesCases,
  ...otherCases,
];

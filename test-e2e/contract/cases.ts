import { chatCases } from './chat-cases.ts';
import type { ContractCase } from './contract-case.ts';
import { countTokensCases, messagesCases } from './messages-cases.ts';
import { otherCases } from './other-cases.ts';
import { responsesCases } from './responses-cases.ts';

/**
 * Every cell of the contract except `internal_error`, which needs a missing part of the gateway.
 */
export const contractCases: readonly ContractCase[] = [
  ...chatCases,
  ...messagesCases,
  ...countTokensCases,
  ...responsesCases,
  ...otherCases,
];

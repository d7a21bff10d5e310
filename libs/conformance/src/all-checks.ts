import type { Check } from './check.ts';
import { formatChecks } from './checks/index.ts';
import { operationsFailover } from './checks/operations-failover.ts';
import { operationsLimits } from './checks/operations-limits.ts';
import { operationsStreams } from './checks/operations-streams.ts';
import { specificationAnswers } from './checks/specification-answers.ts';
import { specificationErrors } from './checks/specification-errors.ts';
import { specificationLimits } from './checks/specification-limits.ts';
import { specificationRelays } from './checks/specification-relays.ts';

/** Every check, in the order of reports. */
export const allChecks: readonly Check[] = [
  formatChecks,
  operationsLimits,
  operationsStreams,
  operationsFailover,
  specificationErrors,
  specificationAnswers,
  specificationRelays,
  specificationLimits,
].flat();

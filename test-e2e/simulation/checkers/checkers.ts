import { accessRules } from './access-rules.ts';
import { answered } from './answered.ts';
import { budget } from './budget.ts';
import { costsAgree } from './costs-agree.ts';
import { countsAgree } from './counts-agree.ts';
import type { Checker, Evidence } from './evidence.ts';
import { leasesReturn } from './leases-return.ts';
import { ledgerOnce } from './ledger-once.ts';
import { memoryReturns } from './memory-returns.ts';
import { minuteLimit } from './minute-limit.ts';
import { noSecrets } from './no-secrets.ts';
import { nothingWaits } from './nothing-waits.ts';
import { obedientClient } from './obedient-client.ts';
import { oneAnswer } from './one-answer.ts';
import { placesReturn } from './places-return.ts';
import { reloadsApply } from './reloads-apply.ts';
import { tokenChanges } from './token-changes.ts';

/** Every promise that a run is held to, by the name of its checker. */
const checkers: Readonly<Record<string, Checker>> = {
  minuteLimit,
  ledgerOnce,
  countsAgree,
  costsAgree,
  oneAnswer,
  answered,
  obedientClient,
  leasesReturn,
  nothingWaits,
  memoryReturns,
  tokenChanges,
  reloadsApply,
  noSecrets,
  accessRules,
  budget,
  placesReturn,
};

export interface BrokenPromise {
  readonly checker: string;
  readonly promise: string;
  readonly findings: readonly string[];
}

export function brokenPromises(evidence: Evidence): readonly BrokenPromise[] {
  return Object.entries(checkers)
    .map(([checker, { promise, check }]) => ({ checker, promise, findings: check(evidence) }))
    .filter(({ findings }) => findings.length > 0);
}

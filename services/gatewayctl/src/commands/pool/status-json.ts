import { timestampDate } from '@bufbuild/protobuf/wkt';
import { AccountState, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { enumWord } from '../../output/enum-word.ts';
import type { Exhaustion, QuotaUse } from './exhaustion.ts';
import type { AccountStanding, PoolState } from './pool-state.ts';

/** A pool as one line of JSON, for programs. */
export function poolJson({ pool, accounts, exhaustion, families, silentAccounts }: PoolState): string {
  return `${JSON.stringify({
    pool,
    exhaustion: exhaustionFields(exhaustion),
    families: families.map((family) => ({ models: family.models, ...exhaustionFields(family.exhaustion) })),
    silentAccounts,
    accounts: accounts.map(accountFields),
  })}\n`;
}

/** `at` is absent unless the estimate has a moment. */
function exhaustionFields(exhaustion: Exhaustion) {
  if (exhaustion.kind !== 'at') return { estimate: exhaustion.kind };
  return { estimate: 'at', at: new Date(exhaustion.atMs).toISOString(), window: exhaustion.window };
}

function accountFields({ account, quotas, headroom }: AccountStanding) {
  return {
    account: account.name,
    state: enumWord(AccountState, account.state),
    inFlight: account.inFlight,
    maxInFlight: account.maxInFlight === 0 ? null : account.maxInFlight,
    headroom: headroom ?? null,
    windows: quotas.map(quotaFields),
    cooldowns: account.cooldowns.map(({ until, model, reason, givenByProvider }) => ({
      models: model,
      until: until === undefined ? null : timestampDate(until).toISOString(),
      reason: enumWord(AttemptResult, reason),
      givenByProvider,
    })),
    note: account.note,
  };
}

function quotaFields({ name, models, usedFraction, resetsAtMs, lengthMs }: QuotaUse) {
  return {
    name,
    models,
    usedFraction,
    resetsAt: resetsAtMs === undefined ? null : new Date(resetsAtMs).toISOString(),
    lengthSeconds: lengthMs === undefined ? null : lengthMs / 1_000,
  };
}

import type { MessageInitShape } from '@bufbuild/protobuf';
import type { StoredBudgetPeriod } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import {
  type AccessRules,
  type AccessRulesSchema,
  type GroupSchema,
  UnpricedModels,
} from '@gateway/proto/identity/v1/identity_service_pb.js';
import { BudgetPeriod, type Limits, type LimitsSchema } from '@gateway/proto/limiter/v2/limit_pb.js';
import { type GivenAccess, type GroupLimits, requestsAtATimeOfBudget, type TokenLimits } from '@gateway/tokens';
import type { CountedGroup, Group } from '../store/group-store.ts';
import type { Token } from '../store/token-store.ts';

/** The limits of a token or, with a budget, of a group. */
export function toLimitsMessage(
  row: Pick<Token, 'requests_per_minute' | 'tokens_per_day' | 'concurrent_requests' | 'strict_tokens'> &
    Partial<Pick<Group, 'budget_micros' | 'budget_period'>>,
): MessageInitShape<typeof LimitsSchema> {
  const { budget_micros, budget_period } = row;
  return {
    requestsPerMinute: row.requests_per_minute ?? undefined,
    tokensPerDay: row.tokens_per_day ?? undefined,
    concurrentRequests: row.concurrent_requests ?? undefined,
    strictTokens: row.strict_tokens !== null,
    ...(budget_micros != null &&
      budget_period != null && {
        budget: { amountMicros: budget_micros, period: periods[budget_period] },
      }),
  };
}

/**
 * Converts the limits of a request; an absent limit means unlimited. The rules reject numbers
 * beyond the safe integers. @throws GatewayError if they have a budget, which only groups have
 */
export function fromLimitsMessage({ budget, ...limits }: Limits): TokenLimits {
  if (budget !== undefined) throw new GatewayError('invalid_request', 'limits.budget is for groups only.');
  return limits;
}

/** The same for a group. */
export function fromGroupLimitsMessage({ budget, ...limits }: Limits): GroupLimits {
  if (budget === undefined) return limits;
  const period = storedPeriods.find((name) => periods[name] === budget.period);
  return { ...limits, budget: { amountMicros: budget.amountMicros, period } };
}

export function toAccessMessage({
  allowed_models,
  account_labels,
}: Pick<Token, 'allowed_models' | 'account_labels'>): MessageInitShape<typeof AccessRulesSchema> | undefined {
  if (allowed_models === null && account_labels === null) return undefined;
  return { models: listIn(allowed_models), accountLabels: listIn(account_labels) };
}

export function fromAccessMessage({ models, accountLabels }: AccessRules): GivenAccess {
  return { models, accountLabels };
}

export function toGroupMessage(group: Group | CountedGroup): MessageInitShape<typeof GroupSchema> {
  const { group_id, name, note, created_at_ms, revision } = group;
  return {
    ...{ groupId: group_id, name, note, revision },
    limits: toLimitsMessage(group),
    access: toAccessMessage(group),
    unpricedModels: group.unpriced_models === null ? UnpricedModels.REFUSE : UnpricedModels.DEAREST,
    createdAtMs: created_at_ms,
    tokens: 'tokens' in group ? group.tokens : 0,
  };
}

/** A group as edges apply it: with what holds where its limits say nothing. */
export function toAppliedGroup(group: Group): MessageInitShape<typeof GroupSchema> {
  const ofBudget = group.budget_micros === null ? null : requestsAtATimeOfBudget;
  return toGroupMessage({ ...group, concurrent_requests: group.concurrent_requests ?? ofBudget });
}

/** Undefined: not given. */
export function fromUnpricedMessage(given: UnpricedModels): 'refuse' | 'dearest' | undefined {
  if (given === UnpricedModels.UNSPECIFIED) return undefined;
  return given === UnpricedModels.DEAREST ? 'dearest' : 'refuse';
}

const periods: Readonly<Record<StoredBudgetPeriod, BudgetPeriod>> = {
  day: BudgetPeriod.DAY,
  week: BudgetPeriod.WEEK,
  month: BudgetPeriod.MONTH,
};
const storedPeriods = ['day', 'week', 'month'] as const;

/**
 * A damaged list allows nothing, so that its token can be listed and its rules set again.
 */
function listIn(stored: string | null): string[] {
  const list = stored === null ? [] : jsonOf(stored);
  return Array.isArray(list) && list.every((each) => typeof each === 'string') ? list : ['(damaged list)'];
}

function jsonOf(stored: string): unknown {
  try {
    return JSON.parse(stored);
  } catch {
    return undefined;
  }
}

import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import type { ModelTraits, PoolFormat } from '@gateway/config';
import {
  type AccountSchema,
  AccountState,
  type Attempt as AttemptMessage,
  type LeaseSchema,
  LeastThinking,
  type ModelTraitsSchema,
  AccountProblem as ProblemMessage,
  ProviderFormat,
  type QuotaWindowSchema,
  AttemptResult as ResultMessage,
  ThinkingMode,
  type QuotaWindow as WindowMessage,
} from '@gateway/proto/pool/v1/account_pb.js';
import type { Attempt, AttemptResult, ProblemKind, QuotaWindow } from '../accounts/attempt.ts';
import { traitsOfModel } from '../catalog/catalog.ts';
import { isRunning } from '../health/account-health.ts';
import { availabilityOf, windowsAt } from '../health/availability.ts';
import type { Lease } from '../selection/acquire-lease.ts';
import type { AccountView } from '../selection/select-account.ts';

/** Undefined for an attempt without a lease, which belongs to no account. */
export function fromAttemptMessage({ lease, outcome }: AttemptMessage): Attempt | undefined {
  if (lease === undefined || lease.leaseId === '') return undefined;
  const { leaseId, accountId, pool, model } = lease;
  return {
    ...{ leaseId, accountId, pool, model },
    outcome: {
      // A result that is missing, or that only a newer caller knows, says nothing of the account.
      result: results.get(outcome?.result ?? ResultMessage.UNSPECIFIED) ?? 'cancelled',
      retryAtMs: outcome?.retryAt === undefined ? undefined : timestampMs(outcome.retryAt),
      modelScoped: outcome?.modelScoped ?? false,
      windows: fromWindowMessages(outcome?.windows ?? []),
      answerBegan: outcome?.answerBegan ?? false,
      problem: problems.get(outcome?.problem ?? ProblemMessage.UNSPECIFIED),
    },
  };
}

/** The quotas that an answer reported. What has no name or no sensible amount reports nothing. */
export function fromWindowMessages(messages: readonly WindowMessage[]): readonly QuotaWindow[] {
  return messages
    .filter(({ name, usedFraction }) => name !== '' && Number.isFinite(usedFraction) && usedFraction >= 0)
    .slice(0, maxWindows)
    .map(({ name, models, usedFraction, resetsAt, lengthSeconds }) => ({
      ...{ name, models, usedFraction },
      resetsAtMs: resetsAt === undefined ? undefined : timestampMs(resetsAt),
      lengthMs: lengthSeconds === 0 ? undefined : lengthSeconds * 1_000,
    }));
}

/** More than any provider reports in one answer. */
const maxWindows = 16;

export function toWindowMessage(window: QuotaWindow): MessageInitShape<typeof QuotaWindowSchema> {
  const { name, models, usedFraction, resetsAtMs, lengthMs = 0 } = window;
  return { name, models, usedFraction, resetsAt: toTimestamp(resetsAtMs), lengthSeconds: Math.round(lengthMs / 1_000) };
}

export function toLeaseMessage(
  { leaseId, accountId, candidate: { pool, model, defaultEffort } }: Lease,
  leaseTtlMs: number,
): MessageInitShape<typeof LeaseSchema> {
  const traits = traitsOfModel(pool, model);
  return {
    ...{ leaseId, accountId, model, defaultEffort },
    pool: pool.name,
    format: toProviderFormat(pool.format),
    provider: pool.ownedBy,
    ttlSeconds: leaseTtlMs / 1_000,
    traits: traits === undefined ? undefined : toTraitsMessage(traits),
  };
}

function toTraitsMessage({
  efforts,
  thinking,
  leastThinking,
  ...others
}: ModelTraits): MessageInitShape<typeof ModelTraitsSchema> {
  return {
    ...others,
    efforts: efforts === undefined ? undefined : { levels: [...efforts] },
    thinking: thinking === undefined ? ThinkingMode.UNSPECIFIED : thinkingModes[thinking],
    leastThinking: leastThinking === undefined ? LeastThinking.UNSPECIFIED : leastThinkings[leastThinking],
  };
}

const thinkingModes = { none: ThinkingMode.NONE, budget: ThinkingMode.BUDGET, adaptive: ThinkingMode.ADAPTIVE };

const leastThinkings = {
  disabled: LeastThinking.DISABLED,
  between_tools: LeastThinking.BETWEEN_TOOLS,
  low_effort: LeastThinking.LOW_EFFORT,
};

/** An account as operators see it: never its credential. */
export function toAccountMessage(view: AccountView, nowMs: number): MessageInitShape<typeof AccountSchema> {
  const { account, health, inFlight } = view;
  const { id, pool, name, note, maxConcurrency } = account;
  const cooldowns = health.cooldowns.filter((cooldown) => isRunning(cooldown, nowMs));
  return {
    ...{ id, pool, name, note, inFlight },
    state: toState(view, nowMs),
    cooldowns: cooldowns.map(({ untilMs, model, reason, givenByProvider }) => ({
      ...{ model, givenByProvider, until: timestampFromMs(untilMs) },
      reason: results.entries().find(([, result]) => result === reason)?.[0],
    })),
    maxInFlight: Number.isFinite(maxConcurrency) ? maxConcurrency : 0,
    windows: windowsAt(health, nowMs).map(toWindowMessage),
  };
}

/** The state of the account as a whole: cooldowns of single models are listed beside it. */
function toState({ account, health }: AccountView, nowMs: number): AccountState {
  if (account.state === 'disabled') return AccountState.DISABLED;
  if (account.state === 'draining') return AccountState.DRAINING;
  const { kind } = availabilityOf(health, '', nowMs);
  if (kind === 'cooling') return AccountState.COOLING;
  return kind === 'probing' ? AccountState.PROBING : AccountState.AVAILABLE;
}

export function toProviderFormat(format: PoolFormat): ProviderFormat {
  return format === 'responses' ? ProviderFormat.RESPONSES : ProviderFormat.MESSAGES;
}

/** Undefined for unspecified, and for formats of a newer contract. */
export function fromProviderFormat(format: ProviderFormat): PoolFormat | undefined {
  if (format === ProviderFormat.RESPONSES) return 'responses';
  return format === ProviderFormat.MESSAGES ? 'messages' : undefined;
}

export function toTimestamp(epochMs: number | undefined) {
  return epochMs === undefined ? undefined : timestampFromMs(epochMs);
}

const results: ReadonlyMap<ResultMessage, AttemptResult> = new Map<ResultMessage, AttemptResult>([
  [ResultMessage.SUCCEEDED, 'succeeded'],
  [ResultMessage.RATE_LIMITED, 'rate_limited'],
  [ResultMessage.UNAUTHORIZED, 'unauthorized'],
  [ResultMessage.OVERLOADED, 'overloaded'],
  [ResultMessage.SERVER_ERROR, 'server_error'],
  [ResultMessage.NETWORK_ERROR, 'network_error'],
  [ResultMessage.TIMEOUT, 'timeout'],
  [ResultMessage.REJECTED, 'rejected'],
  [ResultMessage.CANCELLED, 'cancelled'],
  // As after a rejected request: the account is fine, and no other would do better.
  [ResultMessage.ANSWER_TOO_LARGE, 'rejected'],
]);

const problems: ReadonlyMap<ProblemMessage, ProblemKind> = new Map<ProblemMessage, ProblemKind>([
  [ProblemMessage.CREDENTIAL_REVOKED, 'credential_revoked'],
  [ProblemMessage.ACCOUNT_DISABLED, 'account_disabled'],
]);

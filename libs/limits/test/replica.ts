import { isDeepStrictEqual } from 'node:util';
import { create } from '@bufbuild/protobuf';
import { CostKind, LimitStatusSchema, type Refusal } from '@gateway/proto/limiter/v2/limit_pb.js';
import { RpcError } from '@gateway/rpc';
import { ManualTime } from '@gateway/time/simulated';
import { onTestFinished, vi } from 'vitest';
import type { Decision } from '../src/decide.ts';
import { FallbackLimits } from '../src/fallback-limits.ts';
import type { FallbackOptions } from '../src/fallback-options.ts';
import type { Heartbeat, OwnAdmission } from '../src/limit-store.ts';
import type { Check } from '../src/limited-key.ts';
import type { ReplicaPlace } from '../src/replica-share.ts';

/** The instant at which tests begin. */
export const at = Date.parse('2026-11-20T12:00:00Z');
export const alone = { replicas: 1, position: 0 };
export const today = '2026-11-20';

/**
 * A replica whose remote is away from `goAway` on. Until then the remote answers what the test
 * says.
 */
export async function setUp(place: ReplicaPlace = alone, more: More = {}) {
  const opened = open(place, more);
  await opened.limits.start();
  return opened;
}

type More = Partial<Pick<FallbackOptions, 'failureMode' | 'localMaxMs'>> & {
  readonly events?: Partial<FallbackOptions['events']>;
};

/** The same, not yet started. */
export function open(place: ReplicaPlace = alone, more: More = {}) {
  const time = new ManualTime(at);
  onTestFinished(() => time[Symbol.dispose]());
  const state = {
    ...{ isAway: false, refusesSettles: false, heartbeat: Promise.resolve() },
    ...{ place: place as ReplicaPlace | undefined, answer: undefined as Decision | undefined, used: 0 },
    refusal: undefined as Refusal | undefined,
    /** Each once. */
    ...{ handedOver: [] as OwnAdmission[], beats: [] as Omit<Heartbeat, 'admissions'>[], settles: 0 },
  };
  const handedOver = vi.fn((admissions: readonly OwnAdmission[]) => {
    const isNew = (slot: OwnAdmission) => !state.handedOver.some((told) => isDeepStrictEqual(told, slot));
    state.handedOver.push(...admissions.filter(isNew));
  });
  const unlessAway = <T>(answer: T) => {
    if (state.isAway) throw new RpcError('unavailable', 'away');
    return answer;
  };
  const settled = vi.fn((_requestId: string) => undefined);
  const ignore = () => undefined;
  const limits = new FallbackLimits({
    remote: {
      admit: async () => unlessAway(state.answer ?? {}),
      reserve: async () => unlessAway(state.refusal),
      renew: async () => unlessAway(undefined),
      async settle({ requestId }) {
        state.settles += 1;
        unlessAway(undefined);
        if (state.refusesSettles) throw new RpcError('internal', 'refused');
        settled(requestId);
        return { usedTokens: state.used, isLoaded: true };
      },
      async heartbeat({ admissions, ...beat }) {
        state.beats.push(beat);
        unlessAway(undefined);
        await state.heartbeat;
        if (admissions.length > 0) handedOver(admissions);
        return state.place;
      },
    },
    failureMode: 'local',
    localMaxMs: Infinity,
    ...more,
    events: { away: ignore, back: ignore, decidedAlone: ignore, settleKept: ignore, ...more.events },
  });
  let requests = 0;
  const decide = (terms: Check['limits'], more: Partial<Check> = {}) => {
    requests += 1;
    const costKind = CostKind.REQUEST_AND_TOKENS;
    return limits.admit({ key: 'k', requestId: `r${requests}`, limits: terms, costKind, ...more });
  };
  const goAway = () => {
    state.isAway = true;
  };
  const comeBack = async () => {
    state.isAway = false;
    await vi.advanceTimersByTimeAsync(50);
  };
  const settle = (requestId: string, tokens: number) => limits.settle({ key: 'k', requestId, localDay: today, tokens });
  return { time, limits, state, settled, handedOver, decide, settle, goAway, comeBack };
}

/** What the remote answers to a request that it admitted, with this much left of both limits. */
export const admitted = (requests: number, tokens: number): Decision => ({
  status: create(LimitStatusSchema, {
    localDay: today,
    requests: { limit: 2, remaining: requests },
    tokens: { limit: 100, remaining: tokens },
  }),
});

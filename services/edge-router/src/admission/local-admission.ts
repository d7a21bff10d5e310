import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  LimitName,
  type LimitStatus,
  LimitStatusSchema,
  type Refusal,
  RefusalSchema,
} from '@gateway/proto/limiter/v1/limit_pb.js';
import { type Clock, localDayOf, nextLocalMidnightMs } from '@gateway/time';

export interface LocalCheck {
  readonly key: string;
  readonly requestId: string;
  readonly limits: { readonly requestsPerMinute?: number; readonly tokensPerDay?: bigint };
}

const windowMs = 60_000;
const maxKeys = 10_000;

/**
 * Admission by this edge alone, for the time in which the limiter does not answer: an exact window of what this edge
 * admitted itself. Of the day budget it knows nothing, so it does not refuse by it.
 */
export class LocalAdmission {
  readonly #clock: Clock;
  readonly #onUse: (fault: unknown, requestId: string) => void;
  /** Key → times of admissions in the last minute, oldest first. */
  readonly #windows = new Map<string, number[]>();

  constructor(clock: Clock, onUse: (fault: unknown, requestId: string) => void) {
    this.#clock = clock;
    this.#onUse = onUse;
  }

  admit(
    { key, requestId, limits }: LocalCheck,
    fault: unknown,
  ): { readonly status: LimitStatus; readonly refusal?: Refusal } {
    this.#onUse(fault, requestId);
    const now = this.#clock.nowMs();
    const window = this.#windowOf(key, now);
    const limit = limits.requestsPerMinute;
    const admitted = limit === undefined || window.length < limit;
    if (admitted && limit !== undefined) window.push(now);
    const status = statusOf(window, limits, now);
    return admitted ? { status } : { status, refusal: refusalOf(status) };
  }

  #windowOf(key: string, now: number): number[] {
    const window = (this.#windows.get(key) ?? []).filter((at) => at > now - windowMs);
    this.#windows.delete(key);
    if (this.#windows.size >= maxKeys) {
      const [leastRecent] = this.#windows.keys();
      if (leastRecent !== undefined) this.#windows.delete(leastRecent);
    }
    this.#windows.set(key, window);
    return window;
  }
}

function statusOf(window: readonly number[], limits: LocalCheck['limits'], now: number): LimitStatus {
  const status = create(LimitStatusSchema, { localDay: localDayOf(now), degraded: true });
  const { requestsPerMinute: limit, tokensPerDay } = limits;
  if (limit !== undefined) {
    const freeing = window[window.length - limit];
    const newest = window.at(-1);
    status.requests = create(LimitStatusSchema, {
      requests: {
        limit,
        remaining: Math.max(0, limit - window.length),
        emptyAt: timestampFromMs(newest === undefined ? now : newest + windowMs),
        ...(limit === 0 ? {} : { nextSlotAt: timestampFromMs(freeing === undefined ? now : freeing + windowMs) }),
      },
    }).requests;
  }
  if (tokensPerDay !== undefined) {
    status.tokens = create(LimitStatusSchema, {
      tokens: { limit: tokensPerDay, remaining: tokensPerDay, resetsAt: timestampFromMs(nextLocalMidnightMs(now)) },
    }).tokens;
  }
  return status;
}

function refusalOf({ requests }: LimitStatus): Refusal {
  return create(RefusalSchema, {
    limit: LimitName.REQUESTS_PER_MINUTE,
    ...(requests?.nextSlotAt === undefined ? {} : { retryAt: requests.nextSlotAt }),
  });
}

import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type AccountProblem,
  type AttemptReportSchema,
  AttemptResult,
  type QuotaWindowSchema,
} from '@gateway/proto/pool/v1/account_pb.js';
import { msUntil } from '@gateway/time';

export const hourMs = 3_600_000;

/**
 * The ways in which providers report an exhausted quota. Each corresponds to the result that an
 * adapter derives from the headers.
 */
export const limitForms = [
  'retry_after_seconds',
  'retry_after_ms',
  'retry_after_date',
  'body_resets_at',
  'usage_windows',
  'key_limits',
] as const;

export type LimitForm = (typeof limitForms)[number];

export type Report = MessageInitShape<typeof AttemptReportSchema>;

/** A fault of an account: what happens, until when, and how its provider reports it. */
export interface Fault {
  readonly untilMs: number;
  readonly result: AttemptResult;
  /** The share of requests that are affected. */
  readonly share: number;
  /** True for a limit whose end the provider reports, in the account's form. */
  readonly named?: boolean;
  /** Set for a problem that waiting does not solve, according to the provider. */
  readonly problem?: AccountProblem;
}

/**
 * An account as it is at its provider: quotas that are exhausted and reset, and faults that come
 * and go.
 */
export class SimulatedAccount {
  readonly id: string;
  readonly form: LimitForm;
  readonly #windows: readonly SimulatedWindow[];
  #fault: Fault | undefined;
  #usableSinceMs: number;
  /** What last kept it from serving. */
  lastFault: AttemptResult | 'named_limit' | 'early_reset' | 'none' = 'none';

  constructor(id: string, form: LimitForm, windows: readonly SimulatedWindow[], startMs: number) {
    this.id = id;
    this.form = form;
    this.#windows = windows;
    this.#usableSinceMs = startMs;
  }

  /** Starts a fault. Requests in flight continue. */
  meet(fault: Fault): void {
    this.#fault = fault;
    if (fault.share < 1) return;
    this.lastFault = fault.named === true ? 'named_limit' : fault.result;
    this.#usableSinceMs = Math.max(this.#usableSinceMs, fault.untilMs);
  }

  /** Resets every window early. */
  resetEarly(nowMs: number): void {
    if (this.#resetMs(nowMs) !== undefined) {
      this.lastFault = 'early_reset';
      this.#usableSinceMs = Math.max(this.#usableSinceMs, nowMs);
    }
    for (const window of this.#windows) window.resetEarly(nowMs);
  }

  /** Since when it would have served every request; undefined while it would not. */
  usableSinceMs(nowMs: number): number | undefined {
    if (this.#activeFault(nowMs) !== undefined || this.#resetMs(nowMs) !== undefined) return undefined;
    return this.#usableSinceMs;
  }

  /** Answers a request. */
  answer(nowMs: number, draw: number): Report {
    const fault = this.#activeFault(nowMs);
    if (fault !== undefined && draw < fault.share) return this.#failed(fault, nowMs);
    const resetMs = this.#resetMs(nowMs);
    if (resetMs !== undefined) return this.#limited(resetMs, nowMs);
    for (const window of this.#windows) window.use(nowMs);
    return { result: AttemptResult.SUCCEEDED, windows: this.#report(nowMs) };
  }

  #failed({ result, untilMs, named = false, problem }: Fault, nowMs: number): Report {
    if (!named) return { result, ...(problem !== undefined && { problem }) };
    const resetMs = Math.max(untilMs, this.#resetMs(nowMs) ?? 0);
    return { result, ...namedReset(this.form, resetMs, nowMs) };
  }

  #activeFault(nowMs: number): Fault | undefined {
    return this.#fault !== undefined && nowMs < this.#fault.untilMs ? this.#fault : undefined;
  }

  #resetMs(nowMs: number): number | undefined {
    const resets = this.#windows.flatMap((window) => window.spentUntilMs(nowMs) ?? []);
    return resets.length === 0 ? undefined : Math.max(...resets);
  }

  #limited(resetMs: number, nowMs: number): Report {
    this.lastFault = 'named_limit';
    this.#usableSinceMs = Math.max(this.#usableSinceMs, resetMs);
    const named = namedReset(this.form, resetMs, nowMs);
    return { result: AttemptResult.RATE_LIMITED, ...named, windows: this.#report(nowMs) };
  }

  #report(nowMs: number): MessageInitShape<typeof QuotaWindowSchema>[] {
    return this.form === 'usage_windows' ? this.#windows.map((window) => window.report(nowMs)) : [];
  }
}

function namedReset(form: LimitForm, resetMs: number, nowMs: number) {
  const retryAtMs = namedResetMs(form, resetMs, nowMs);
  return { retryAtMs, retryAfterMs: msUntil(retryAtMs, nowMs) };
}

/** A reset as precisely as a form can express it. Never too early, because providers round up. */
function namedResetMs(form: LimitForm, resetMs: number, nowMs: number): number {
  switch (form) {
    case 'retry_after_seconds':
    case 'key_limits':
      return nowMs + Math.ceil((resetMs - nowMs) / 1_000) * 1_000;
    case 'retry_after_date':
    case 'body_resets_at':
    case 'usage_windows':
      return Math.ceil(resetMs / 1_000) * 1_000;
    case 'retry_after_ms':
      return resetMs;
    default:
      return form satisfies never;
  }
}

/** A quota that starts with its first request and is reset some time later. */
export class SimulatedWindow {
  readonly #lengthMs: number;
  readonly #capacity: number;
  #resetsAtMs = 0;
  #used = 0;

  constructor(lengthMs: number, capacity: number) {
    this.#lengthMs = lengthMs;
    this.#capacity = capacity;
  }

  use(nowMs: number): void {
    if (nowMs >= this.#resetsAtMs) {
      this.#resetsAtMs = nowMs + this.#lengthMs;
      this.#used = 0;
    }
    this.#used += 1;
  }

  resetEarly(nowMs: number): void {
    this.#resetsAtMs = nowMs;
  }

  spentUntilMs(nowMs: number): number | undefined {
    return nowMs < this.#resetsAtMs && this.#used >= this.#capacity ? this.#resetsAtMs : undefined;
  }

  report(nowMs: number): MessageInitShape<typeof QuotaWindowSchema> {
    const fresh = nowMs >= this.#resetsAtMs;
    const resetsAtMs = fresh ? nowMs + this.#lengthMs : this.#resetsAtMs;
    return {
      name: `${this.#lengthMs / hourMs}h`,
      usedFraction: fresh ? 0 : this.#used / this.#capacity,
      resetsAtMs,
      resetsAfterMs: msUntil(resetsAtMs, nowMs),
      lengthSeconds: this.#lengthMs / 1_000,
    };
  }
}

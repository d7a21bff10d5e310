import { epochMs } from '@gateway/time';
import { ProviderRefusal } from '../provider-request.ts';
import { isLimit } from './fault-presets.ts';
import { type Fault, type FaultOf, type FaultScript, faultScriptSchema, type PresetFault } from './fault-script.ts';

/** The properties of a request that determine its faults. */
export interface FaultTarget {
  readonly account: string;
  readonly path: string;
  readonly model: string | undefined;
  readonly stream: boolean;
  /** True when its connection has carried another one before. */
  readonly isReused?: boolean;
}

/** An active fault, as the control interface shows it. */
export interface ActiveFault {
  readonly id: number;
  readonly script: FaultScript;
  /** How many more requests it applies to; `Infinity`, in JSON null: no limit. */
  readonly timesLeft: number;
  /** Epoch milliseconds; `Infinity`, in JSON null: until cleared. */
  readonly endsAtMs: number;
}

/** A preset with the time when its limit resets. */
export interface TimedPreset extends PresetFault {
  readonly kind: 'preset';
  readonly resetAtMs: number;
}

/**
 * The faults of one request: at most one that ends or replaces the answer, and any number that
 * modify it.
 */
export interface MatchedFaults {
  readonly ending: EndingFault | undefined;
  readonly delay: FaultOf<'delay'> | undefined;
  /** The kinds of all of them. */
  readonly kinds: ReadonlySet<TimedFault['kind']>;
  readonly usage: FaultOf<'usage'> | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Counts the faults as used. Call it once they are certain to be injected. */
  readonly consume: () => void;
}

type TimedFault = Fault | TimedPreset;
export type EndingFault = Exclude<TimedFault, { kind: (typeof changingKinds)[number] }>;
export type StreamFault = Exclude<EndingFault, { kind: 'status' | 'preset' | 'close_reused' }>;

interface Entry extends ActiveFault {
  readonly fault: TimedFault;
  timesLeft: number;
}

const maximumFaults = 10_000;
const defaultResetSeconds = 60;

/** The active faults, oldest first. */
export class FaultBook {
  #entries: Entry[] = [];
  #lastId = 0;

  /** Adds a fault and returns its id. */
  add(given: FaultScript): number {
    const script = faultScriptSchema.parse(given);
    this.#dropEnded();
    if (this.#entries.length >= maximumFaults) {
      throw new ProviderRefusal({ status: 400, message: `No more than ${maximumFaults} faults can be scripted.` });
    }
    const fault = this.#timed(script.fault);
    const limitEnd = fault.kind === 'preset' && isLimit(fault.preset) ? fault.resetAtMs : Number.POSITIVE_INFINITY;
    const durationMs = (script.forSeconds ?? Number.POSITIVE_INFINITY) * 1000;
    this.#entries.push({
      id: ++this.#lastId,
      script,
      fault,
      endsAtMs: Math.min(limitEnd, epochMs() + durationMs),
      timesLeft: script.times ?? Number.POSITIVE_INFINITY,
    });
    return this.#lastId;
  }

  /** Removes one fault, or all. Requests that already have it keep it. */
  clear(id?: number): void {
    this.#entries = id === undefined ? [] : this.#entries.filter((entry) => entry.id !== id);
  }

  list(): readonly ActiveFault[] {
    this.#dropEnded();
    return this.#entries.map(({ fault: _, ...shown }) => shown);
  }

  /**
   * The faults that apply to a request. If several end or replace the answer, only the oldest is
   * injected and counted. Among the others, the first of each kind is.
   */
  match(target: FaultTarget): MatchedFaults {
    this.#dropEnded();
    const byGroup = new Map<string, Entry>();
    for (const entry of this.#entries) {
      const group = isEnding(entry.fault) ? 'ending' : entry.fault.kind;
      if (!byGroup.has(group) && fits(entry, target)) byGroup.set(group, entry);
    }
    const matched = [...byGroup.values()];
    const faults = matched.map(({ fault }) => fault);
    return {
      ending: faults.find(isEnding),
      delay: faults.find((fault) => fault.kind === 'delay'),
      headers: faults.find((fault) => fault.kind === 'headers')?.headers ?? {},
      usage: faults.find((fault) => fault.kind === 'usage'),
      kinds: new Set(faults.map(({ kind }) => kind)),
      consume: () => {
        for (const entry of matched) entry.timesLeft--;
      },
    };
  }

  /** Limits reset at a whole second, so that a number of seconds expresses it exactly. */
  #timed(fault: FaultScript['fault']): TimedFault {
    if (!('preset' in fault)) return fault;
    const resetAfterSeconds = fault.resetAfterSeconds ?? defaultResetSeconds;
    return { kind: 'preset', ...fault, resetAtMs: Math.ceil(epochMs() / 1000 + resetAfterSeconds) * 1000 };
  }

  #dropEnded(): void {
    const nowMs = epochMs();
    this.#entries = this.#entries.filter((entry) => entry.timesLeft > 0 && entry.endsAtMs > nowMs);
  }
}

/** Faults that modify an answer; all others end or replace it. */
const changingKinds = [
  ...(['delay', 'headers', 'usage', 'unknown_events', 'split_utf8', 'usage_missing', 'empty_output'] as const),
  'unnumbered_events',
] as const;

function isEnding(fault: TimedFault): fault is EndingFault {
  return !changingKinds.some((kind) => kind === fault.kind);
}

/**
 * The fault, if it occurs while the answer is streamed; undefined when it replaces the whole
 * answer.
 */
export function duringStream(fault: EndingFault): StreamFault | undefined {
  if (fault.kind === 'preset' || fault.kind === 'status' || fault.kind === 'close_reused') return undefined;
  const isBefore = (fault.kind === 'reset' || fault.kind === 'stall') && fault.afterEvents === undefined;
  return isBefore ? undefined : fault;
}

const generatingPaths: ReadonlySet<string> = new Set(['/v1/responses', '/v1/messages']);
const changesOfStreams: ReadonlySet<string> = new Set(['unknown_events', 'split_utf8', 'unnumbered_events']);

/** Faults that require a streamed answer wait for the next such request. */
function fits({ script: { account, model, path }, fault }: Entry, target: FaultTarget): boolean {
  if (account !== undefined && account !== target.account) return false;
  if (model !== undefined && model !== target.model) return false;
  if (path === undefined ? !generatingPaths.has(target.path) : path !== target.path) return false;
  if (fault.kind === 'close_reused') return target.isReused === true;
  const needsStream = isEnding(fault) ? duringStream(fault) !== undefined : changesOfStreams.has(fault.kind);
  return target.stream || !needsStream;
}

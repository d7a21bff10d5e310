import { ProviderRefusal } from '../provider-format.ts';
import { isLimit } from './fault-presets.ts';
import {
  type Fault,
  type FaultKind,
  type FaultOf,
  type FaultScript,
  faultScriptSchema,
  type PresetFault,
} from './fault-script.ts';

/** A request, as far as it decides which faults it gets. */
export interface FaultTarget {
  readonly account: string;
  readonly path: string;
  readonly model: string | undefined;
  readonly stream: boolean;
}

/** A fault in force, as the control interface shows it. */
export interface ActiveFault {
  readonly id: number;
  readonly script: FaultScript;
  /** How many more requests get it; null: no limit. */
  readonly timesLeft: number | null;
  /** Epoch milliseconds; null: until cleared. */
  readonly endsAtMs: number | null;
}

/** A preset with the moment at which its limit resets. */
export interface TimedPreset extends PresetFault {
  readonly kind: 'preset';
  readonly resetAtMs: number;
}

/** The faults of one request: at most one that ends or replaces the answer, and any number that change it. */
export interface MatchedFaults {
  readonly ending: EndingFault | TimedPreset | undefined;
  readonly delay: FaultOf<'delay'> | undefined;
  readonly changes: ReadonlySet<ChangeKind>;
  readonly usage: FaultOf<'usage'> | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Counts the faults as used. Call it once they are known to be injected. */
  readonly consume: () => void;
}

type ChangeKind = 'unknown_events' | 'split_utf8' | 'usage_missing' | 'empty_output' | 'unnumbered_events';
export type EndingFault = Exclude<Fault, { kind: ChangeKind | 'delay' | 'headers' | 'usage' }>;

interface Entry {
  readonly id: number;
  readonly script: FaultScript;
  readonly resetAtMs: number;
  readonly endsAtMs: number;
  timesLeft: number;
}

const maximumFaults = 10_000;
const defaultResetSeconds = 60;

/** The faults that are scripted at the moment, oldest first. */
export class FaultBook {
  readonly #nowMs: () => number;
  #entries: Entry[] = [];
  #lastId = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Adds a fault and returns its id. */
  add(given: FaultScript): number {
    const script = faultScriptSchema.parse(given);
    this.#dropEnded();
    if (this.#entries.length >= maximumFaults) {
      throw new ProviderRefusal({ status: 400, message: `No more than ${maximumFaults} faults can be scripted.` });
    }
    const resetAtMs = this.#resetAtMs(script);
    const limitEnd = 'preset' in script.fault && isLimit(script.fault.preset) ? resetAtMs : Number.POSITIVE_INFINITY;
    const durationMs = (script.forSeconds ?? Number.POSITIVE_INFINITY) * 1000;
    this.#entries.push({
      id: ++this.#lastId,
      script,
      resetAtMs,
      endsAtMs: Math.min(limitEnd, this.#nowMs() + durationMs),
      timesLeft: script.times ?? Number.POSITIVE_INFINITY,
    });
    return this.#lastId;
  }

  /** Removes one fault, or all. Requests that have it already keep it. */
  clear(id?: number): void {
    this.#entries = id === undefined ? [] : this.#entries.filter((entry) => entry.id !== id);
  }

  list(): readonly ActiveFault[] {
    this.#dropEnded();
    return this.#entries.map(({ id, script, timesLeft, endsAtMs }) => ({
      id,
      script,
      timesLeft: Number.isFinite(timesLeft) ? timesLeft : null,
      endsAtMs: Number.isFinite(endsAtMs) ? endsAtMs : null,
    }));
  }

  /**
   * Which faults a request gets. Of those that end or replace the answer only the one that was added first is injected and
   * counted; of the others, the first of each kind.
   */
  match(target: FaultTarget): MatchedFaults {
    this.#dropEnded();
    const matched = new Map<string, Entry>();
    for (const entry of this.#entries) {
      const group = groupOf(entry.script.fault);
      if (!matched.has(group) && fits(entry.script, target)) matched.set(group, entry);
    }
    return {
      ending: endingOf(matched.get('ending')),
      delay: faultOf(matched.get('delay'), 'delay'),
      headers: faultOf(matched.get('headers'), 'headers')?.headers ?? {},
      usage: faultOf(matched.get('usage'), 'usage'),
      changes: new Set(changeKinds.filter((kind) => matched.has(kind))),
      consume: () => {
        for (const entry of matched.values()) entry.timesLeft--;
      },
    };
  }

  /** A whole second, so that seconds express it exactly. */
  #resetAtMs({ fault }: FaultScript): number {
    const seconds = ('preset' in fault ? fault.resetAfterSeconds : undefined) ?? defaultResetSeconds;
    return Math.ceil(this.#nowMs() / 1000 + seconds) * 1000;
  }

  #dropEnded(): void {
    const nowMs = this.#nowMs();
    this.#entries = this.#entries.filter((entry) => entry.timesLeft > 0 && entry.endsAtMs > nowMs);
  }
}

const changeKinds: readonly ChangeKind[] = [
  ...(['unknown_events', 'split_utf8', 'usage_missing', 'empty_output', 'unnumbered_events'] as const),
];
const kindsWithGroup: ReadonlySet<FaultKind> = new Set<FaultKind>([...changeKinds, 'delay', 'headers', 'usage']);

/** Faults of the same group exclude each other. */
function groupOf(fault: FaultScript['fault']): string {
  return 'preset' in fault || !kindsWithGroup.has(fault.kind) ? 'ending' : fault.kind;
}

const generatingPaths: ReadonlySet<string> = new Set(['/v1/responses', '/v1/messages']);

function fits({ account, model, path, fault }: FaultScript, target: FaultTarget): boolean {
  if (account !== undefined && account !== target.account) return false;
  if (model !== undefined && model !== target.model) return false;
  if (path === undefined ? !generatingPaths.has(target.path) : path !== target.path) return false;
  return target.stream || !needsStream(fault);
}

const streamKinds: ReadonlySet<FaultKind> = new Set<FaultKind>([
  ...(['end', 'error_event', 'failed', 'broken_json', 'endless_line', 'unknown_events', 'split_utf8'] as const),
  'unnumbered_events',
]);

/** Faults that only a streamed answer can have; a request for a whole answer leaves them for the next. */
function needsStream(fault: FaultScript['fault']): boolean {
  if ('preset' in fault) return false;
  if (fault.kind === 'reset' || fault.kind === 'stall') return fault.afterEvents !== undefined;
  return streamKinds.has(fault.kind);
}

function endingOf(entry: Entry | undefined): MatchedFaults['ending'] {
  if (entry === undefined) return undefined;
  const { fault } = entry.script;
  if ('preset' in fault) return { kind: 'preset', ...fault, resetAtMs: entry.resetAtMs };
  return isEnding(fault) ? fault : undefined;
}

function isEnding(fault: Fault): fault is EndingFault {
  return !kindsWithGroup.has(fault.kind);
}

function faultOf<Kind extends FaultKind>(entry: Entry | undefined, kind: Kind): FaultOf<Kind> | undefined {
  const fault = entry?.script.fault;
  return fault !== undefined && isFaultOf(fault, kind) ? fault : undefined;
}

function isFaultOf<Kind extends FaultKind>(fault: FaultScript['fault'], kind: Kind): fault is FaultOf<Kind> {
  return 'kind' in fault && fault.kind === kind;
}

import type { HeldEvents } from './held-events.ts';
import type { LeftJournal } from './left-journal.ts';
import type { OwnSegment } from './own-segment.ts';

/** What the journal owes the ledger at the moment. */
export interface JournalBacklog {
  /** This process' finished requests that are not confirmed. */
  readonly events: number;
  /** Those of them that wait in memory. */
  readonly heldEvents: number;
  /** Size of the files of this process, and of the dead ones whose work it does. */
  readonly bytes: number;
  /** The number of those files. */
  readonly segments: number;
  /** How long the oldest has waited; 0 when nothing waits. */
  readonly oldestSeconds: number;
}

interface BacklogParts {
  readonly held: Pick<HeldEvents, 'count' | 'oldestSinceMs'>;
  readonly own: readonly OwnSegment[];
  readonly left: LeftJournal['segments'];
}

export function measureBacklog({ held, own, left }: BacklogParts, nowMs: number): JournalBacklog {
  const spills = own.map(({ spill }) => spill).filter((spill) => spill !== undefined);
  const sinceMs = [...spills, ...left].map((each) => each.sinceMs);
  const oldestMs = [...sinceMs, held.oldestSinceMs ?? nowMs].reduce((oldest, ms) => Math.min(oldest, ms), nowMs);
  return {
    events: held.count + sum(spills.map(({ events }) => events)),
    heldEvents: held.count,
    bytes: sum(own.map(({ file }) => file.sizeBytes)) + sum(left.map(({ bytes }) => bytes)),
    segments: own.length + left.length,
    oldestSeconds: (nowMs - oldestMs) / 1_000,
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

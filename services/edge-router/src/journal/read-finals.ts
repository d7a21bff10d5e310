import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { decodeRecord, kindOfLine } from './journal-record.ts';
import { readLines } from './read-lines.ts';
import { batchEvents } from './usage-delivery.ts';

/** Follows, over all segments of an owner, which requests have begun and not ended. */
export interface OpenRequestTracker {
  /** False for a line that can't be read. */
  opened(line: string): boolean;
  ended(requestId: string): void;
}

export interface ReadFinalsOptions {
  readonly path: string;
  readonly fromByte: number;
  readonly tracker?: OpenRequestTracker;
  readonly onDamage: (damage: 'torn' | 'corrupt') => void;
}

/** The finals of a segment from a byte on, in batches. Lines that can't be read are skipped, and told. */
export async function* readFinals(options: ReadFinalsOptions): AsyncGenerator<readonly UsageRecorded[]> {
  const { path, fromByte, onDamage } = options;
  let batch: UsageRecorded[] = [];
  const lines = readLines(path, fromByte, (damage) => onDamage(damage === 'torn' ? 'torn' : 'corrupt'));
  for await (const piece of lines) {
    for (const line of piece) {
      const final = readLine(line, options);
      if (final !== undefined) batch.push(final);
      if (batch.length < batchEvents) continue;
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

/** The event of a final's line. */
function readLine(line: string, { tracker, onDamage }: ReadFinalsOptions): UsageRecorded | undefined {
  const kind = kindOfLine(line);
  if (kind === 'open') {
    if (tracker?.opened(line) === false) onDamage('corrupt');
    return undefined;
  }
  const record = decodeRecord(line);
  if (record === undefined) onDamage('corrupt');
  if (record?.kind === 'void') tracker?.ended(record.requestId);
  if (record?.kind !== 'final') return undefined;
  tracker?.ended(record.event.requestId);
  return record.event;
}

import { fromBinary } from '@bufbuild/protobuf';
import { type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { fromUsageMessage } from '@gateway/usage-stream';
import { type LedgerEntry, readEvent } from '../recording/ledger-entry.ts';

/** What a dead letter says as far as this release understands it. */
export type ReadDeadLetter =
  | { readonly kind: 'entries'; readonly entries: readonly LedgerEntry[] }
  | { readonly kind: 'unusable'; readonly reason: string };

/** Reads a letter's bytes: one event, or a message of the stream with several. All of them must be fit to be recorded. */
export function readDeadLetter(payload: Uint8Array): ReadDeadLetter {
  const readings = [() => [fromBinary(UsageRecordedSchema, payload)], () => fromUsageMessage(payload).events].map(
    understood,
  );
  return readings.find(({ kind }) => kind === 'entries') ?? firstReason(readings);
}

const notAnEvent = 'the bytes are no usage event';

function understood(parse: () => readonly UsageRecorded[]): ReadDeadLetter {
  const events = parsed(parse);
  if (events === undefined) return { kind: 'unusable', reason: notAnEvent };
  const entries: LedgerEntry[] = [];
  for (const event of events) {
    const read = readEvent(event);
    if (read.kind === 'unusable') return { kind: 'unusable', reason: reasonFor(event, read.reason) };
    entries.push(read.entry);
  }
  return { kind: 'entries', entries };
}

function parsed(parse: () => readonly UsageRecorded[]): readonly UsageRecorded[] | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}

/** Bytes of something else can pass as an event of which nothing is known. */
function reasonFor({ requestId, tokenId, localDay }: UsageRecorded, reason: string): string {
  return requestId === '' && tokenId === '' && localDay === '' ? notAnEvent : reason;
}

function firstReason(readings: readonly ReadDeadLetter[]): ReadDeadLetter {
  return (
    readings.find((reading) => reading.kind === 'unusable' && reading.reason !== notAnEvent) ?? {
      kind: 'unusable',
      reason: notAnEvent,
    }
  );
}

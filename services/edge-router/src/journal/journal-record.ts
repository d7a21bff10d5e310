import { create, fromJson, toJsonString } from '@bufbuild/protobuf';
import { Outcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';

/**
 * What the journal remembers of a request, one line each:
 * - `open`: it was handed to a provider; holds what to book should this process die before the end. A later line of the
 *   same request replaces it.
 * - `final`: how it ended; to be delivered to the ledger.
 * - `void`: it ended without a provider's answer; nothing is booked.
 */
export type JournalRecord =
  | { readonly kind: 'open'; readonly event: UsageRecorded }
  | { readonly kind: 'final'; readonly event: UsageRecorded }
  | { readonly kind: 'void'; readonly requestId: string };

const marks = { open: 'O', final: 'F', void: 'V' } as const;

export function encodeRecord(record: JournalRecord): string {
  const text = record.kind === 'void' ? record.requestId : toJsonString(UsageRecordedSchema, record.event);
  return `${marks[record.kind]} ${text}\n`;
}

/** The record of a line; undefined for a line that a dying process left half written. */
export function decodeRecord(line: string): JournalRecord | undefined {
  const text = line.slice(2);
  try {
    if (line.startsWith('V ')) return { kind: 'void', requestId: text };
    if (!line.startsWith('O ') && !line.startsWith('F ')) return undefined;
    const event = fromJson(UsageRecordedSchema, JSON.parse(text));
    return { kind: line.startsWith('O ') ? 'open' : 'final', event };
  } catch {
    return undefined;
  }
}

/** The events that a dead process still owes the ledger: its finals, and its open requests as far as they are known. */
export function owedEvents(lines: Iterable<string>): readonly UsageRecorded[] {
  const open = new Map<string, UsageRecorded>();
  const finals = new Map<string, UsageRecorded>();
  for (const line of lines) {
    const record = decodeRecord(line);
    if (record === undefined) continue;
    if (record.kind === 'open') open.set(record.event.requestId, record.event);
    else if (record.kind === 'final') finals.set(record.event.requestId, record.event);
    else open.delete(record.requestId);
  }
  const cut = [...open.values()].filter(({ requestId }) => !finals.has(requestId));
  return [...finals.values(), ...cut.map(asCut)];
}

/** A request that its edge did not live to end: failed when its provider was answering, else lost. */
function asCut(event: UsageRecorded): UsageRecorded {
  const outcome = event.outcome === Outcome.UNSPECIFIED ? Outcome.LOST : event.outcome;
  return create(UsageRecordedSchema, { ...event, outcome, estimated: true });
}

import { create, fromJson } from '@bufbuild/protobuf';
import { Outcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { usageJson } from './usage-json.ts';

/**
 * What the journal remembers of a request, one line each:
 * - `open`: it was handed to a provider; holds what to book should this process die before the end. A later line of the
 *   same request replaces it.
 * - `final`: how it ended; to be delivered to the ledger.
 * - `void`: nothing is to be booked for its open line. It ended without a provider's answer, or the ledger has it.
 */
export type JournalRecord =
  | { readonly kind: 'open'; readonly event: UsageRecorded }
  | { readonly kind: 'final'; readonly event: UsageRecorded }
  | { readonly kind: 'void'; readonly requestId: string };

const marks = { open: 'O ', final: 'F ', void: 'V ' } as const;

export function openLine(event: UsageRecorded): string {
  return `${marks.open}${usageJson(event)}\n`;
}

export function finalLine(event: UsageRecorded): string {
  return `${marks.final}${usageJson(event)}\n`;
}

export function voidLine(requestId: string): string {
  return `${marks.void}${requestId}\n`;
}

/** What a line is about, by its mark; undefined for what is no line of a journal. */
export function kindOfLine(line: string): JournalRecord['kind'] | undefined {
  if (line.startsWith(marks.final)) return 'final';
  if (line.startsWith(marks.open)) return 'open';
  return line.startsWith(marks.void) ? 'void' : undefined;
}

/** The record of a line, without the line's end; undefined for one that is damaged. */
export function decodeRecord(line: string): JournalRecord | undefined {
  const kind = kindOfLine(line);
  if (kind === undefined) return undefined;
  const text = line.slice(2);
  if (kind === 'void') return text === '' ? undefined : { kind, requestId: text };
  try {
    // A later version of this program may have written more than this one knows.
    const event = fromJson(UsageRecordedSchema, JSON.parse(text), { ignoreUnknownFields: true });
    return event.requestId === '' ? undefined : { kind, event };
  } catch {
    return undefined;
  }
}

/** What is booked for a request that its edge did not live to end: failed when its provider was answering, else lost. */
export function asCut(event: UsageRecorded): UsageRecorded {
  const outcome = event.outcome === Outcome.UNSPECIFIED ? Outcome.LOST : event.outcome;
  return create(UsageRecordedSchema, { ...event, outcome, estimated: true });
}

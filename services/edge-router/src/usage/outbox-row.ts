import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { type RequestLogged, RequestLoggedSchema } from '@gateway/proto/usage/v1/request_log_pb.js';
import { LedgerOutcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { activeSpan, traceparentOf } from '@gateway/telemetry';
import type { UsageBatch } from '@gateway/usage-stream/usage-message';

export interface OutboxRow {
  /** Its key in the file. */
  readonly number: number;
  /** `open`: the request is in progress. `final`: to be delivered. `gone`: to be deleted. */
  state: 'open' | 'final' | 'gone';
  /** When it last changed; for a final row, when the request ended. */
  changedAtMs: number;
  message: UsageRecorded | RequestLogged;
}

/** A row in memory. */
export interface PendingRow extends OutboxRow {
  /** The file has a row with this number. */
  isStored: boolean;
  /** Resolves when the row is delivered, or when no one waits for it. */
  readonly settled: PromiseWithResolvers<void>;
}

export function isLog(message: OutboxRow['message']): message is RequestLogged {
  return message.$typeName === RequestLoggedSchema.typeName;
}

/** A request has two keys: one for its usage, and one for its log entry. */
export function keyOf(message: OutboxRow['message']): string {
  return isLog(message) ? `log ${message.requestId}` : message.requestId;
}

/** Usage keeps the trace in which it was first recorded, even if another process delivers it. */
export function keepTrace(message: OutboxRow['message']): void {
  if (isLog(message) || message.traceparent !== '') return;
  const span = activeSpan();
  if (span?.isRecording()) message.traceparent = traceparentOf(span) ?? '';
}

/**
 * The rows that are sent to the ledger together. The same rows give the same batch, whichever
 * process delivers them.
 */
export function batchOf(rows: readonly OutboxRow[]): UsageBatch {
  const [events, logs]: [UsageRecorded[], RequestLogged[]] = [[], []];
  for (const { message, changedAtMs } of rows) {
    if (isLog(message)) logs.push(message);
    else events.push(Object.assign(message, { endedAtMs: changedAtMs }));
  }
  return { events, logs };
}

/** The stored form of a row that is not gone. */
export function encoded({ state, message }: OutboxRow): readonly [kind: string, event: Uint8Array] {
  if (isLog(message)) return ['log', toBinary(RequestLoggedSchema, message)];
  return [state === 'open' ? 'open' : 'usage', toBinary(UsageRecordedSchema, message)];
}

/**
 * An open request becomes failed if a provider was answering, otherwise lost, with its known usage.
 * Undefined for unreadable data.
 */
export function decoded(kind: unknown, bytes: unknown): OutboxRow['message'] | undefined {
  try {
    const message = fromBinary(kind === 'log' ? RequestLoggedSchema : UsageRecordedSchema, bytes as Uint8Array);
    // Unrelated bytes can parse as a message whose fields are all unknown.
    if (message.requestId === '') return undefined;
    if (kind !== 'open' || isLog(message)) return message;
    message.estimated = true;
    if (message.outcome === LedgerOutcome.UNSPECIFIED) message.outcome = LedgerOutcome.LOST;
    return message;
  } catch {
    return undefined;
  }
}

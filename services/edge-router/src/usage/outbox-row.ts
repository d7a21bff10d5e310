import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { usedBy } from '@gateway/presentation/request-usage';
import { type RequestRecorded, RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { activeSpan, traceparentOf } from '@gateway/telemetry';

/** A row of the file. */
export interface StoredRow {
  /** Its key. */
  readonly number: number;
  /** `open`: the request is in progress. `final`: to be delivered. `gone`: to be deleted. */
  readonly state: 'open' | 'final' | 'gone';
  /** When it last changed; for a final row, when the request ended. */
  readonly changedAtMs: number;
  readonly record: RequestRecorded;
}

/** What the outbox knows of a running request, which holds it. */
export interface OutboxRow extends StoredRow {
  /** 0 before the outbox has it. */
  number: number;
  state: StoredRow['state'];
  changedAtMs: number;
  /** The file has a row with this number. */
  isStored: boolean;
  /** Resolves when the row is delivered, or when no one waits for it. */
  readonly settled: PromiseWithResolvers<void>;
}

export function outboxRowOf(record: RequestRecorded): OutboxRow {
  const settled = Promise.withResolvers<void>();
  return { record, number: 0, state: 'open', changedAtMs: 0, isStored: false, settled };
}

/**
 * Usage keeps the trace in which it began, even if another process delivers it. Without usage the
 * ledger's road is no part of the trace.
 */
export function keepTrace(record: RequestRecorded): void {
  const span = activeSpan();
  if (usedBy(record) === undefined) record.traceparent = '';
  else if (record.traceparent === '' && span?.isRecording()) record.traceparent = traceparentOf(span) ?? '';
}

/**
 * The records that are sent to the ledger together. The same rows give the same batch, whichever
 * process delivers them.
 */
export function batchOf(rows: readonly StoredRow[]): readonly RequestRecorded[] {
  return rows.map(({ record, changedAtMs }) => Object.assign(record, { endedAtMs: changedAtMs }));
}

export function encoded(record: RequestRecorded): Uint8Array {
  return toBinary(RequestRecordedSchema, record);
}

/**
 * The usage of a request that was open is an estimate: more may have followed. Undefined for
 * unreadable data.
 */
export function decoded(kind: unknown, bytes: unknown): RequestRecorded | undefined {
  try {
    const record = fromBinary(RequestRecordedSchema, bytes as Uint8Array);
    // Unrelated bytes can parse as a message whose fields are all unknown.
    if (record.requestId === '') return undefined;
    if (kind === 'open') for (const { usage } of record.attempts) if (usage !== undefined) usage.estimated = true;
    return record;
  } catch {
    return undefined;
  }
}

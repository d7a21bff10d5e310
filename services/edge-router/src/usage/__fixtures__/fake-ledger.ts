import { setImmediate as turn } from 'node:timers/promises';
import { clone } from '@bufbuild/protobuf';
import {
  RequestEnding,
  type RequestRecorded,
  RequestRecordedSchema,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import type { UsageSink } from '../send-batch.ts';

/** A ledger that can be disconnected, and that keeps what it first received of each row. */
export class FakeLedger implements UsageSink {
  /** Records by the rows that a ledger makes of them: one of each attempt with usage. */
  readonly rows = new Map<string, RequestRecorded>();
  /** Requests with a log part. */
  readonly logs = new Map<string, RequestRecorded>();
  away = false;
  /** It keeps the records, but its answer is lost. */
  mute = false;
  largestBatch = 0;
  callsAtATime = 0;
  #calls = 0;

  async record(requests: readonly RequestRecorded[]): Promise<void> {
    this.#calls += 1;
    this.callsAtATime = Math.max(this.callsAtATime, this.#calls);
    this.largestBatch = Math.max(this.largestBatch, requests.length);
    try {
      await turn();
      if (this.away) throw new Error('away');
      for (const each of requests) {
        const kept = clone(RequestRecordedSchema, each);
        for (const key of rowKeysOf(kept)) if (!this.rows.has(key)) this.rows.set(key, kept);
        if (kept.receivedAtMs !== undefined) this.logs.set(kept.requestId, kept);
      }
      if (this.mute) throw new Error('the answer is lost');
    } finally {
      this.#calls -= 1;
    }
  }

  /** How a request ended, by its row, and whether its usage is estimated. */
  outcomeOf(requestId: string): { readonly ending: string; readonly estimated: boolean } | undefined {
    const row = this.rows.get(requestId);
    return row && { ending: RequestEnding[row.ending], estimated: row.attempts.some(({ usage }) => usage?.estimated) };
  }
}

/** The id of the request for its last attempt, and for an earlier one its number behind the id. */
export function rowKeysOf({ requestId, attempts }: RequestRecorded): readonly string[] {
  const keys = attempts.map((_, index) => (index === attempts.length - 1 ? requestId : `${requestId}/${index + 1}`));
  return keys.filter((_, index) => attempts[index]?.usage !== undefined);
}

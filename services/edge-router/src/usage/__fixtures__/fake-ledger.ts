import { setImmediate as turn } from 'node:timers/promises';
import type { RequestLogged } from '@gateway/proto/usage/v1/request_log_pb.js';
import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { UsageBatch } from '@gateway/usage-stream/usage-message';
import type { UsageSink } from '../send-batch.ts';

/** A ledger that can be disconnected, and that keeps the first event of each request. */
export class FakeLedger implements UsageSink {
  readonly rows = new Map<string, UsageRecorded>();
  readonly logs = new Map<string, RequestLogged>();
  away = false;
  /** It keeps the events, but its answer is lost. */
  mute = false;
  largestBatch = 0;
  callsAtATime = 0;
  #calls = 0;

  async record({ events, logs }: UsageBatch): Promise<void> {
    this.#calls += 1;
    this.callsAtATime = Math.max(this.callsAtATime, this.#calls);
    this.largestBatch = Math.max(this.largestBatch, events.length + logs.length);
    try {
      await turn();
      if (this.away) throw new Error('away');
      for (const each of events) if (!this.rows.has(each.requestId)) this.rows.set(each.requestId, each);
      for (const each of logs) this.logs.set(each.requestId, each);
      if (this.mute) throw new Error('the answer is lost');
    } finally {
      this.#calls -= 1;
    }
  }
}

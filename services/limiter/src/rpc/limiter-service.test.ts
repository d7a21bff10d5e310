import { getEventListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { create } from '@bufbuild/protobuf';
import { MemoryLimitStore } from '@gateway/limits';
import { type AdmitStreamRequest, AdmitStreamRequestSchema } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { createLogger, Metrics } from '@gateway/telemetry';
import { describe, expect, it } from 'vitest';
import { CounterTotals } from '../ledger/counter-totals.ts';
import { Limiter } from '../limiter.ts';
import { createLimiterMetrics } from '../metrics.ts';
import { admitStream } from './limiter-service.ts';

const batches = 2_000;

describe('a long stream of batches', () => {
  it('keeps no answered request, and nothing on the signal of the service', async () => {
    const draining = new AbortController();
    const requests: WeakRef<AdmitStreamRequest>[] = [];
    let mostListeners = 0;
    async function* source() {
      for (let batch = 0; batch < batches; batch++) {
        const checks = [{ key: 'a', requestId: `${batch}`, limits: { requestsPerMinute: 10 } }];
        const request = create(AdmitStreamRequestSchema, { checks });
        requests.push(new WeakRef(request));
        yield request;
        mostListeners = Math.max(mostListeners, getEventListeners(draining.signal, 'abort').length);
      }
    }
    const answers = admitStream(limiter(), source(), draining.signal);
    let answered = 0;
    while (answered < batches) {
      const { value } = await answers.next();
      answered += value?.decisions.length ?? 0;
    }
    // Weak references keep their targets alive until the end of the turn.
    await nextTurn();
    collectGarbage();
    expect(mostListeners).toBeLessThanOrEqual(1);
    // The stream is still open.
    expect(requests.filter((request) => request.deref() !== undefined).length).toBeLessThan(10);
    draining.abort();
    expect((await answers.next()).done).toBe(true);
    expect(getEventListeners(draining.signal, 'abort')).toEqual([]);
  });
});

function limiter() {
  const metrics = createLimiterMetrics(new Metrics());
  const store = new MemoryLimitStore({ maxKeys: 10 });
  const logger = createLogger('limiter', 'silent');
  const totals = new CounterTotals({ store, metrics, logger, usageQuery: undefined, everyMs: 10_000 });
  return new Limiter(store, totals, metrics);
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

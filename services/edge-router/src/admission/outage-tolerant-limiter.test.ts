import { create } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import { CostKind } from '@gateway/proto/limiter/v2/limit_pb.js';
import {
  AdmitResponseSchema,
  type HeartbeatRequest,
  HeartbeatResponseSchema,
  PeekResponseSchema,
} from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { RpcError } from '@gateway/rpc';
import { ManualTime } from '@gateway/time/simulated';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OutageTolerantLimiter, type OutageTolerantLimiterOptions } from './outage-tolerant-limiter.ts';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const localDay = '2026-11-20';
const admitted = () => create(AdmitResponseSchema, { status: { localDay, requests: { limit: 4, remaining: 3 } } });

type Admission = Pick<NonNullable<HeartbeatRequest['admissions']>[number], 'requestId' | 'ageMs'>;

describe('an edge whose limiter goes away', () => {
  let time: ManualTime;
  let limiter: OutageTolerantLimiter;
  /** The failure of the limiter; undefined while it answers. */
  let away: RpcError | GatewayError | undefined;
  /** Failures of the next admissions, which come before `away`. */
  let failures: RpcError['status'][];
  let asked: string[];
  let handedOver: Admission[];
  let replicas: number | undefined;
  let isNew: boolean;
  let beforeHeartbeat: () => Promise<void> | undefined;
  let beforeAdmit: () => Promise<void> | undefined;
  const events = {
    limiterAway: vi.fn(),
    limiterBack: vi.fn(),
    admittedLocally: vi.fn(),
    settleKept: vi.fn(),
    faulted: vi.fn(),
  };

  const open = (options: Partial<OutageTolerantLimiterOptions> = {}) =>
    new OutageTolerantLimiter({
      limiter: {
        async admit({ requestId = '' }) {
          asked.push(requestId);
          await beforeAdmit();
          const status = failures.shift();
          if (status !== undefined) throw new RpcError(status, 'failed');
          if (away !== undefined) throw away;
          return admitted();
        },
        settle: async () => expect.fail('not expected here'),
        reserve: async () => expect.fail('not expected here'),
        renew: async () => expect.fail('not expected here'),
        async peek() {
          if (away !== undefined) throw away;
          return create(PeekResponseSchema, { status: { requests: { limit: 4, remaining: 3 } } });
        },
        async heartbeat({ admissions = [] }) {
          await beforeHeartbeat();
          if (away !== undefined) throw away;
          handedOver.push(...admissions.map(({ requestId = '', ageMs = 0 }) => ({ requestId, ageMs })));
          return create(HeartbeatResponseSchema, replicas === undefined ? {} : { replicas, position: 1, new: isNew });
        },
      },
      events,
      patienceMs: 1_000,
      failureMode: 'local',
      localMaxMs: 300_000,
      ...options,
    });
  async function started(options: Partial<OutageTolerantLimiterOptions> = {}): Promise<OutageTolerantLimiter> {
    await limiter?.[Symbol.asyncDispose]();
    limiter = open(options);
    limiter.start();
    await vi.advanceTimersByTimeAsync(0);
    return limiter;
  }
  const goAway = () => {
    away = new RpcError('unavailable', 'away');
  };
  const comeBack = async () => {
    away = undefined;
    await vi.advanceTimersByTimeAsync(250);
  };
  const admit = (requestId: string) =>
    limiter.admit({ key: 'k', requestId, limits: { requestsPerMinute: 4 }, costKind: CostKind.REQUEST_AND_TOKENS });
  const decidedBy = async (requestId: string) =>
    (await admit(requestId)).status?.degraded ? 'the edge' : 'the limiter';

  beforeEach(async () => {
    vi.useFakeTimers();
    vi.clearAllMocks();
    time = new ManualTime(noonMs);
    away = undefined;
    failures = [];
    asked = [];
    handedOver = [];
    replicas = 2;
    isNew = false;
    beforeHeartbeat = () => undefined;
    beforeAdmit = () => undefined;
    await started();
  });
  afterEach(async () => {
    await limiter[Symbol.asyncDispose]();
    vi.useRealTimers();
    time[Symbol.dispose]();
  });

  it('asks once more, with the same id, when the connection broke', async () => {
    failures = ['unavailable'];
    expect(await decidedBy('r')).toBe('the limiter');
    expect(asked).toEqual(['r', 'r']);
  });

  it('decides by itself when that fails as well', async () => {
    failures = ['unavailable', 'unavailable'];
    expect(await decidedBy('r')).toBe('the edge');
    expect(asked).toEqual(['r', 'r']);
  });

  it('decides by itself, without asking again, while the limiter does not reach its store', async () => {
    away = new GatewayError('providers_unavailable', 'Redis does not answer.', { retryAfterMs: 1_000 });
    expect(await decidedBy('r')).toBe('the edge');
    expect(asked).toEqual(['r']);
    await comeBack();
    expect(await decidedBy('s')).toBe('the limiter');
  });

  it('hands over the last minute when the limiter’s store may have lost it', async () => {
    await admit('a');
    isNew = true;
    time.advanceMs(2_000);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(handedOver).toEqual([{ requestId: 'a', ageMs: 2_000 }]);
    expect(events.limiterAway).not.toHaveBeenCalled();
  });

  it.each([
    'deadline_exceeded',
    'cancelled',
    'resource_exhausted',
    'aborted',
    'permission_denied',
    'internal',
  ] as const)('decides nothing by itself after %s, because the limiter is not away', async (status) => {
    failures = [status];
    await expect(admit('r')).rejects.toMatchObject({ status });
    expect(asked).toEqual(['r']);
    expect(await decidedBy('s')).toBe('the limiter');
    expect(events.limiterAway).not.toHaveBeenCalled();
  });

  it('waits for an answer that comes late, and counts it in its own window', async () => {
    const gate = Promise.withResolvers<void>();
    beforeAdmit = () => gate.promise;
    const waiting = decidedBy('a');
    await vi.advanceTimersByTimeAsync(30_000);
    gate.resolve();
    expect(await waiting).toBe('the limiter');
    goAway();
    expect((await admit('b')).refusal).toBeUndefined();
    expect((await admit('c')).refusal).toBeDefined();
  });

  it('lets what the limiter answers as an error through', async () => {
    const refusing = open({
      limiter: {
        admit: () => Promise.reject(new GatewayError('internal_error', 'closed')),
        settle: async () => expect.fail('not expected here'),
        reserve: async () => expect.fail('not expected here'),
        renew: async () => expect.fail('not expected here'),
        peek: () => Promise.reject(new GatewayError('internal_error', 'closed')),
        heartbeat: async () => create(HeartbeatResponseSchema, { replicas: 1 }),
      },
    });
    const check = { key: 'k', requestId: 'r', limits: { requestsPerMinute: 4 }, costKind: CostKind.REQUEST_ONLY };
    await expect(refusing.admit(check)).rejects.toMatchObject({ code: 'internal_error' });
    expect(events.limiterAway).not.toHaveBeenCalled();
  });

  it('admits its share of the limit, without asking for each', async () => {
    goAway();
    const decisions = [await admit('a'), await admit('b'), await admit('c')];
    expect(decisions.map(({ refusal }) => refusal === undefined)).toEqual([true, true, false]);
    expect(asked).toEqual(['a', 'a']);
    expect(events.limiterAway).toHaveBeenCalledTimes(1);
    expect(events.admittedLocally).toHaveBeenCalledTimes(3);
  });

  it('reads the limits as it would decide by them', async () => {
    const peek = () => limiter.peek({ key: 'k', limits: { requestsPerMinute: 4 } });
    await admit('a');
    expect(await peek()).toMatchObject({ degraded: false, requests: { limit: 4, remaining: 3 } });
    goAway();
    expect(await peek()).toMatchObject({ degraded: true, requests: { limit: 4, remaining: 1 } });
    expect(await peek()).toMatchObject({ degraded: true, requests: { limit: 4, remaining: 1 } });
    await started({ failureMode: 'closed' });
    await expect(peek()).rejects.toMatchObject({ status: 'unavailable' });
  });

  it('goes on from what the limiter had admitted through it', async () => {
    await admit('a');
    goAway();
    expect((await admit('b')).refusal).toBeUndefined();
    expect((await admit('c')).refusal).toBeDefined();
  });

  it('hands over what it admitted, with its age, before it asks anything again', async () => {
    goAway();
    await admit('a');
    time.advanceMs(2_000);
    await comeBack();
    expect(handedOver).toEqual([{ requestId: 'a', ageMs: 2_000 }]);
    expect(await decidedBy('b')).toBe('the limiter');
    expect(events.limiterBack).toHaveBeenCalledExactlyOnceWith(2_000);
  });

  it('hands over also what it admits while it hands over the rest, and lets others wait for that', async () => {
    replicas = 1;
    await started();
    goAway();
    await admit('a');
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let heartbeats = 0;
    // The first heartbeat only checks whether the limiter is reachable.
    beforeHeartbeat = () => gates[heartbeats++ - 1]?.promise;
    await comeBack();
    expect(await decidedBy('b')).toBe('the edge');
    gates[0]?.resolve();
    await vi.advanceTimersByTimeAsync(0);
    const waiting = decidedBy('c');
    gates[1]?.resolve();
    expect(await waiting).toBe('the limiter');
    expect([...new Set(handedOver.map(({ requestId }) => requestId))]).toEqual(['a', 'b']);
  });

  it('goes on alone when the limiter goes away again while it is handed over the rest', async () => {
    replicas = 1;
    await started();
    goAway();
    await admit('a');
    const gate = Promise.withResolvers<void>();
    let heartbeats = 0;
    beforeHeartbeat = async () => {
      heartbeats += 1;
      if (heartbeats === 2) await gate.promise;
      if (heartbeats === 3) goAway();
    };
    await comeBack();
    expect(await decidedBy('b')).toBe('the edge');
    gate.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(await decidedBy('b')).toBe('the edge');
    await comeBack();
    expect(await decidedBy('c')).toBe('the limiter');
    expect([...new Set(handedOver.map(({ requestId }) => requestId))]).toEqual(['a', 'b']);
  });

  it('hands over very many in parts', async () => {
    goAway();
    const limits = { requestsPerMinute: 10_000 };
    for (let n = 0; n < 2_500; n++)
      await limiter.admit({ key: 'k', requestId: String(n), limits, costKind: CostKind.REQUEST_ONLY });
    time.advanceMs(1);
    await comeBack();
    expect(new Set(handedOver.map(({ requestId }) => requestId)).size).toBe(2_500);
    expect(handedOver).toHaveLength(2_500);
  });

  it('keeps its place while the limiter does not know it', async () => {
    replicas = undefined;
    await vi.advanceTimersByTimeAsync(2_000);
    goAway();
    const decisions = [await admit('a'), await admit('b'), await admit('c')];
    expect(decisions.map(({ refusal }) => refusal === undefined)).toEqual([true, true, false]);
  });

  it('admits nothing when it has heard of no limiter since it started', async () => {
    goAway();
    await started();
    const refused = expect(admit('a')).rejects.toMatchObject({ status: 'unavailable' });
    await vi.advanceTimersByTimeAsync(1_000);
    await refused;
    await comeBack();
    goAway();
    expect((await admit('b')).refusal).toBeUndefined();
  });

  it('waits for the first limiter that starts, for as long as for an answer', async () => {
    goAway();
    await started();
    const waiting = decidedBy('a');
    await vi.advanceTimersByTimeAsync(900);
    await comeBack();
    expect(await waiting).toBe('the limiter');
    expect(events.admittedLocally).not.toHaveBeenCalled();
  });

  it('fails after it decided alone for too long', async () => {
    goAway();
    await admit('a');
    time.advanceMs(300_000);
    expect((await admit('b')).refusal).toBeUndefined();
    time.advanceMs(1);
    await expect(admit('c')).rejects.toMatchObject({ code: 'providers_unavailable', retryAfterMs: 5_000 });
    await comeBack();
    expect(await decidedBy('d')).toBe('the limiter');
  });

  it('fails at once when it is to', async () => {
    await started({ failureMode: 'closed' });
    goAway();
    await expect(admit('a')).rejects.toMatchObject({ code: 'providers_unavailable' });
    await comeBack();
    expect(await decidedBy('b')).toBe('the limiter');
  });

  it('does not stay away because the limiter does not understand its heartbeats', async () => {
    goAway();
    await admit('a');
    beforeHeartbeat = () => Promise.reject(new GatewayError('invalid_request', 'what?'));
    await comeBack();
    expect(await decidedBy('b')).toBe('the limiter');
  });
});

import { create } from '@bufbuild/protobuf';
import type { Reservation, Settlement } from '@gateway/limits';
import { UsageSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { AttemptReportSchema, AttemptResult, LeaseSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { AcquireResponseSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { CancelReason, RequestEnding, type RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { describe, expect, it } from 'vitest';
import { admittedCall, newCall } from './__fixtures__/test-call.ts';
import { heldBy } from './admission/admit.ts';
import type { Call } from './call.ts';
import type { OutboxRow } from './usage/outbox.ts';

const token = create(TokenSchema, { tokenId: 't', limits: { concurrentRequests: 2 } });
const lease = create(LeaseSchema, { model: 'm', accountId: 'a' });
const usage = create(UsageSchema, { inputTokens: 90, outputTokens: 7 });

const failed = { status: 503, errorCode: 'providers_unavailable', clientLeft: false } as const;

/** An admitted request with a lease, and a record of how what it holds ends. */
function setUp() {
  const holds = new Set<Reservation>();
  const seen = { ended: [] as string[], charges: [] as Settlement[], finals: [] as RequestRecorded[] };
  const peers = {
    holds,
    limiter: { settle: async (charge: Settlement) => void seen.charges.push(charge) },
    outbox: {
      open: () => undefined,
      close: () => void seen.ended.push('row'),
      log: () => undefined,
      finish: async ({ record }: OutboxRow) => void seen.finals.push(record),
    },
  };
  const call = admittedCall({ peers }, token);
  call.holdLeases(heldBy(call.id, token, call.admission));
  const attempt = (): Call => {
    call.onBodyRead('m', true, 400);
    call.onAcquired(create(AcquireResponseSchema, { result: { case: 'lease', value: lease } }));
    call.onLease({ [Symbol.dispose]: () => void seen.ended.push('renewal') });
    return call;
  };
  return { call, attempt, holds, seen };
}

describe('what a request holds', () => {
  it('ends with it, when no provider was asked', async () => {
    const { call, holds, seen } = setUp();
    await call.bodyRules.allocation.take(100);
    expect(holds.size).toBe(1);
    await call.end(failed);
    expect([holds.size, call.bodyRules.allocation.bytes, seen.finals]).toEqual([0, 0, []]);
    expect(seen.charges).toMatchObject([{ key: 'token:t', requestId: 'r', tokens: 0, ended: true }]);
  });

  it('ends with it, when no attempt gave an answer', async () => {
    const { attempt, holds, seen } = setUp();
    const call = attempt();
    call.usage?.onSent(usage);
    call.usage?.onAttemptFailed();
    await call.end(failed);
    expect([holds.size, seen.ended, seen.finals]).toEqual([0, ['renewal', 'row'], []]);
    expect(seen.charges).toMatchObject([{ tokens: 0, ended: true }]);
  });

  it('is returned once, with the charge of what was used', async () => {
    const { attempt, holds, seen } = setUp();
    const call = attempt();
    call.onAttemptEnded(create(AttemptReportSchema, { result: AttemptResult.SUCCEEDED }));
    await call.end({ status: 200, clientLeft: false, hasBegun: true, usage });
    expect(holds.size).toBe(0);
    await call.end(failed);
    expect(seen.charges).toMatchObject([{ tokens: 97, ended: true }]);
    expect(seen.finals).toMatchObject([{ ending: RequestEnding.COMPLETED }]);
  });

  it('is only what it reserved last, and nothing after a refusal has returned it', () => {
    const { call, holds } = setUp();
    const reserved = { ...heldBy(call.id, token, call.admission), costMicros: 5 };
    call.holdLeases(reserved);
    expect([...holds]).toEqual([reserved]);
    expect([call.returnLeases(), call.returnLeases(), holds.size]).toEqual([true, false, 0]);
  });
});

describe('the usage of a request that ends without an answer', () => {
  it('is recorded when the client left an attempt that was sent', async () => {
    const { attempt, seen } = setUp();
    const call = attempt();
    call.usage?.onSent(usage);
    await call.end({ status: 499, clientLeft: true });
    const attempts = [{ usage: { inputTokens: 90, outputTokens: 7 } }];
    expect(seen.finals).toMatchObject([{ ending: RequestEnding.ABORTED, attempts }]);
  });

  it('is recorded as failed when its answer took too long', async () => {
    const { attempt, seen } = setUp();
    const call = attempt();
    call.usage?.onSent(usage);
    call.onAttemptEnded(create(AttemptReportSchema, { result: AttemptResult.CANCELLED }), CancelReason.TOO_LONG);
    await call.end(failed);
    expect(seen.finals).toMatchObject([{ ending: RequestEnding.FAILED, attempts: [{ usage: { inputTokens: 90 } }] }]);
  });
});

it('holds nothing before it is admitted', async () => {
  const call = newCall();
  await expect(call.end(failed)).resolves.toBeUndefined();
});

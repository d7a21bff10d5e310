import { timestampMs } from '@bufbuild/protobuf/wkt';
import { LimitName } from '@gateway/proto/limiter/v1/limit_pb.js';
import { ManualClock } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import { LocalAdmission } from './local-admission.ts';

const at = Date.parse('2026-11-20T12:00:00Z');

function setUp() {
  const clock = new ManualClock(at);
  const faults: unknown[] = [];
  return { clock, faults, local: new LocalAdmission(clock, (fault) => faults.push(fault)) };
}

describe('LocalAdmission', () => {
  const limits = { requestsPerMinute: 2, tokensPerDay: 50n };

  it('admits the limit in any minute and says when the next slot frees', () => {
    const { clock, local, faults } = setUp();
    const admit = () => local.admit({ requestId: 'r', key: 'k', limits }, 'away');
    expect(admit().status.requests).toMatchObject({ limit: 2, remaining: 1 });
    clock.advanceMs(10_000);
    expect(admit().refusal).toBeUndefined();
    const refused = admit();
    expect(refused.refusal?.limit).toBe(LimitName.REQUESTS_PER_MINUTE);
    expect(refused.refusal?.retryAt && timestampMs(refused.refusal.retryAt)).toBe(at + 60_000);
    expect(refused.status.requests?.emptyAt && timestampMs(refused.status.requests.emptyAt)).toBe(at + 70_000);
    clock.setMs(at + 60_000);
    expect(admit().refusal).toBeUndefined();
    expect(faults).toHaveLength(4);
  });

  it('does not refuse by a day budget of which it knows nothing', () => {
    const { local } = setUp();
    const { status, refusal } = local.admit({ requestId: 'r', key: 'k', limits: { tokensPerDay: 50n } }, 'away');
    expect(refusal).toBeUndefined();
    expect(status).toMatchObject({ degraded: true, localDay: '2026-11-20', tokens: { limit: 50n, remaining: 50n } });
    expect(status.requests).toBeUndefined();
  });

  it('refuses everything at a limit of 0, without a moment to wait for', () => {
    const { local } = setUp();
    const { refusal } = local.admit({ requestId: 'r', key: 'k', limits: { requestsPerMinute: 0 } }, 'away');
    expect(refusal?.limit).toBe(LimitName.REQUESTS_PER_MINUTE);
    expect(refusal?.retryAt).toBeUndefined();
  });

  it('keeps keys apart', () => {
    const { local } = setUp();
    const one = { requestsPerMinute: 1 };
    expect(local.admit({ requestId: 'r', key: 'a', limits: one }, '').refusal).toBeUndefined();
    expect(local.admit({ requestId: 'r', key: 'b', limits: one }, '').refusal).toBeUndefined();
    expect(local.admit({ requestId: 'r', key: 'a', limits: one }, '').refusal).toBeDefined();
  });
});

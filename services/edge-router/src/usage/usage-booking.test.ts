import { create } from '@bufbuild/protobuf';
import { UsageSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { LeaseSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { Outcome, type UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { ManualClock } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import type { Principal } from '../authentication/principal.ts';
import type { Charge } from './day-budget-charger.ts';
import { RecentRequests } from './recent-requests.ts';
import { type BookingPeers, UsageBooking } from './usage-booking.ts';

const lease = create(LeaseSchema, { provider: 'provider_a', model: 'gpt-5.5' });
const usage = (inputTokens: bigint, outputTokens: bigint, estimated = false) =>
  create(UsageSchema, { inputTokens, outputTokens, estimated });

function setUp(limits: Principal['limits'] = { requestsPerMinute: 1, tokensPerDay: 100 }) {
  const lines: string[] = [];
  const finals: UsageRecorded[] = [];
  const charges: Charge[] = [];
  const recent = new RecentRequests(new ManualClock(1_000_000));
  const peers = {
    journal: {
      open: (event: UsageRecorded) => void lines.push(`open ${Outcome[event.outcome]} ${event.outputTokens}`),
      void: (requestId: string) => void lines.push(`void ${requestId}`),
      finish: async (event: UsageRecorded) => void finals.push(event),
    },
    charger: { charge: async (charge: Charge) => void charges.push(charge) },
    recent,
  } satisfies BookingPeers;
  const principal: Principal = { tokenId: 't1', caller: 'c', kind: 'service', label: 'ci', limits };
  const admission = { admittedAtMs: 1_000, localDay: '2026-11-20', headers: {} };
  const request = { requestId: 'r1', principal, admission, endpoint: '/v1/chat/completions', bodyBytes: 401 };
  return { booking: new UsageBooking(request, peers), lines, finals, charges, recent };
}

describe('UsageBooking', () => {
  it('books the last report once, and charges input plus output to the day of the admission', async () => {
    const { booking, finals, charges, recent } = setUp();
    booking.onLease(lease);
    booking.onUsage(usage(10n, 1n, true));
    booking.onUsage(usage(12n, 30n));
    await Promise.all([booking.end(Outcome.COMPLETED), booking.end(Outcome.ABORTED)]);
    expect(finals).toHaveLength(1);
    expect(finals[0]).toMatchObject({
      requestId: 'r1',
      tokenId: 't1',
      localDay: '2026-11-20',
      provider: 'provider_a',
      model: 'gpt-5.5',
      inputTokens: 12n,
      outputTokens: 30n,
      estimated: false,
      outcome: Outcome.COMPLETED,
    });
    expect(charges).toEqual([{ key: 'token:t1', requestId: 'r1', localDay: '2026-11-20', tokens: 42 }]);
    expect(recent.of('t1')).toEqual(['r1']);
  });

  it('charges nothing to a token without a day budget', async () => {
    const { booking, finals, charges } = setUp({ requestsPerMinute: 5, tokensPerDay: undefined });
    booking.onLease(lease);
    booking.onUsage(usage(1n, 1n));
    await booking.end(Outcome.COMPLETED);
    expect(finals).toHaveLength(1);
    expect(charges).toEqual([]);
  });

  it('books nothing when no provider was sent the request', async () => {
    const { booking, lines, finals } = setUp();
    booking.onLease(lease);
    await booking.end(Outcome.ABORTED);
    expect(finals).toEqual([]);
    expect(lines).toEqual(['open UNSPECIFIED 0', 'void r1']);
  });

  it('books the input of a request that was sent and not answered, once and to the day as well', async () => {
    const { booking, lines, finals, charges } = setUp();
    booking.onLease(lease);
    booking.onSent(usage(90n, 0n, true));
    await Promise.all([booking.end(Outcome.ABORTED), booking.end(Outcome.ABORTED)]);
    expect(finals).toHaveLength(1);
    expect(finals[0]).toMatchObject({ inputTokens: 90n, outputTokens: 0n, estimated: true, outcome: Outcome.ABORTED });
    expect(charges).toEqual([{ key: 'token:t1', requestId: 'r1', localDay: '2026-11-20', tokens: 90 }]);
    expect(lines).toEqual(['open UNSPECIFIED 0']);
  });

  it('books nothing of a request that its provider refused, also when the client leaves before the next attempt', async () => {
    const { booking, finals } = setUp();
    booking.onLease(lease);
    booking.onSent(usage(90n, 0n, true));
    booking.onAttemptFailed();
    await booking.end(Outcome.ABORTED);
    expect(finals).toEqual([]);
    const other = setUp();
    other.booking.onLease(lease);
    other.booking.onSent(usage(90n, 0n, true));
    other.booking.onLease(lease);
    await other.booking.end(Outcome.ABORTED);
    expect(other.finals).toEqual([]);
  });

  it('forgets what an attempt reported when the next one begins, and discards what led to no answer', async () => {
    const { booking, finals } = setUp();
    booking.onLease(lease);
    booking.onUsage(usage(10n, 0n, true));
    booking.onLease(lease);
    await booking.end(Outcome.ABORTED);
    expect(finals).toEqual([]);
    const other = setUp();
    other.booking.onLease(lease);
    other.booking.onUsage(usage(10n, 0n, true));
    await other.booking.discard();
    await other.booking.end(Outcome.COMPLETED);
    expect(other.finals).toEqual([]);
  });

  it('tells the journal that a provider answers, and again at every thousand tokens', () => {
    const { booking, lines } = setUp();
    booking.onLease(lease);
    for (const output of [0n, 10n, 999n, 1_000n, 1_999n, 2_500n]) booking.onUsage(usage(5n, output));
    expect(lines).toEqual(['open UNSPECIFIED 0', 'open FAILED 0', 'open FAILED 1000', 'open FAILED 2500']);
  });

  it('does not open a request again that has ended', async () => {
    const { booking, lines, finals } = setUp();
    booking.onLease(lease);
    await booking.end(Outcome.ABORTED);
    booking.onUsage(usage(5n, 2_000n));
    booking.onLease(lease);
    expect(lines).toEqual(['open UNSPECIFIED 0', 'void r1']);
    expect(finals).toEqual([]);
  });
});

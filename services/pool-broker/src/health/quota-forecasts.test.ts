import { create } from '@bufbuild/protobuf';
import { usedUpAtMs } from '@gateway/presentation';
import { QuotaWindowSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { QuotaOutlook } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { describe, expect, it } from 'vitest';
import { sampleAccount } from '../__fixtures__/sample-gateway.ts';
import { toAccount } from '../accounts/account.ts';
import { healthy, type SeenWindow } from './account-health.ts';
import type { AccountView } from './eligibility.ts';
import { forecastsOf } from './quota-forecasts.ts';

const hourMs = 3_600_000;
const nowMs = Date.parse('2026-11-21T12:00:00Z');

/** A quota of five hours that started two hours ago. */
const used = (usedFraction: number, more: Partial<SeenWindow> = {}): SeenWindow => ({
  ...{ name: '5h', models: '', usedFraction, seenAtMs: nowMs },
  ...{ resetsAtMs: nowMs + 3 * hourMs, lengthSeconds: 5 * 3_600 },
  ...more,
});

const opus = { name: '5h_opus', models: '*opus*' };

function view(pool: string, windows: readonly SeenWindow[], state: 'active' | 'draining' = 'active'): AccountView {
  return { account: toAccount(sampleAccount(pool, 'a', { state })), health: { ...healthy, windows }, inFlight: 0 };
}

describe('forecasts of quotas', () => {
  it('are of each pool, and of each family of models that has quotas of its own', () => {
    const half = { outlook: QuotaOutlook.ENDS, endsAtMs: nowMs + 2 * hourMs, window: '5h' };
    const views = [view('a', [used(0.5)]), view('b', [used(0.1), used(0.75, opus)])];
    expect(forecastsOf(views, nowMs)).toEqual([
      { pool: 'a', models: '', ...half },
      { pool: 'b', models: '', outlook: QuotaOutlook.LASTS },
      expect.objectContaining({ pool: 'b', models: '*opus*', outlook: QuotaOutlook.ENDS, window: '5h_opus' }),
    ]);
  });

  it('of a pool of one account are those of the account', () => {
    const message = create(QuotaWindowSchema, used(0.7));
    const [forecast] = forecastsOf([view('a', [used(0.7)])], nowMs);
    expect(forecast).toMatchObject({
      outlook: QuotaOutlook.ENDS,
      endsAtMs: Math.round(usedUpAtMs(message, nowMs) ?? 0),
    });
  });

  it('do not count on accounts that are out of service', () => {
    const [forecast] = forecastsOf([view('a', [used(0.5)]), view('a', [used(0), used(0, opus)], 'draining')], nowMs);
    expect(forecast).toMatchObject({ outlook: QuotaOutlook.ENDS, endsAtMs: nowMs + 2 * hourMs });
    expect(forecastsOf([view('a', [used(0)], 'draining')], nowMs)).toEqual([
      { pool: 'a', models: '', outlook: QuotaOutlook.UNSPECIFIED },
    ]);
  });
});

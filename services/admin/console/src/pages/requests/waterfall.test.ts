import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { describe, expect, it } from 'vitest';
import { placeOf, waterfallOf } from './waterfall.ts';

const barsOf = (init: MessageInitShape<typeof RequestRecordedSchema>) =>
  waterfallOf(create(RequestRecordedSchema, init)).bars.map(({ label, fromMs, toMs }) => [label, fromMs, toMs]);

describe('the waterfall of a request', () => {
  it('has every step it took, one after the other', () => {
    const moved = create(RequestRecordedSchema, {
      times: { admitted: 1, bodyRead: 3, firstAttempt: 4, firstByte: 300, ended: 905 },
      attempts: [
        { accountId: 'responses/a', asked: 3, acquired: 4, ended: 120, result: AttemptResult.RATE_LIMITED },
        {
          accountId: 'responses/b',
          asked: 120,
          acquired: 122,
          firstByte: 300,
          ended: 900,
          result: AttemptResult.SUCCEEDED,
        },
      ],
    });
    const { totalMs, bars } = waterfallOf(moved);
    expect(totalMs).toBe(905);
    expect(bars.map(({ label, kind, fromMs, toMs }) => [label, kind, fromMs, toMs])).toEqual([
      ['Admission', 'admission', 0, 1],
      ['Body', 'body', 1, 3],
      ['Account selection', 'choice', 3, 4],
      ['responses/a', 'failed attempt', 4, 120],
      ['Account selection', 'choice', 120, 122],
      ['responses/b', 'attempt', 122, 900],
      ['Settle and finish', 'settle', 900, 905],
    ]);
    expect(bars[5]?.firstByteMs).toBe(300);
  });

  it('continues until the ledger stored it, for a quarter of its own time at most', () => {
    const request = create(RequestRecordedSchema, {
      receivedAtMs: 5_000,
      times: { admitted: 1, ended: 100 },
    });
    const ingestOf = (loggedAtMs: number) => {
      const { totalMs, bars } = waterfallOf(request, loggedAtMs);
      return [totalMs, bars.at(-1)];
    };
    expect(ingestOf(5_110)).toEqual([110, { label: 'Ingest', kind: 'ingest', fromMs: 100, toMs: 110 }]);
    expect(ingestOf(7_000)).toEqual([125, { label: 'Ingest', kind: 'ingest', fromMs: 100, toMs: 2_000 }]);
    // By a clock that is behind.
    expect(ingestOf(5_090)).toEqual([100, { label: 'Ingest', kind: 'ingest', fromMs: 100, toMs: 100 }]);
  });

  it('ends where the request did', () => {
    expect(barsOf({ times: { ended: 2 }, refusal: {} })).toEqual([['Admission', 0, 2]]);
    expect(barsOf({ times: { admitted: 1, ended: 5 } })).toEqual([
      ['Admission', 0, 1],
      ['Body', 1, 5],
    ]);
    expect(
      barsOf({ times: { admitted: 1, bodyRead: 2, ended: 9 }, noAccount: { asked: 2, answered: 8 } }).at(-1),
    ).toEqual(['No account', 2, 8]);
    expect(barsOf({})).toEqual([]);
  });

  it('extends an attempt that never ended to the end', () => {
    const bars = barsOf({
      times: { admitted: 1, bodyRead: 2, ended: 9 },
      attempts: [{ accountId: 'a', asked: 2, acquired: 3 }],
    });
    expect(bars.at(-1)).toEqual(['a', 3, 9]);
  });
});

describe('the place of a bar', () => {
  it('is to scale, and never too thin or outside', () => {
    expect(placeOf({ fromMs: 250, toMs: 750 }, 1000)).toEqual({ left: 25, width: 50 });
    const last = placeOf({ fromMs: 1000, toMs: 1000 }, 1000);
    expect(last.left + last.width).toBeLessThanOrEqual(100);
    expect(last.width).toBeGreaterThan(0);
    expect(placeOf({ fromMs: 0, toMs: 0 }, 0)).toEqual({ left: 0, width: 100 });
  });
});

import { beforeEach, describe, expect, it } from 'vitest';
import { noTotals } from './counted-figures.ts';
import { FigureHistory } from './figure-history.ts';

const beginMs = Date.parse('2026-11-21T09:00:00Z');
let history: FigureHistory;
beforeEach(() => {
  history = new FigureHistory();
});

/** @param requests since the beginning */
function add(afterSeconds: number, requests: number, more: Partial<typeof noTotals> = {}): void {
  const totals = { ...noTotals, requests: new Map([['', requests]]), ...more };
  history.add({ atMs: beginMs + afterSeconds * 1_000, totals, openStreams: 2 });
}
const secondsOf = () => history.points.map(({ atMs }) => (atMs - beginMs) / 1_000);

describe('the points of the overview', () => {
  it('are ten seconds apart, and the last one is of the ten seconds before now', () => {
    for (let second = 0; second <= 24; second += 2) add(second, second * (second < 20 ? 5 : 10));
    expect(secondsOf()).toEqual([0, 10, 20]);
    expect(history.points.map((point) => point.requestsPerSecond)).toEqual([5, 5, (240 - 70) / 10]);
    expect(history.points.at(-1)?.openStreams).toBe(2);
  });

  it('reach back fifteen minutes, whatever the speed of reading', () => {
    for (let second = 0; second <= 1_800; second += second < 900 ? 2 : 10) add(second, second);
    expect(secondsOf().length).toBe(90);
    expect(secondsOf()[0]).toBe(910);
    expect(history.points.every((point) => Math.abs(point.requestsPerSecond - 1) < 1e-9)).toBe(true);
  });

  it('show the requests of a minute by model and code, and the time of first tokens', () => {
    add(0, 0);
    add(10, 0, {
      tokens: new Map([['m', 50]]),
      refusals: new Map([['rate_limit_exceeded', 5]]),
      firstTokens: new Map([
        ['1', 0],
        ['2', 10],
        ['+Inf', 10],
      ]),
    });
    expect(history.points.at(-1)).toMatchObject({
      tokensPerMinuteByModel: { m: 300 },
      refusalsPerMinuteByCode: { rate_limit_exceeded: 30 },
      refusalsPerSecond: 0.5,
      firstTokenP50Seconds: 1.5,
    });
    add(20, 0);
    expect(history.points.at(-1)).toMatchObject({ tokensPerMinuteByModel: {} });
    expect(history.points.at(-1)?.firstTokenP95Seconds).toBeUndefined();
  });

  it('return recent counts', () => {
    for (let second = 0; second <= 600; second += 10) add(second, second * 2);
    expect(history.counted('requests', 300_000)).toEqual(new Map([['', 600]]));
  });
});

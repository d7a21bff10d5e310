import { describe, expect, it } from 'vitest';
import { indexAt, layersOf, linePath, plotOf, shapePath, timeTicks } from './chart-geometry.ts';

const noon = Date.UTC(2026, 10, 20, 12) / 1000;

function plotOfLines(values: readonly (number | null)[], more: { kind?: 'lines' | 'bars'; stepSeconds?: number } = {}) {
  const { kind = 'lines', stepSeconds = 60 } = more;
  const layers = layersOf([{ values }], false);
  const times = values.map((_, index) => noon + index * stepSeconds);
  return { layers, plot: plotOf({ times, layers, width: 400, height: 130, kind, format: String }) };
}

describe('a chart', () => {
  it('has round values at its side, from nothing to at least the largest one', () => {
    const texts = (values: number[]) => plotOfLines(values).plot.valueTicks.map(({ text }) => text);
    expect(texts([3, 9.4])).toEqual(['0', '2.5', '5', '7.5', '10']);
    expect(texts([0, 0])).toEqual(['0', '0.25', '0.5', '0.75', '1']);
    expect(texts([])).toEqual(['0', '0.25', '0.5', '0.75', '1']);
  });

  it('has whole values at its side if its format has no decimals', () => {
    const whole = (largest: number) => {
      const layers = layersOf([{ values: [largest] }], false);
      const input = { times: [noon], layers, width: 400, height: 130, kind: 'lines' } as const;
      return plotOf({ ...input, format: (value) => value.toFixed(0) }).valueTicks.map(({ text }) => text);
    };
    expect(whole(1)).toEqual(['0', '1']);
    expect(whole(9.4)).toEqual(['0', '5', '10']);
    expect(whole(0)).toEqual(['0', '1']);
  });

  it('leaves a gap where there is nothing', () => {
    const { plot, layers } = plotOfLines([1, 2, null, 2, 1]);
    expect(
      linePath(plot, layers[0] ?? [])
        .match(/[ML]/g)
        ?.join(''),
    ).toBe('MLML');
  });

  it('stacks series on each other', () => {
    expect(layersOf([{ values: [1, 2] }, { values: [3, null] }], true)).toEqual([
      [
        [0, 1],
        [0, 2],
      ],
      [
        [1, 4],
        [2, 2],
      ],
    ]);
  });

  it('names round moments that are inside it', () => {
    const { plot } = plotOfLines(
      Array.from({ length: 91 }, () => 1),
      { stepSeconds: 10 },
    );
    const minutes = timeTicks(plot, undefined).map(({ text }) => text.slice(-2));
    expect(minutes).toEqual(['05', '10']);
  });

  it('names days where they are, the last one always', () => {
    const { plot } = plotOfLines([1, 2, 3, 4, 5, 6, 7], { kind: 'bars', stepSeconds: 86_400 });
    const day = (seconds: number) => String(new Date(seconds * 1000).getUTCDate());
    expect(timeTicks(plot, day).map(({ text }) => text)).toEqual(['20', '22', '24', '26']);
    expect(timeTicks(plot, day).at(-1)?.x).toBe(plot.x(6));
  });

  it('knows which time is pointed at', () => {
    const { plot } = plotOfLines([1, 2, 3]);
    expect([0, plot.x(1) + 3, 4000].map((pixel) => indexAt(plot, pixel))).toEqual([0, 1, 2]);
  });

  it('draws a bar for each value that is there, inside the chart', () => {
    const { plot, layers } = plotOfLines([1, null, 3], { kind: 'bars' });
    expect(shapePath(plot, layers[0] ?? [], 'bars').match(/M/g)).toHaveLength(2);
    expect(plot.x(0) - plot.barWidth / 2).toBeGreaterThanOrEqual(plot.left);
    expect(plot.x(2) + plot.barWidth / 2).toBeLessThanOrEqual(plot.right);
  });
});

import { formatClock } from './time.tsx';

/** The lower and upper end of a series at each time; null if there is no value. */
export type Layer = readonly (readonly [number, number] | null)[];

export type ChartKind = 'lines' | 'stacked' | 'bars';

/** The series, each from zero or stacked on each other. */
export function layersOf(
  series: readonly { readonly values: readonly (number | null)[] }[],
  stacked: boolean,
): readonly Layer[] {
  const sums: number[] = [];
  return series.map(({ values }) =>
    values.map((value, index) => {
      if (!stacked) return value === null ? null : ([0, value] as const);
      const from = sums[index] ?? 0;
      sums[index] = from + (value ?? 0);
      return [from, sums[index]] as const;
    }),
  );
}

/** The geometry of a chart, in pixels. */
export interface Plot {
  readonly times: readonly number[];
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  /** The horizontal position of a time. */
  readonly x: (index: number) => number;
  readonly y: (value: number) => number;
  /** The width of a bar. */
  readonly barWidth: number;
  readonly valueTicks: readonly { readonly y: number; readonly text: string }[];
}

interface PlotInput {
  readonly times: readonly number[];
  readonly layers: readonly Layer[];
  readonly width: number;
  readonly height: number;
  readonly kind: ChartKind;
  readonly format: (value: number) => string;
}

export function plotOf({ times, layers, width, height, kind, format }: PlotInput): Plot {
  const largest = Math.max(0, ...layers.flatMap((layer) => layer.map((span) => span?.[1] ?? 0)));
  const most = largest > 0 ? largest : 1;
  // A format without decimals would show a wrong number at half a step.
  const isWhole = format(0.4) === format(0);
  const step = niceStep(most / Math.max(1, Math.floor(height / 32)), isWhole);
  const ceiling = Math.ceil(most / step) * step;
  const values = Array.from({ length: Math.round(ceiling / step) + 1 }, (_, nth) => nth * step);
  const texts = values.map(format);
  const left = 10 + 6.5 * Math.max(...texts.map((text) => text.length));
  const [right, top, bottom] = [width - 20, 8, height - 22];
  const y = (value: number) => round(bottom - (value / ceiling) * (bottom - top));
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  const slot = (right - left) / Math.max(1, times.length);
  const x = (index: number) => {
    if (kind === 'bars') return round(left + (index + 0.5) * slot);
    return round(last === first ? right : left + (((times[index] ?? last) - first) / (last - first)) * (right - left));
  };
  const valueTicks = values.map((value, nth) => ({ y: y(value), text: texts[nth] ?? '' }));
  return { times, left, right, top, bottom, x, y, barWidth: round(Math.min(40, slot * 0.7)), valueTicks };
}

/** The smallest round step that is not less: 1, 2, 2.5, 5 or 10 times a power of ten. */
function niceStep(least: number, isWhole: boolean): number {
  if (isWhole && least < 1) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  const steps = [1, 2, 2.5, 5, 10].map((factor) => factor * power);
  return steps.find((step) => step >= least * 0.999 && (!isWhole || Number.isInteger(step))) ?? 10 * power;
}

const timeSteps = [60, 120, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86_400];

/**
 * Ticks at round times. If `formatTime` formats times in its own way, ticks at some of the times.
 * As many as there is room for.
 */
export function timeTicks(
  plot: Plot,
  formatTime: ((seconds: number) => string) | undefined,
): readonly { readonly x: number; readonly text: string }[] {
  const { times, left, right, x } = plot;
  const [first, last] = [times[0], times.at(-1)];
  if (first === undefined || last === undefined) return [];
  const room = Math.max(1, Math.floor((right - left) / 90));
  if (formatTime !== undefined) {
    const every = Math.ceil(times.length / room);
    return times.flatMap((time, index) =>
      (times.length - 1 - index) % every === 0 ? [{ x: x(index), text: formatTime(time) }] : [],
    );
  }
  const step = timeSteps.find((seconds) => (last - first) / seconds <= room) ?? 86_400;
  const count = Math.max(0, Math.floor((last - Math.ceil(first / step) * step) / step) + 1);
  return Array.from({ length: count }, (_, nth) => Math.ceil(first / step) * step + nth * step)
    .map((time) => ({
      x: round(left + ((time - first) / Math.max(1, last - first)) * (right - left)),
      text: formatClock(time * 1000),
    }))
    .filter(({ x }) => x > left + 12 && x < right - 4);
}

/** The time nearest to a position. */
export function indexAt({ times, x }: Plot, pixel: number): number {
  let nearest = 0;
  for (let index = 1; index < times.length; index += 1) {
    if (Math.abs(x(index) - pixel) < Math.abs(x(nearest) - pixel)) nearest = index;
  }
  return nearest;
}

/** A line through the upper ends, with gaps for missing values. */
export function linePath({ x, y }: Plot, layer: Layer): string {
  return layer
    .map((span, index) => (span === null ? '' : `${layer[index - 1] ? 'L' : 'M'}${x(index)} ${y(span[1])}`))
    .join('');
}

/** The shape between the lower and the upper ends: an area without gaps, or a bar for each time. */
export function shapePath({ x, y, barWidth }: Plot, layer: Layer, kind: ChartKind): string {
  const known = layer.flatMap((span, index) =>
    span === null ? [] : [{ x: x(index), from: y(span[0]), to: y(span[1]) }],
  );
  if (kind === 'bars') {
    return known.map(({ x, from, to }) => `M${round(x - barWidth / 2)} ${from}V${to}h${barWidth}V${from}Z`).join('');
  }
  if (known.length === 0) return '';
  const upper = known.map(({ x, to }) => `${x} ${to}`).join('L');
  const lower = known
    .toReversed()
    .map(({ x, from }) => `${x} ${from}`)
    .join('L');
  return `M${upper}L${lower}Z`;
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

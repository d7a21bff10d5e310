import { type PointerEvent, useEffect, useMemo, useRef, useState } from 'react';
import {
  type ChartKind,
  indexAt,
  type Layer,
  layersOf,
  linePath,
  type Plot,
  plotOf,
  shapePath,
  timeTicks,
} from './chart-geometry.ts';
import { formatMoment } from './time.tsx';

export interface Series {
  readonly label: string;
  /** One per time; null if there is no value. */
  readonly values: readonly (number | null)[];
  /** The name of a colour in tokens.css. Series of one chart have different colours. */
  readonly colour: `chart-${number}` | 'bad';
}

interface ChartProps {
  readonly label: string;
  /** In seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** Areas and bars are stacked in the order of the series. */
  readonly kind?: ChartKind;
  readonly height?: number;
  /** Formats a time, for example as a day. By default it is a time in the operator's zone. */
  readonly formatTime?: (seconds: number) => string;
}

/** Values over time. The figures under it are those at the pointer, else the last ones. */
export function Chart({ label, times, series, format, kind = 'lines', height = 140, formatTime }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [pointed, setPointed] = useState<number>();
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const sizes = new ResizeObserver(() => setWidth(element.clientWidth));
    sizes.observe(element);
    return () => sizes.disconnect();
  }, []);
  const layers = useMemo(() => layersOf(series, kind !== 'lines'), [series, kind]);
  const plot = useMemo(
    () => plotOf({ times, layers, width, height, kind, format }),
    [times, layers, width, height, kind, format],
  );
  const timeText = formatTime ?? ((seconds: number) => formatMoment(seconds * 1000));
  const index = pointed === undefined ? undefined : Math.min(pointed, times.length - 1);
  const at = index ?? times.length - 1;
  // The figure of a single series is beside the chart already.
  const legend = series.length > 1 || index !== undefined ? series : [];
  const onPointer = (event: PointerEvent) => setPointed(indexAt(plot, event.nativeEvent.offsetX));
  return (
    <figure className="chart">
      <div
        ref={box}
        style={{ blockSize: height }}
        onPointerMove={onPointer}
        onPointerLeave={() => setPointed(undefined)}
      >
        {width > 0 && (
          <svg
            width={width}
            height={height}
            role="img"
            aria-label={describe({ label, times, series, format, timeText })}
          >
            <Axes plot={plot} formatTime={formatTime} />
            {series.map((each, nth) => (
              <g key={each.label} style={{ color: `var(--${each.colour})` }}>
                <Drawn plot={plot} kind={kind} layer={layers[nth] ?? []} alone={series.length === 1} />
              </g>
            ))}
            {index !== undefined && (
              <path className="chart-cursor" d={`M${plot.x(index)} ${plot.top}V${plot.bottom}`} />
            )}
          </svg>
        )}
      </div>
      <figcaption>
        <ul>
          {legend.map(({ label, colour, values }) => (
            <li key={label}>
              <i className="swatch" style={{ color: `var(--${colour})` }} aria-hidden="true" />
              {label} <b>{valueOr(values[at], format)}</b>
            </li>
          ))}
        </ul>
        {index !== undefined && times[at] !== undefined && <span className="faint">{timeText(times[at])}</span>}
      </figcaption>
    </figure>
  );
}

interface DrawnProps {
  readonly plot: Plot;
  readonly kind: ChartKind;
  readonly layer: Layer;
  readonly alone: boolean;
}

/** A series: its line, and the shape below it. */
function Drawn({ plot, kind, layer, alone }: DrawnProps) {
  if (kind === 'bars') return <path className="chart-bar" d={shapePath(plot, layer, kind)} />;
  return (
    <>
      {(kind === 'stacked' || alone) && (
        <path className={alone ? 'chart-wash' : 'chart-area'} d={shapePath(plot, layer, kind)} />
      )}
      <path className="chart-line" d={linePath(plot, layer)} />
    </>
  );
}

function Axes({
  plot,
  formatTime,
}: {
  readonly plot: Plot;
  readonly formatTime: ((seconds: number) => string) | undefined;
}) {
  return (
    <g className="chart-axes">
      {plot.valueTicks.map(({ y, text }) => (
        <g key={text}>
          <path d={`M${plot.left} ${y}H${plot.right}`} />
          <text x={plot.left - 6} y={y + 4} textAnchor="end">
            {text}
          </text>
        </g>
      ))}
      {timeTicks(plot, formatTime).map(({ x, text }) => (
        <text key={x} x={x} y={plot.bottom + 16} textAnchor="middle">
          {text}
        </text>
      ))}
    </g>
  );
}

function valueOr(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}

type Described = Pick<ChartProps, 'label' | 'times' | 'series' | 'format'> & {
  readonly timeText: (seconds: number) => string;
};

/** The chart in one sentence, for screen readers. */
function describe({ label, times, series, format, timeText }: Described): string {
  const [first, last] = [times[0], times.at(-1)];
  if (first === undefined || last === undefined) return `${label}: no data yet.`;
  const figures = series.map(({ label, values }) => {
    const known = values.filter((value) => value !== null);
    if (known.length === 0) return `${label} has no values`;
    return `${label}: latest ${format(known.at(-1) ?? 0)}, minimum ${format(Math.min(...known))}, maximum ${format(Math.max(...known))}`;
  });
  return `${label} from ${timeText(first)} to ${timeText(last)}: ${figures.join('; ')}.`;
}

/** A line as small as a word, for tables. The last value is at the right. */
export function Sparkline({ values, label }: { readonly values: readonly number[]; readonly label: string }) {
  const most = Math.max(1, ...values);
  const step = 80 / Math.max(1, values.length - 1);
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${(19 - (value / most) * 18).toFixed(1)}`);
  return (
    <svg className="sparkline" viewBox="0 0 80 20" width="80" height="20" role="img" aria-label={label}>
      <polyline points={points.join(' ')} fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinejoin="round" />
    </svg>
  );
}

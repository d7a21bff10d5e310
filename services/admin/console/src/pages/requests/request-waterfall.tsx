import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { durationText } from './request-words.ts';
import { placeOf, type WaterfallBar, waterfallOf } from './waterfall.ts';

interface WaterfallProps {
  readonly request: RequestRecorded;
  /** When the ledger stored it. Undefined if unknown. */
  readonly loggedAtMs: number | undefined;
}

/** A bar for each step, to scale, beside its figures. */
export function RequestWaterfall({ request, loggedAtMs }: WaterfallProps) {
  const { totalMs, bars } = waterfallOf(request, loggedAtMs);
  if (bars.length === 0) return <p className="faint">The log has no timings for this request.</p>;
  const waited = request.times?.waitedForRoom ?? 0;
  return (
    <>
      <ol className="plain waterfall">
        {bars.map((bar) => (
          <Step key={`${bar.label} ${bar.fromMs}`} bar={bar} totalMs={totalMs} />
        ))}
      </ol>
      <p className="waterfall-scale faint" aria-hidden="true">
        <span>0</span>
        <span>{durationText(totalMs)}</span>
      </p>
      {waited >= 1 && <p className="faint small">The request waited {durationText(waited)} for body memory.</p>}
    </>
  );
}

function Step({ bar, totalMs }: { readonly bar: WaterfallBar; readonly totalMs: number }) {
  const { label, kind, fromMs, toMs, firstByteMs } = bar;
  const { left, width } = placeOf(bar, totalMs);
  return (
    <li>
      <span className="step">
        {label}
        {kind === 'failed attempt' && <span className="bad-text"> failed</span>}
      </span>
      <span className="track" aria-hidden="true">
        <span className="bar" data-kind={kind} style={{ insetInlineStart: `${left}%`, inlineSize: `${width}%` }} />
        {firstByteMs !== undefined && (
          <span className="first-token" style={{ insetInlineStart: `${(firstByteMs / totalMs) * 100}%` }} />
        )}
      </span>
      <span className="took">
        {durationText(toMs - fromMs)}
        {firstByteMs !== undefined && (
          <span className="faint">, first token after {durationText(firstByteMs - fromMs)}</span>
        )}
        {toMs > totalMs && <span className="faint">, not drawn to scale</span>}
      </span>
    </li>
  );
}

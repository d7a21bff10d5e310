import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';

/**
 * The steps of a request, one bar below the other. Times are milliseconds since it was received.
 */
export interface Waterfall {
  readonly totalMs: number;
  readonly bars: readonly WaterfallBar[];
}

export interface WaterfallBar {
  readonly label: string;
  readonly kind: 'admission' | 'body' | 'choice' | 'attempt' | 'failed attempt' | 'settle' | 'ingest';
  readonly fromMs: number;
  readonly toMs: number;
  /** When the first content of the answer arrived. */
  readonly firstByteMs?: number | undefined;
}

/**
 * From its admission to its end, as far as it came, and then until the ledger stored it.
 * @param loggedAtMs since 1970. Undefined if unknown.
 */
export function waterfallOf(request: RequestRecorded, loggedAtMs?: number): Waterfall {
  const { times, attempts, noAccount, refusal, receivedAtMs } = request;
  const known = attempts.flatMap(({ acquired, ended }) => [acquired, ended ?? 0]);
  const totalMs = times?.ended ?? Math.max(times?.bodyRead ?? 0, noAccount?.answered ?? 0, ...known);
  const admitted = times?.admitted ?? (refusal === undefined ? undefined : totalMs);
  const bars: WaterfallBar[] = [];
  if (admitted !== undefined) bars.push({ label: 'Admission', kind: 'admission', fromMs: 0, toMs: admitted });
  if (times?.admitted !== undefined) {
    // A body that could not be read ended the request.
    const toMs = times.bodyRead ?? (attempts.length === 0 && noAccount === undefined ? totalMs : times.admitted);
    bars.push({ label: 'Body', kind: 'body', fromMs: times.admitted, toMs });
  }
  for (const [index, { asked, acquired, ended, firstByte, result, accountId }] of attempts.entries()) {
    const isLast = index === attempts.length - 1;
    bars.push({ label: 'Account selection', kind: 'choice', fromMs: asked, toMs: acquired });
    bars.push({
      label: accountId,
      kind: result === AttemptResult.SUCCEEDED || result === AttemptResult.CANCELLED ? 'attempt' : 'failed attempt',
      fromMs: acquired,
      toMs: ended ?? (isLast ? totalMs : acquired),
      firstByteMs: firstByte,
    });
  }
  if (noAccount !== undefined) {
    bars.push({ label: 'No account', kind: 'choice', fromMs: noAccount.asked, toMs: noAccount.answered });
  }
  const worked = attempts.at(-1)?.ended;
  if (worked !== undefined && noAccount === undefined && totalMs > worked) {
    bars.push({ label: 'Settle and finish', kind: 'settle', fromMs: worked, toMs: totalMs });
  }
  if (loggedAtMs === undefined || receivedAtMs === undefined || times?.ended === undefined) return { totalMs, bars };
  // The times come from two clocks: an ingest that seems to precede the end happened at once.
  const toMs = Math.max(totalMs, loggedAtMs - receivedAtMs);
  bars.push({ label: 'Ingest', kind: 'ingest', fromMs: totalMs, toMs });
  return { totalMs: Math.min(toMs, totalMs * (1 + mostOfIngest)), bars };
}

/**
 * As a share of the request's own time: a longer ingest is cut, or its bar would hide all others.
 */
const mostOfIngest = 0.25;

/** The position of a bar on a scale of 0 to 100, never too thin to be seen. */
export function placeOf({ fromMs, toMs }: Pick<WaterfallBar, 'fromMs' | 'toMs'>, totalMs: number) {
  if (totalMs <= 0) return { left: 0, width: 100 };
  const left = clamp((fromMs / totalMs) * 100, 0, 100 - thinnest);
  return { left, width: clamp(((toMs - fromMs) / totalMs) * 100, thinnest, 100 - left) };
}

const thinnest = 0.4;

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

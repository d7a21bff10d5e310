import { alertThresholds } from '@gateway/telemetry/alert-thresholds';
import type { Alert } from './alert.ts';
import { availabilityFast, availabilitySlow, firstTokenFast, firstTokenSlow } from './burn-rate-cases.ts';
import { availability, firstToken, type Objective, recordingIntervalSeconds } from './objectives.ts';

/**
 * How fast the budget of 30 days is used up. The long window shows that it matters, the short one
 * that it continues.
 */
interface Burn {
  readonly factor: number;
  readonly long: string;
  readonly short: string;
}

const fast: readonly Burn[] = [
  { factor: 14.4, long: '1h', short: '5m' },
  { factor: 6, long: '6h', short: '30m' },
];
const slow: readonly Burn[] = [
  { factor: 3, long: '1d', short: '2h' },
  { factor: 1, long: '3d', short: '6h' },
];

/**
 * One failure of two requests is half of all. A rate of counts is not exact, so the bound is half a
 * failure lower.
 */
const tooFewBad = alertThresholds.fewestFailures - 0.5;

export const burnRateAlerts: readonly Alert[] = [
  {
    name: 'GatewayAvailabilityBurnsFast',
    severity: 'page',
    expr: burns(availability, fast),
    summary: 'Requests fail so often that the 30-day error budget will be spent within days',
    description:
      '{{ $value | humanizePercentage }} of requests get 5xx; the objective allows 0.1 %. Clients see errors now.',
    cases: availabilityFast,
  },
  {
    name: 'GatewayAvailabilityBurnsSlow',
    severity: 'ticket',
    expr: burns(availability, slow),
    summary: 'Requests fail slightly more often than the 30-day error budget allows',
    description:
      '{{ $value | humanizePercentage }} of requests got 5xx over one or three days; the objective allows 0.1 %.',
    cases: availabilitySlow,
  },
  {
    name: 'GatewayFirstTokenBurnsFast',
    severity: 'page',
    expr: burns(firstToken, fast),
    summary: 'Streamed answers begin so late that the 30-day budget will be spent within days',
    description:
      '{{ $value | humanizePercentage }} of streamed answers begin after more than 5 s; the objective allows 5 %. Clients wait now.',
    cases: firstTokenFast,
  },
  {
    name: 'GatewayFirstTokenBurnsSlow',
    severity: 'ticket',
    expr: burns(firstToken, slow),
    summary: 'Streamed answers begin late slightly more often than the 30-day budget allows',
    description:
      '{{ $value | humanizePercentage }} of streamed answers began after more than 5 s over one or three days; the objective allows 5 %.',
    cases: firstTokenSlow,
  },
];

/** A recorded rate is valid until the next one. */
function burns({ bad, budget }: Objective, rates: readonly Burn[]): string {
  return rates
    .map(({ factor, long, short }) => {
      const threshold = Number((factor * budget).toPrecision(6));
      return [
        `(gateway:${bad}:ratio${long} > ${threshold}`,
        `and gateway:${bad}:ratio${short} > ${threshold}`,
        `and sum_over_time(gateway:${bad}:rate5m[${long}]) * ${recordingIntervalSeconds} > ${tooFewBad})`,
      ].join(' ');
    })
    .join(' or ');
}

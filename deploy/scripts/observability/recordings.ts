import { type Objective, objectives, recordingIntervalSeconds } from './alerts/objectives.ts';

export interface RuleGroup<R> {
  readonly name: string;
  readonly interval: string;
  readonly rules: readonly R[];
}

export interface Recording {
  readonly record: string;
  readonly expr: string;
}

/** The windows of the burn rates, and that of the objectives themselves. */
const windows = ['5m', '30m', '1h', '2h', '6h', '1d', '3d', '30d'] as const;

/**
 * For each objective the rate of all events and of bad events, and their ratio over each window.
 * Long windows add up the recorded rates: otherwise thirty days of every series would be read again
 * each minute. The aggregation is by namespace, so that gateways of one cluster are separate;
 * without the label there is one series.
 */
export const recordings: readonly RuleGroup<Recording>[] = [
  {
    name: 'gateway-objectives',
    interval: `${recordingIntervalSeconds}s`,
    rules: objectives.flatMap((objective) => [...rates(objective), ...windows.map((each) => ratio(objective, each))]),
  },
];

/**
 * If there are no bad events, the rate is 0, not missing: otherwise a window would have only its
 * bad minutes.
 */
function rates({ all, bad, allExpr, badExpr }: Objective): readonly Recording[] {
  return [
    { record: `gateway:${all}:rate5m`, expr: allExpr },
    { record: `gateway:${bad}:rate5m`, expr: `${badExpr} or gateway:${all}:rate5m * 0` },
  ];
}

/** Without requests it is not a number, which exceeds no alert's threshold. */
function ratio({ all, bad }: Objective, window: string): Recording {
  const record = `gateway:${bad}:ratio${window}`;
  if (window === '5m') return { record, expr: `gateway:${bad}:rate5m / gateway:${all}:rate5m` };
  return {
    record,
    expr: `sum_over_time(gateway:${bad}:rate5m[${window}]) / sum_over_time(gateway:${all}:rate5m[${window}])`,
  };
}

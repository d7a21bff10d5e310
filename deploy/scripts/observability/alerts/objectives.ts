/**
 * A promise to users: the share of events that must not fail within 30 days. docs/operate/slo.md
 * describes each.
 */
export interface Objective {
  /**
   * The recorded series: `gateway:<all>:rate5m`, `gateway:<bad>:rate5m`, `gateway:<bad>:ratio1h`
   * and so on.
   */
  readonly all: string;
  readonly bad: string;
  /** The share that may be bad. */
  readonly budget: number;
  readonly allExpr: string;
  readonly badExpr: string;
}

/** The time between two evaluations of the rates that long windows add up. */
export const recordingIntervalSeconds = 60;

/** Only endpoints: requests to other paths are not about the gateway. */
const endpoints = 'http_route!="other"';

export const availability: Objective = {
  all: 'http_requests',
  bad: 'http_requests_failed',
  budget: 0.001,
  allExpr: `sum by (namespace) (rate(http_server_request_duration_seconds_count{${endpoints}}[5m]))`,
  badExpr: `sum by (namespace) (rate(http_server_request_duration_seconds_count{${endpoints},http_response_status_code=~"5.."}[5m]))`,
};

export const firstToken: Objective = {
  all: 'first_tokens',
  bad: 'first_tokens_late',
  budget: 0.05,
  allExpr: countOf('gen_ai_server_time_to_first_token_seconds'),
  badExpr: countAbove('gen_ai_server_time_to_first_token_seconds', 5),
};

export const usageDelivery: Objective = {
  all: 'usage_events',
  bad: 'usage_events_late',
  budget: 0.001,
  allExpr: countOf('gateway_usage_event_age_seconds'),
  badExpr: countAbove('gateway_usage_event_age_seconds', 60),
};

export const objectives = [availability, firstToken, usageDelivery] as const;

function countOf(histogram: string): string {
  return `sum by (namespace) (rate(${histogram}_count[5m]))`;
}

/** Prometheus 3 writes the bound of a bucket as a float, older versions as the service does. */
function countAbove(histogram: string, bound: number): string {
  const within = `sum by (namespace) (rate(${histogram}_bucket{le=~"${bound}|${bound}\\\\.0"}[5m]))`;
  return `${countOf(histogram)} - ${within}`;
}

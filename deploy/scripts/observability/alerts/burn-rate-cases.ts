import type { AlertCase } from './alert.ts';
import { counter } from './series.ts';

/** Minutes. */
const hour = 60;
const day = 24 * hour;

const failing = (share: string) => `${share} of requests get 5xx; the objective allows 0.1 %. Clients see errors now.`;
const failed = (share: string) => `${share} of requests got 5xx over one or three days; the objective allows 0.1 %.`;
const late = (share: string) =>
  `${share} of streamed answers begin after more than 5 s; the objective allows 5 %. Clients wait now.`;
const wasLate = (share: string) =>
  `${share} of streamed answers began after more than 5 s over one or three days; the objective allows 5 %.`;

export const availabilityFast: readonly AlertCase[] = [
  {
    title: 'fires when one request in forty fails for most of an hour, and ends when the last minutes were better',
    pace: '5m',
    series: requests([1000, 0, 6 * hour], [975, 25, 50], [984, 16, 10], [987, 13, hour]),
    moments: [
      { at: '6h30m', firing: [] },
      { at: '6h45m', firing: [{ description: failing('1.731%') }] },
      { at: '7h', firing: [{ description: failing('2.169%') }] },
      { at: '7h10m', firing: [] },
    ],
  },
  {
    title: 'fires when one request in a hundred fails for hours, and ends when the last half hour was better',
    pace: '5m',
    series: requests([1000, 0, 6 * hour], [990, 10, 5 * hour], [993, 7, 40], [995, 5, hour]),
    moments: [
      { at: '9h', firing: [] },
      { at: '10h', firing: [{ description: failing('0.6575%') }] },
      { at: '11h35m', firing: [{ description: failing('0.889%') }] },
      { at: '12h15m', firing: [] },
    ],
  },
  {
    title: 'is silent while one request in two hundred fails for hours',
    pace: '5m',
    series: requests([995, 5, 10 * hour]),
    moments: [
      { at: '2h', firing: [] },
      { at: '9h', firing: [] },
    ],
  },
  {
    title: 'is silent until ten requests have failed, however few there are',
    series: requests([0, 0, 10], [0, 1, 9], [0, 0, 20], [0, 1, 2], [0, 0, hour]),
    moments: [
      { at: '20m', firing: [] },
      { at: '35m', firing: [] },
      { at: '44m', firing: [{ description: failing('100%') }] },
    ],
  },
  {
    title: 'is silent about refusals, clients that left, and paths that are no endpoints',
    series: {
      [requestsWith('200')]: counter([100, 2 * hour]),
      [requestsWith('429')]: counter([50, 2 * hour]),
      [requestsWith('499')]: counter([50, 2 * hour]),
      [requestsWith('500', 'other')]: counter([50, 2 * hour]),
    },
    moments: [{ at: '1h50m', firing: [] }],
  },
  {
    title: 'tells gateways of one cluster apart',
    series: {
      [requestsWith('200', '/v1/messages', 'staging')]: counter([900, 2 * hour]),
      [requestsWith('500', '/v1/messages', 'staging')]: counter([100, 2 * hour]),
      [requestsWith('200', '/v1/messages', 'production')]: counter([1000, 2 * hour]),
    },
    moments: [{ at: '1h', firing: [{ labels: { namespace: 'staging' }, description: failing('10%') }] }],
  },
];

export const availabilitySlow: readonly AlertCase[] = [
  {
    title:
      'fires when seven requests in a thousand fail for most of a day, and ends when the last two hours were better',
    pace: '30m',
    series: requests([4000, 0, 2 * day], [993, 7, 20 * hour], [996.5, 3.5, 4 * hour], [997.5, 2.5, 4 * hour]),
    moments: [
      { at: '2d17h30m', firing: [] },
      { at: '2d18h30m', firing: [{ description: failed('0.3047%') }] },
      { at: '3d', firing: [{ description: failed('0.5923%') }] },
      { at: '3d3h30m', firing: [] },
    ],
  },
  {
    title: 'fires when seven hours of three days failed one time in a hundred, and ends when the last six were better',
    pace: '30m',
    series: requests([1000, 0, 2 * day], [990, 10, 7 * hour], [998.8, 1.2, 7 * hour], [999.1, 0.9, 8 * hour]),
    moments: [
      { at: '2d4h', firing: [] },
      { at: '2d13h30m', firing: [{ description: failed('0.1265%') }] },
      { at: '2d20h30m', firing: [] },
    ],
  },
  {
    title: 'is silent until ten requests have failed, however few there are',
    series: requests([0, 0, 10], [0, 0.1, 2 * hour]),
    moments: [
      { at: '1h30m', firing: [] },
      { at: '2h5m', firing: [{ description: failed('100%') }] },
    ],
  },
  {
    title: 'is silent while nine requests in ten thousand fail for three days',
    pace: '30m',
    series: requests([9_991, 9, 3 * day]),
    moments: [
      { at: '1d', firing: [] },
      { at: '2d23h', firing: [] },
    ],
  },
];

export const firstTokenFast: readonly AlertCase[] = [
  {
    title: 'fires when nine streams in ten begin late for most of an hour, and ends when the last minutes were better',
    pace: '5m',
    series: streams('5', [100, 0, 6 * hour], [10, 90, 55], [25, 75, 10], [30, 70, hour]),
    moments: [
      { at: '6h45m', firing: [] },
      { at: '6h55m', firing: [{ description: late('76.15%') }] },
      { at: '7h5m', firing: [{ description: late('87.69%') }] },
      { at: '7h15m', firing: [] },
    ],
  },
  {
    title:
      'fires when two streams in five begin late for most of six hours, and ends when the last half hour was better',
    pace: '5m',
    series: streams('5.0', [100, 0, 6 * hour], [60, 40, 5.5 * hour], [68, 32, 40], [75, 25, hour]),
    moments: [
      { at: '10h', firing: [] },
      { at: '11h', firing: [{ description: late('32.88%') }] },
      { at: '12h5m', firing: [{ description: late('39.23%') }] },
      { at: '12h50m', firing: [] },
    ],
  },
  {
    title: 'is silent while one stream in four begins late',
    pace: '5m',
    series: streams('5', [75, 25, 10 * hour]),
    moments: [{ at: '9h', firing: [] }],
  },
  {
    title: 'is silent until ten streams were late',
    series: streams('5', [0, 0, 10], [0, 1, 9], [0, 0, 20], [0, 1, 2], [0, 0, hour]),
    moments: [
      { at: '20m', firing: [] },
      { at: '44m', firing: [{ description: late('100%') }] },
    ],
  },
];

export const firstTokenSlow: readonly AlertCase[] = [
  {
    title: 'fires when three streams in ten begin late for most of a day, and ends when the last two hours were better',
    pace: '30m',
    series: streams('5', [300, 0, 2 * day], [70, 30, 20 * hour], [83, 17, 4 * hour], [87, 13, 4 * hour]),
    moments: [
      { at: '2d17h30m', firing: [] },
      { at: '2d18h30m', firing: [{ description: wasLate('15.21%') }] },
      { at: '3d', firing: [{ description: wasLate('26.2%') }] },
      { at: '3d3h30m', firing: [] },
    ],
  },
  {
    title: 'fires when seven hours of three days were late every second time, and ends when the last six were better',
    pace: '30m',
    series: streams('5', [100, 0, 2 * day], [50, 50, 7 * hour], [94, 6, 7 * hour], [95.6, 4.4, 8 * hour]),
    moments: [
      { at: '2d3h', firing: [] },
      { at: '2d13h30m', firing: [{ description: wasLate('6.325%') }] },
      { at: '2d20h30m', firing: [] },
    ],
  },
  {
    title: 'is silent until ten streams were late',
    series: streams('5', [0, 0, 10], [0, 0.1, 2 * hour]),
    moments: [
      { at: '1h30m', firing: [] },
      { at: '2h5m', firing: [{ description: wasLate('100%') }] },
    ],
  },
  {
    title: 'is silent while one stream in twenty-five begins late for three days',
    pace: '30m',
    series: streams('5', [96, 4, 3 * day]),
    moments: [{ at: '2d23h', firing: [] }],
  },
];

type Pace = readonly [good: number, bad: number, minutes: number];

function requests(...paces: readonly Pace[]): Readonly<Record<string, string>> {
  return {
    [requestsWith('200')]: counter(...paces.map(([good, , minutes]) => [good, minutes] as const)),
    [requestsWith('503')]: counter(...paces.map(([, bad, minutes]) => [bad, minutes] as const)),
  };
}

function requestsWith(status: string, route = '/v1/chat/completions', namespace?: string): string {
  const labels = {
    job: 'edge-router',
    instance: 'edge-router:9090',
    ...(namespace !== undefined && { namespace }),
    http_request_method: 'POST',
    http_route: route,
    http_response_status_code: status,
  };
  return `http_server_request_duration_seconds_count{${Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(',')}}`;
}

/** @param bound Prometheus' notation for the bound of five seconds. */
function streams(bound: string, ...paces: readonly Pace[]): Readonly<Record<string, string>> {
  const name = 'gen_ai_server_time_to_first_token_seconds';
  const within = counter(...paces.map(([good, , minutes]) => [good, minutes] as const));
  const all = counter(...paces.map(([good, bad, minutes]) => [good + bad, minutes] as const));
  return {
    [`${name}_bucket{instance="edge-router:9090",le="2.5"}`]: counter([0, 1]),
    [`${name}_bucket{instance="edge-router:9090",le="${bound}"}`]: within,
    [`${name}_bucket{instance="edge-router:9090",le="+Inf"}`]: all,
    [`${name}_count{instance="edge-router:9090"}`]: all,
  };
}

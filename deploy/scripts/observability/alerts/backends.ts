import type { Alert, Severity } from './alert.ts';
import { gauge, missing } from './series.ts';

/** One alert for each backend of the gateway, however many processes do not reach it. */
export const backendAlerts: readonly Alert[] = [
  away({
    name: 'GatewayDatabaseAway',
    backend: 'postgres',
    called: 'Postgres',
    severity: 'page',
    effect: 'Tokens that were not used recently get 500. Usage waits. Accounts keep their last known state.',
  }),
  away({
    name: 'GatewayRedisAway',
    backend: 'redis',
    called: 'Redis',
    severity: 'page',
    effect: 'Limits are estimated, for at most LIMITER_LOCAL_MAX_SECONDS (300). After that, requests fail.',
  }),
  away({
    name: 'GatewayNatsAway',
    backend: 'nats',
    called: 'NATS',
    severity: 'ticket',
    effect: 'Clients notice nothing. Usage waits on the disks of the edges while they have space.',
  }),
];

interface Away {
  readonly name: string;
  readonly backend: string;
  readonly called: string;
  readonly severity: Severity;
  readonly effect: string;
}

function away({ name, backend, called, severity, effect }: Away): Alert {
  const up = (instance: string, other = backend) => `gateway_backend_up{instance="${instance}",backend="${other}"}`;
  const others = ['postgres', 'redis', 'nats'].filter((other) => other !== backend);
  return {
    name,
    severity,
    expr: `count by (namespace) (gateway_backend_up{backend="${backend}"} == 0)`,
    for: '1m',
    keepFiringFor: '2m',
    summary: `${called} does not answer`,
    description: `{{ $value }} processes cannot reach ${called}. ${effect}`,
    cases: [
      {
        title: `fires when processes do not reach ${called}, and ends two minutes after all do`,
        series: {
          [up('a')]: gauge([1, 10], [0, 10], [1, 10]),
          [up('b')]: gauge([1, 10], [0, 5], [1, 15]),
          [up('c')]: gauge([1, 30]),
        },
        moments: [
          { at: '10m', firing: [] },
          { at: '11m', firing: [{ description: `2 processes cannot reach ${called}. ${effect}` }] },
          { at: '19m', firing: [{ description: `1 processes cannot reach ${called}. ${effect}` }] },
          { at: '21m', firing: [{ description: `1 processes cannot reach ${called}. ${effect}` }] },
          { at: '23m', firing: [] },
        ],
      },
      {
        title: `is silent about one failure, about processes that are gone, and about other backends`,
        series: {
          [up('a')]: gauge([1, 10], [0, 1], [1, 19]),
          [up('b')]: `1x9 ${missing(20)}`,
          ...Object.fromEntries(others.map((other) => [up('a', other), gauge([0, 30])])),
        },
        moments: ['10m', '11m', '12m', '29m'].map((at) => ({ at, firing: [] })),
      },
    ],
  };
}

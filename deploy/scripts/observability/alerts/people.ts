import type { Alert } from './alert.ts';
import { gauge } from './series.ts';

const missingGroup = {
  description:
    '1 of the groups of tokens in OIDC_PEOPLE_GROUPS does not exist. People who would get it cannot sign in.',
};

export const peopleAlerts: readonly Alert[] = [
  {
    name: 'GatewayPeopleGroupMissing',
    severity: 'ticket',
    expr: 'max by (namespace) (gateway_admin_missing_people_groups) > 0',
    for: '5m',
    summary: 'OIDC_PEOPLE_GROUPS names a group that does not exist',
    description:
      '{{ $value }} of the groups of tokens in OIDC_PEOPLE_GROUPS does not exist. People who would get it cannot sign in.',
    cases: [
      {
        title: 'fires once for all replicas when a group is gone, and ends when it is there',
        series: {
          'gateway_admin_missing_people_groups{instance="a"}': gauge([0, 10], [1, 20], [0, 10]),
          'gateway_admin_missing_people_groups{instance="b"}': gauge([0, 10], [1, 20], [0, 10]),
        },
        moments: [
          { at: '14m', firing: [] },
          { at: '16m', firing: [missingGroup] },
          { at: '29m', firing: [missingGroup] },
          { at: '31m', firing: [] },
        ],
      },
      {
        title: 'is silent about a group that is renamed while the setting changes',
        series: { 'gateway_admin_missing_people_groups{instance="a"}': gauge([0, 10], [1, 4], [0, 20]) },
        moments: ['12m', '15m', '16m', '30m'].map((at) => ({ at, firing: [] })),
      },
    ],
  },
];

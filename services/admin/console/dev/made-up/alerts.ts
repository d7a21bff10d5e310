import type { ServiceImpl } from '@connectrpc/connect';
import { type AlertService, AlertState } from '@gateway/proto/admin/v1/alert_service_pb.js';

export const alertService: Partial<ServiceImpl<typeof AlertService>> = {
  listAlerts: () => ({
    alerts: [
      {
        ...{ alertId: 'msg_2', atMs: Date.now() - 240_000, receiver: 'ops', kind: 'pool' },
        text: 'The pool research has no available account. Add or enable one.',
        ...{ state: AlertState.SENT, attempts: 1, answer: '200' },
      },
      {
        ...{ alertId: 'msg_1', atMs: Date.now() - 3_900_000, receiver: 'billing', kind: 'budget' },
        text: 'The group search used 82 % of its budget for this month (205.00 EUR of 250.00 EUR).',
        ...{ state: AlertState.WAITING, attempts: 3, answer: '503' },
      },
    ],
  }),
};

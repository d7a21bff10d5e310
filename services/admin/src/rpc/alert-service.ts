import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import { type AlertSchema, type AlertService, AlertState } from '@gateway/proto/admin/v1/alert_service_pb.js';
import { randomId } from '@gateway/time';
import { type AlertRow, AlertStore } from '../alerts/alert-store.ts';
import { readReceivers } from '../alerts/readings.ts';
import type { AdminParts } from '../parts.ts';
import { invalidFields, notFound } from './problems.ts';

/** Warnings to receivers, and what these answered. */
export function alertService({ peers, database, audit, sender }: AdminParts): ServiceImpl<typeof AlertService> {
  const store = new AlertStore(database);
  return {
    async listAlerts({ last }) {
      if (last > mostAlerts) throw invalidFields({ last: `Must be at most ${mostAlerts}.` });
      return { alerts: (await store.list(last || 50)).map(toAlert) };
    },

    async testAlert({ receiver: name }, context) {
      return await audit.change(context, { action: 'alert.test', subject: name }, async () => {
        const receiver = (await readReceivers(peers, context.signal)).find((each) => each.name === name);
        if (receiver === undefined) throw notFound(`receiver with the name "${name}" in gateway.yaml`);
        const row = await store.begin(name, test(randomId()));
        const { answer, ...ending } = await sender.attempt(row, receiver, context.signal);
        // A person waits for the answer: a failed test is not repeated.
        const state = ending.state === 'sent' ? 'sent' : 'failed';
        const ended = await store.end(row, { state, answer });
        return { answer: { alert: toAlert(ended ?? row) }, after: { state, answer } };
      });
    },
  };
}

const mostAlerts = 1_000;

function test(id: string) {
  const text = 'This is a test message of the model gateway.';
  return { kind: 'test', subject: '', cause: `test:${id}`, period: '', text, link: '', details: {} } as const;
}

function toAlert(row: AlertRow): MessageInitShape<typeof AlertSchema> {
  const { alert_id: alertId, receiver, kind, subject, text, state, attempts, answer } = row;
  return {
    ...{ alertId, receiver, kind, subject, text, attempts, answer, state: states[state] },
    atMs: row.created_at_ms,
    ...(row.ended_at_ms !== null && { endedAtMs: row.ended_at_ms }),
    ...(state === 'waiting' && { nextAttemptAtMs: row.due_at_ms }),
  };
}

const states = { waiting: AlertState.WAITING, sent: AlertState.SENT, failed: AlertState.FAILED } as const;

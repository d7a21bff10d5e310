import { AlertService, AlertState } from '@gateway/proto/admin/v1/alert_service_pb.js';
import { AlertFormat, PoolOperatorService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { describe, expect, it } from 'vitest';
import { alertReceiver } from '../__fixtures__/alert-receiver.ts';
import { fieldsOf, peer, rpcWorld } from '../__fixtures__/rpc-world.ts';
import { alertService } from './alert-service.ts';

async function world(...statuses: readonly number[]) {
  const receiver = await alertReceiver(...statuses);
  const receivers = [{ name: 'ops', url: receiver.url, format: AlertFormat.SLACK }];
  const poolOperator = peer(PoolOperatorService, { listAlertReceivers: () => ({ receivers }) });
  return { ...(await rpcWorld(AlertService, alertService, { poolOperator })), ...receiver };
}

describe('warnings', () => {
  it('are tested once, with the answer, in the list and in the audit log, which never have the URL', async () => {
    const { client, time, audited, received, url } = await world(204, 503);
    const first = await client.testAlert({ receiver: 'ops' });
    time.advanceMs(1);
    const second = await client.testAlert({ receiver: 'ops' });
    expect(first.alert).toMatchObject({ receiver: 'ops', state: AlertState.SENT, answer: '204', attempts: 1 });
    expect(second.alert).toMatchObject({ kind: 'test', state: AlertState.FAILED, answer: '503' });
    expect(second.alert?.nextAttemptAtMs).toBeUndefined();
    expect(received).toHaveLength(2);
    const { alerts } = await client.listAlerts({});
    expect(alerts.map(({ answer }) => answer)).toEqual(['503', '204']);
    expect((await client.listAlerts({ last: 1 })).alerts).toHaveLength(1);
    const rows = await audited();
    expect(rows).toMatchObject([
      { action: 'alert.test', subject: 'ops', outcome: 'done', after: { state: 'sent', answer: '204' } },
      { action: 'alert.test', subject: 'ops', outcome: 'done', after: { state: 'failed', answer: '503' } },
    ]);
    expect([String(alerts), JSON.stringify(rows)].join()).not.toContain(url);
  });

  it('are not sent to receivers that gateway.yaml does not have', async () => {
    const { client, received } = await world();
    await expect(client.testAlert({ receiver: 'other' })).rejects.toThrow(/no receiver with the name "other"/);
    expect(received).toEqual([]);
    expect(await fieldsOf(client.listAlerts({ last: 1_001 }))).toHaveProperty('last');
  });
});

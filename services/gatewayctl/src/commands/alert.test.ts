import { AlertService, AlertState } from '@gateway/proto/admin/v1/alert_service_pb.js';
import { describe, expect, it } from 'vitest';
import { CommandLine } from '../__fixtures__/command-line.ts';

describe('gatewayctl alert', () => {
  const alert = { receiver: 'ops', text: 'The group a used 82 % of its budget.', attempts: 2 };

  it('lists warnings with what was answered', async () => {
    const alerts = [{ ...alert, state: AlertState.SENT, answer: '204' }];
    const line = new CommandLine((router) => router.service(AlertService, { listAlerts: () => ({ alerts }) }));
    expect((await line.run('alert', 'list')).lines[1]).toMatch(/ops +sent +204 +2 +The group a used/);
    expect((await line.run('alert', 'list', '-o', 'json')).json()).toMatchObject([{ receiver: 'ops' }]);
  });

  it.each([
    ['accepted', AlertState.SENT, '200', 0],
    ['rejected', AlertState.FAILED, '404', 1],
  ] as const)('tests a receiver, and its status says whether the message was %s', async (_, state, answer, status) => {
    const line = new CommandLine((router) =>
      router.service(AlertService, { testAlert: ({ receiver }) => ({ alert: { ...alert, receiver, state, answer } }) }),
    );
    const { exitCode, lines } = await line.run('alert', 'test', 'pager');
    expect({ exitCode, line: lines[0] }).toEqual({ exitCode: status, line: `pager answered ${answer}` });
  });
});

import { Severity, SystemService } from '@gateway/proto/admin/v1/system_service_pb.js';
import { describe, expect, it } from 'vitest';
import { CommandLine } from '../__fixtures__/command-line.ts';

describe('gatewayctl system', () => {
  const overview = {
    attention: [{ severity: Severity.CRITICAL, text: 'Redis does not answer.' }],
    points: [{ requestsPerSecond: 12.34, firstTokenP50Seconds: 0.25, tokensPerMinuteByModel: { m: 100, n: 900 } }],
  };
  const replica = {
    service: 'limiter',
    address: 'a',
    ready: false,
    problem: 'it starts',
    cpuShare: 0.25,
    residentBytes: 1_048_576,
  };
  const line = () =>
    new CommandLine((router) =>
      router.service(SystemService, {
        getOverview: () => ({ overview }),
        async *watchOverview() {
          yield { overview };
        },
        listReplicas: () => ({ replicas: [{ ...replica, figures: { ledger_lag_seconds: 1.5, workers: 0 } }] }),
      }),
    );

  it('begins with the attention list, and has figures and replicas', async () => {
    for (const args of [[], ['--watch']]) {
      const { printed } = await line().run('system', 'status', ...args);
      expect(printed).toMatch(/^✗ now {3}Redis does not answer\.\n/);
      expect(printed).toMatch(/requests +12\.3\/s\n/);
      expect(printed).toMatch(/errors by code +0\.0\/s/);
      expect(printed).toMatch(/first token +p50 250 ms, p95 –\n/);
      expect(printed).toMatch(/tokens +1000\/min \(n 900\/min, m 100\/min\)\n/);
      expect(printed).toMatch(/\nlimiter +a +it starts +1\.0 MiB +25 % +ledger lag 1\.5\s?s\n/);
    }
  });

  it('lists replicas for programs', async () => {
    const { json } = await line().run('system', 'replicas', '-o', 'json');
    expect(json().replicas).toMatchObject([{ residentBytes: 1_048_576, figures: { ledger_lag_seconds: 1.5 } }]);
  });
});

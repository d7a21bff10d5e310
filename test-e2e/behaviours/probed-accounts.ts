import { AuditService } from '@gateway/proto/admin/v1/audit_service_pb.js';
import { describe, expect, it } from 'vitest';
import { adminClient } from '../client/operator.ts';
import { gatewayctl } from '../topologies/gateway-process.ts';
import type { ServicesTopology } from '../topologies/services.ts';
import { commandLineSettings, type Topology } from '../topologies/topology.ts';

const probe = async (gateway: Topology) => await gatewayctl(['doctor', '--probe'], commandLineSettings(gateway));

/** What operators learn of providers when no client has sent a request. */
export function probedAccountsBehaviour(gateway: () => Topology): void {
  describe('gatewayctl doctor --probe', () => {
    it('says what each provider answers to the credential of each account, and changes no account', async () => {
      const { simulator, operator } = gateway();
      const path = '/v1/models';
      const accounts = async () =>
        (await operator.accountsOf('sticky')).map(({ state, lastError }) => ({ state, lastError }));
      const before = await accounts();
      const faults = [
        simulator.faults.add({ account: 'sticky-b', path, fault: { kind: 'status', status: 401 } }),
        simulator.faults.add({ account: 'sticky-c', path, fault: { kind: 'reset' } }),
      ];
      const { exitCode, stdout } = await probe(gateway());
      for (const fault of faults) simulator.faults.clear(fault);
      expect(exitCode).toBe(1);
      expect(stdout).toMatch(/^✓ accounts +sticky\/a: 200, \d+ models in /m);
      expect(stdout).toMatch(/^✗ accounts +sticky\/b: 401 from the provider\n +Replace the key in gateway\.yaml/m);
      expect(stdout).toMatch(/^✗ accounts +sticky\/c: the connection (closed before the answer|was reset)$/m);
      expect(stdout).toMatch(/^✓ accounts +messages\/\S+: 200, \d+ models in /m);
      expect(await accounts()).toEqual(before);
      const { entries } = await adminClient(AuditService, gateway()).listAudit({
        search: 'account.probe',
        pageSize: 1,
      });
      expect(JSON.parse(entries[0]?.after ?? '')).toMatchObject({ failed: expect.any(Number) });
    });
  });
}

/** The same while an adapter is away. */
export function probesWithoutAdapterBehaviour(gateway: () => ServicesTopology): void {
  describe('gatewayctl doctor --probe without the messages-adapter', () => {
    it('says so for its accounts, and probes the others', async () => {
      const adapter = gateway().services['messages-adapter'];
      await adapter.kill();
      const { exitCode, stdout } = await probe(gateway());
      await adapter.restart();
      expect(exitCode).toBe(1);
      expect(stdout).toMatch(/^✗ accounts +messages\/\S+: the messages-adapter does not answer: /m);
      expect(stdout).toMatch(/^✓ accounts +sticky\/a: 200, \d+ models in /m);
    });
  });
}

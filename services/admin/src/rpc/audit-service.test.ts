import { AuditService } from '@gateway/proto/admin/v1/audit_service_pb.js';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { expect, it } from 'vitest';
import { peer, rpcWorld, startMs } from '../__fixtures__/rpc-world.ts';
import { noteInAudit } from '../access/audit-trail.ts';
import type { AdminParts } from '../parts.ts';
import { auditService } from './audit-service.ts';

async function worldOf() {
  const known: AdminParts[] = [];
  const identity = peer(IdentityService, { list: () => ({ tokens: [{ tokenId: 'aaa1', label: 'nightly' }] }) });
  const create = (parts: AdminParts) => {
    known.push(parts);
    return auditService(parts);
  };
  const { client } = await rpcWorld(AuditService, create, { identity });
  const [parts] = known;
  if (parts === undefined) throw new TypeError('The service was not created.');
  const common = { atMs: startMs, actor: 'ada', address: '', outcome: 'done', action: 'token.update' } as const;
  const [before, after] = [{ label: 'CI_1', note: 'ci' }, { label: 'nightly' }];
  await noteInAudit(parts.database, { ...common, subject: 'aaa1', before, after });
  await noteInAudit(parts.database, { ...common, subject: 'bbb2', after: { label: 'other' } });
  return client;
}

it('finds tokens by the labels that they had before and after, and shows the present one', async () => {
  const client = await worldOf();
  const found = async (search: string) => (await client.listAudit({ search })).entries.map(({ subject }) => subject);
  expect(await found('ci_')).toEqual(['aaa1']);
  expect(await found('night')).toEqual(['aaa1']);
  expect(await found('none')).toEqual([]);
  const { entries } = await client.listAudit({ search: 'aaa1' });
  expect(entries).toMatchObject([{ subject: 'aaa1', subjectLabel: 'nightly', reason: '' }]);
});

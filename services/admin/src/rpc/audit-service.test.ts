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
  return { client, database: parts.database };
}

it('finds tokens by the labels that they had before and after, and shows the present one', async () => {
  const { client } = await worldOf();
  const found = async (search: string) => (await client.listAudit({ search })).entries.map(({ subject }) => subject);
  expect(await found('ci_')).toEqual(['aaa1']);
  expect(await found('night')).toEqual(['aaa1']);
  expect(await found('none')).toEqual([]);
  const { entries } = await client.listAudit({ search: 'aaa1' });
  expect(entries).toMatchObject([{ subject: 'aaa1', subjectLabel: 'nightly', reason: '' }]);
});

it.each([Number.NaN, Number.POSITIVE_INFINITY, 0.5, 2 ** 53])(
  'is not searched from or until %d, which is no time',
  async (ms) => {
    const { client } = await worldOf();
    await expect(client.listAudit({ sinceMs: ms })).rejects.toThrow(/sinceMs: Must be/);
    await expect(client.listAudit({ untilMs: ms })).rejects.toThrow(/untilMs: Must be/);
  },
);

it('lists rows that it cannot read, and says why', async () => {
  const { client, database } = await worldOf();
  const row = { actor: 'ada', address: '', action: 'x', outcome: 'done' } as const;
  for (const [subject, details] of [
    ['broken', '{'],
    ['other form', '{"reason":7,"before":1}'],
    ['old', '[3]'],
  ] as const) {
    await database
      .insertInto('audit_log')
      .values({ ...row, audit_id: subject, at_ms: 1, subject, details })
      .execute();
  }
  const unknown = { ...row, outcome: 'later' as 'done', audit_id: 'z', at_ms: Number.MAX_SAFE_INTEGER, subject: 'odd' };
  await database
    .insertInto('audit_log')
    .values({ ...unknown, details: '{}' })
    .execute();
  const { entries } = await client.listAudit({});
  const shown = entries.map(({ subject, after, unreadable }) => [subject, after || unreadable]);
  expect(Object.fromEntries(shown)).toMatchObject({
    aaa1: '{"label":"nightly"}',
    broken: "The stored change can't be read: it is not valid JSON.",
    'other form': '{"reason":7,"before":1}',
    old: '[3]',
    odd: '',
  });
});

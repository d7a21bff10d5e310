import { Code } from '@connectrpc/connect';
import { GatewayError } from '@gateway/errors';
import { AccountService } from '@gateway/proto/admin/v1/account_service_pb.js';
import { AccountUse, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { PoolOperatorService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import { describe, expect, it } from 'vitest';
import { fieldsOf, peer, rpcWorld } from '../__fixtures__/rpc-world.ts';
import { accountService } from './account-service.ts';

const id = 'responses/a';
const credential = { credential: { case: 'bearer', value: 'sk-canary' } } as const;
const account = { id, use: AccountUse.ACTIVE, stored: true, credentialKind: 'bearer' };

function worldOf(handlers: Partial<Handlers<typeof PoolOperatorService>>) {
  return rpcWorld(AccountService, accountService, { poolOperator: peer(PoolOperatorService, handlers) });
}

describe('accounts', () => {
  it('are changed by the broker, and the audit log has the state before and after, and no secret', async () => {
    const { client, time, audited } = await worldOf({
      addAccount: () => ({ account }),
      replaceCredential: () => ({ before: account, account }),
      setAccountUse: ({ use }) => ({ before: account, account: { ...account, use } }),
      removeAccount: () => ({ before: account }),
    });
    const calls = [
      () => client.addAccount({ account: { pool: 'responses', name: 'a' }, credential }),
      () => client.replaceCredential({ accountId: id, credential }),
      () => client.setAccountState({ accountId: id, use: AccountUse.DRAINING, expectedUse: AccountUse.ACTIVE }),
      () => client.setAccountState({ accountId: id, use: AccountUse.DISABLED }),
      () => client.setAccountState({ accountId: id, use: AccountUse.ACTIVE }),
      () => client.removeAccount({ accountId: id }),
    ];
    for (const call of calls) {
      await call();
      time.advanceMs(1);
    }
    const entries = await audited();
    expect(entries).toMatchObject([
      { action: 'account.add', subject: id, outcome: 'done', after: { use: 'active', credentialKind: 'bearer' } },
      { action: 'account.replace_credential', before: { use: 'active' }, after: { use: 'active' } },
      { action: 'account.drain', before: { use: 'active' }, after: { use: 'draining' } },
      { action: 'account.disable', after: { use: 'disabled' } },
      { action: 'account.enable', after: { use: 'active' } },
      { action: 'account.remove', before: { use: 'active', stored: true } },
    ]);
    expect(JSON.stringify(entries)).not.toContain('canary');
  });

  it('say which pauses of theirs ended when they are enabled, and the audit log keeps them', async () => {
    const pause = { model: 'm', reason: AttemptResult.RATE_LIMITED, untilMs: Date.UTC(2026, 10, 28) };
    const { client, audited } = await worldOf({
      setAccountUse: () => ({ before: { ...account, cooldowns: [{ ...pause, givenByProvider: true }] }, account }),
    });
    const { ended } = await client.setAccountState({ accountId: id, use: AccountUse.ACTIVE });
    expect(ended).toMatchObject([pause]);
    expect(await audited()).toMatchObject([
      {
        action: 'account.enable',
        after: { endedPauses: [{ reason: 'rate_limited', model: 'm', until: '2026-11-28T00:00:00.000Z' }] },
      },
    ]);
    expect((await client.setAccountState({ accountId: id, use: AccountUse.DRAINING })).ended).toEqual([]);
  });

  it('that the broker refuses for their fields are refused at those fields', async () => {
    const lines = [
      'account.max_concurrency: too big: expected number to be <=100000',
      'credential.oauth.token_url: must be a URL',
    ];
    const { client, audited } = await worldOf({
      addAccount: () => {
        throw new GatewayError('invalid_request', lines.join('\n'));
      },
    });
    expect(await fieldsOf(client.addAccount({ account: { pool: 'p', name: 'a' }, credential }))).toEqual({
      'account.maxConcurrency': 'Too big: expected number to be <=100000.',
      'credential.oauth.tokenUrl': 'Must be a URL.',
    });
    expect(await audited()).toMatchObject([{ action: 'account.add', outcome: 'failed' }]);
  });

  it('that another has changed meanwhile are refused, and so are those that there are not', async () => {
    const { client, audited } = await worldOf({
      setAccountUse: ({ accountId }) => (accountId === id ? { before: account, account } : {}),
      replaceCredential: () => ({}),
      removeAccount: () => ({}),
    });
    const request = { use: AccountUse.DISABLED, expectedUse: AccountUse.DRAINING };
    const changed = client.setAccountState({ ...request, accountId: id });
    await expect(changed).rejects.toMatchObject({ code: Code.Aborted });
    const missing = { code: Code.NotFound };
    await expect(client.setAccountState({ ...request, accountId: 'x/y' })).rejects.toMatchObject(missing);
    await expect(client.replaceCredential({ accountId: 'x/y', credential })).rejects.toMatchObject(missing);
    await expect(client.removeAccount({ accountId: 'x/y' })).rejects.toMatchObject(missing);
    expect((await audited()).map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'failed', 'failed']);
    expect(Object.keys(await fieldsOf(client.setAccountState({ accountId: id })))).toEqual(['use']);
  });
});

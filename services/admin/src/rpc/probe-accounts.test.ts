import type { MessageInitShape } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AccountService, ProbeResult } from '@gateway/proto/admin/v1/account_service_pb.js';
import { type AccountSchema, AccountState, AccountUse, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type Handlers, RpcError } from '@gateway/rpc';
import { describe, expect, it } from 'vitest';
import { peer, rpcWorld } from '../__fixtures__/rpc-world.ts';
import type { AdminPeers } from '../parts.ts';
import { accountService } from './account-service.ts';

const { RESPONSES, MESSAGES } = ProviderFormat;
const active = { use: AccountUse.ACTIVE, state: AccountState.AVAILABLE };

type ProbeAccount = Handlers<typeof AdapterService>['probeAccount'];

async function worldOf(
  accounts: readonly MessageInitShape<typeof AccountSchema>[],
  handlers: ReadonlyMap<ProviderFormat, ProbeAccount>,
) {
  const broker = peer(PoolBrokerService, {
    listPools: () => ({
      pools: [
        { name: 'r', format: RESPONSES },
        { name: 'm', format: MESSAGES, simulated: true },
      ],
    }),
    listAccounts: () => ({ accounts: accounts.map((account) => ({ ...active, ...account })) }),
  });
  const adapters: AdminPeers['adapters'] = new Map(
    [...handlers].map(([format, probeAccount]) => [format, peer(AdapterService, { probeAccount })]),
  );
  const world = await rpcWorld(AccountService, accountService, { broker, adapters });
  const probe = async (...accountIds: readonly string[]) => {
    const { probes } = await world.client.probeAccounts({ accountIds: [...accountIds] });
    return probes.map(({ $typeName: _, ...facts }) => facts);
  };
  return { ...world, probe };
}

const listed = { upstreamStatus: 200, modelCount: 14, durationMs: 80 };
const nothing = { upstreamStatus: 0, modelCount: 0, durationMs: 0, cause: '', simulated: false };

describe('a probe of all accounts', () => {
  it("asks the adapter of each account's format, and says what came; the audit log has the counts", async () => {
    const asked: string[] = [];
    const failure = { upstreamStatus: 401, cause: '401 from the provider', durationMs: 20 };
    const answeredWith = (answer: object, adapter: string) => (asking: { readonly accountId: string }) => {
      asked.push(`${adapter}: ${asking.accountId}`);
      return answer;
    };
    const { probe, audited } = await worldOf(
      [
        { id: 'r/a', pool: 'r' },
        { id: 'm/b', pool: 'm' },
      ],
      new Map<ProviderFormat, ProbeAccount>([
        [RESPONSES, answeredWith(listed, 'responses')],
        [MESSAGES, answeredWith(failure, 'messages')],
      ]),
    );
    expect(await probe()).toEqual([
      { ...nothing, accountId: 'r/a', result: ProbeResult.SUCCEEDED, ...listed },
      { ...nothing, accountId: 'm/b', result: ProbeResult.FAILED, ...failure, simulated: true },
    ]);
    expect(asked.toSorted()).toEqual(['messages: m/b', 'responses: r/a']);
    expect(await audited()).toMatchObject([
      {
        actor: 'ada',
        action: 'account.probe',
        subject: 'all accounts',
        outcome: 'done',
        after: { accounts: 2, failed: 1 },
      },
    ]);
  });

  it('asks for the named accounts only, which the audit log names, and refuses an unknown name', async () => {
    const asked: string[] = [];
    const { probe, audited } = await worldOf(
      ['a', 'b'].map((name) => ({ id: `r/${name}`, pool: 'r' })),
      new Map([
        [
          RESPONSES,
          ({ accountId }) => {
            asked.push(accountId);
            return listed;
          },
        ],
      ]),
    );
    expect(await probe('r/b')).toMatchObject([{ accountId: 'r/b', result: ProbeResult.SUCCEEDED }]);
    expect(asked).toEqual(['r/b']);
    expect(await audited()).toMatchObject([{ subject: 'r/b', after: { accounts: 1, failed: 0 } }]);
    await expect(probe('r/c')).rejects.toThrow('r/c');
    expect(asked).toEqual(['r/b']);
  });

  it('asks for no disabled account, and for one that its provider rejects', async () => {
    const { probe } = await worldOf(
      [
        { id: 'r/disabled', pool: 'r', use: AccountUse.DISABLED, state: AccountState.DISABLED },
        { id: 'r/rejected', pool: 'r', state: AccountState.DISABLED, note: 'The credential was revoked.' },
        { id: 'r/draining', pool: 'r', use: AccountUse.DRAINING, state: AccountState.DRAINING },
      ],
      new Map([[RESPONSES, () => listed]]),
    );
    expect(await probe()).toMatchObject([
      { accountId: 'r/disabled', result: ProbeResult.SKIPPED, cause: 'the account is disabled' },
      { accountId: 'r/rejected', result: ProbeResult.SUCCEEDED },
      { accountId: 'r/draining', result: ProbeResult.SUCCEEDED },
    ]);
  });

  it("says why an account has no usable credential, by the broker's note if there is one", async () => {
    const { probe } = await worldOf(
      [
        { id: 'r/expired', pool: 'r' },
        { id: 'r/noted', pool: 'r', state: AccountState.DISABLED, note: 'Not used: gateway.yaml has no such pool.' },
        { id: 'x/unknown', pool: 'x', state: AccountState.DISABLED, note: 'Not used: gateway.yaml has no such pool.' },
      ],
      new Map([
        [
          RESPONSES,
          () => {
            throw new GatewayError('providers_unavailable', 'The account has no usable credential.');
          },
        ],
      ]),
    );
    const notAsked = { result: ProbeResult.NOT_ASKED, durationMs: 0 };
    expect(await probe()).toMatchObject([
      { ...notAsked, cause: 'the account has no usable credential.' },
      { ...notAsked, cause: 'not used: gateway.yaml has no such pool.' },
      { ...notAsked, cause: 'not used: gateway.yaml has no such pool.' },
    ]);
  });

  it('says that an adapter does not answer, or is not known, and probes the other accounts', async () => {
    const accounts = [
      { id: 'r/a', pool: 'r' },
      { id: 'm/b', pool: 'm' },
    ];
    const away = () => {
      throw new RpcError('unavailable', 'No connection.');
    };
    const { probe } = await worldOf(
      accounts,
      new Map<ProviderFormat, ProbeAccount>([
        [RESPONSES, away],
        [MESSAGES, () => listed],
      ]),
    );
    expect(await probe()).toMatchObject([
      { result: ProbeResult.NOT_ASKED, cause: 'the responses-adapter does not answer: No connection.' },
      { result: ProbeResult.SUCCEEDED },
    ]);
    const { probe: probeOthers } = await worldOf(accounts, new Map([[RESPONSES, () => listed]]));
    expect(await probeOthers()).toMatchObject([
      { result: ProbeResult.SUCCEEDED },
      {
        result: ProbeResult.NOT_ASKED,
        cause: 'the admin service does not know the messages-adapter: set MESSAGES_ADAPTER_URL there',
      },
    ]);
  });

  it('probes sixteen accounts at a time, and begins with none after forty seconds', async () => {
    const accounts = Array.from({ length: 33 }, (_, n) => ({ id: `r/${n}`, pool: 'r' }));
    let running = 0;
    let mostRunning = 0;
    const { probe, time, audited } = await worldOf(
      accounts,
      new Map([
        [
          RESPONSES,
          async () => {
            running += 1;
            mostRunning = Math.max(mostRunning, running);
            await Promise.resolve();
            time.advanceMs(1_300);
            running -= 1;
            return listed;
          },
        ],
      ]),
    );
    const results = (await probe()).map(({ result }) => result);
    expect(results).toHaveLength(33);
    expect(mostRunning).toBe(16);
    const late = results.filter((result) => result === ProbeResult.NOT_ASKED).length;
    expect(late).toBeGreaterThan(0);
    expect(late).toBeLessThan(17);
    expect(await audited()).toMatchObject([{ after: { accounts: 33, failed: late } }]);
  });
});

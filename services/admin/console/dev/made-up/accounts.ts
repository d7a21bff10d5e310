import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { type AccountService, ProbeResult } from '@gateway/proto/admin/v1/account_service_pb.js';
import { AccountUse } from '@gateway/proto/pool/v1/account_pb.js';
import { invalid } from './invalid.ts';
import { labelled, uses } from './pools.ts';

/** Another operator changes team-c when the viewer asks to disable it. */
export const accountService: Partial<ServiceImpl<typeof AccountService>> = {
  setAccountState({ accountId, use, expectedUse }) {
    const now = uses.get(accountId) ?? AccountUse.ACTIVE;
    if (accountId === 'responses/team-c' && use === AccountUse.DISABLED && now === AccountUse.ACTIVE) {
      uses.set(accountId, AccountUse.DRAINING);
      throw new ConnectError(`${accountId} was changed meanwhile. Look at it again.`, Code.Aborted);
    }
    if (expectedUse !== AccountUse.UNSPECIFIED && now !== expectedUse && uses.has(accountId))
      throw new ConnectError(`${accountId} was changed meanwhile. Look at it again.`, Code.Aborted);
    uses.set(accountId, use);
    return { account: { id: accountId, use } };
  },
  addAccount({ account, credential }) {
    const name = account?.name ?? '';
    if (name === 'team-a')
      throw invalid({
        'account.name': `gateway.yaml already has an account ${account?.pool}/team-a. Choose another name`,
      });
    const { case: kind, value } = credential?.credential ?? {};
    if (kind === 'bearer' && String(value).length < 8)
      throw invalid({ 'credential.bearer': 'This is no token of a provider: it is too short.' });
    return { account: { id: `${account?.pool}/${name}` } };
  },
  replaceCredential: ({ accountId }) => ({ account: { id: accountId } }),
  setAccountLabels({ accountId, labels }) {
    labelled.set(accountId, labels);
    return { account: { id: accountId, labels } };
  },
  removeAccount: () => ({}),
  probeAccounts: ({ accountIds }) => ({
    probes: accountIds.map((accountId) =>
      accountId.endsWith('/team-b')
        ? { accountId, result: ProbeResult.FAILED, upstreamStatus: 401, cause: '401 from the provider', durationMs: 40 }
        : { accountId, result: ProbeResult.SUCCEEDED, upstreamStatus: 200, modelCount: 14, durationMs: 84 },
    ),
  }),
};

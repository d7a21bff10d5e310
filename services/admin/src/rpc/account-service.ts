import type { ServiceImpl } from '@connectrpc/connect';
import { GatewayError } from '@gateway/errors';
import type { AccountService } from '@gateway/proto/admin/v1/account_service_pb.js';
import { type Account, AccountUse, AttemptResult, type Cooldown } from '@gateway/proto/pool/v1/account_pb.js';
import type { AdminParts } from '../parts.ts';
import { peerCall } from '../peer-calls.ts';
import { probeAccounts } from './probe-accounts.ts';
import { changedMeanwhile, invalidFields, notFound } from './problems.ts';

/**
 * Provider accounts. The broker has the rules. Credentials are not kept, logged or returned here.
 */
export function accountService(parts: AdminParts): ServiceImpl<typeof AccountService> {
  const { peers, audit } = parts;
  const { poolOperator } = peers;
  return {
    probeAccounts: probeAccounts(parts),

    async addAccount({ account: spec, credential }, context) {
      const subject = `${spec?.pool}/${spec?.name}`;
      return await audit.change(context, { action: 'account.add', subject }, async () => {
        const { account } = await refusedByField(
          poolOperator.addAccount({ account: spec, credential }, peerCall(context.signal)),
        );
        return { answer: { account }, after: shown(account) };
      });
    },

    async replaceCredential({ accountId, credential }, context) {
      return await audit.change(context, { action: 'account.replace_credential', subject: accountId }, async () => {
        const request = { accountId, credential };
        const { before, account } = await refusedByField(
          poolOperator.replaceCredential(request, peerCall(context.signal)),
        );
        if (before === undefined) throw notFound(`account ${accountId}`);
        return { answer: { account }, before: shown(before), after: shown(account) };
      });
    },

    async setAccountState({ accountId, use, expectedUse }, context) {
      const action = actions[use];
      if (action === undefined) throw invalidFields({ use: 'Must be active, draining or disabled.' });
      return await audit.change(context, { action, subject: accountId }, async () => {
        const request = { accountId, use, expectedUse };
        const { before, account } = await poolOperator.setAccountUse(request, peerCall(context.signal));
        if (before === undefined) throw notFound(`account ${accountId}`);
        const isExpected = expectedUse === AccountUse.UNSPECIFIED || before.use === expectedUse;
        if (!isExpected) throw changedMeanwhile(`The account ${accountId}`);
        const ended = use === AccountUse.ACTIVE ? before.cooldowns : [];
        const after = { ...shown(account), ...(ended.length > 0 && { endedPauses: ended.map(shownPause) }) };
        return { answer: { account, ended }, before: shown(before), after };
      });
    },

    async setAccountLabels({ accountId, labels }, context) {
      return await audit.change(context, { action: 'account.set_labels', subject: accountId }, async () => {
        const { before, account } = await refusedByField(
          poolOperator.setAccountLabels({ accountId, labels }, peerCall(context.signal)),
        );
        if (before === undefined) throw notFound(`account ${accountId}`);
        return { answer: { account }, before: shown(before), after: shown(account) };
      });
    },

    async removeAccount({ accountId }, context) {
      return await audit.change(context, { action: 'account.remove', subject: accountId }, async () => {
        const { before } = await poolOperator.removeAccount({ accountId }, peerCall(context.signal));
        if (before === undefined) throw notFound(`account ${accountId}`);
        return { answer: {}, before: shown(before) };
      });
    },
  };
}

const actions: Readonly<Partial<Record<AccountUse, string>>> = {
  [AccountUse.ACTIVE]: 'account.enable',
  [AccountUse.DRAINING]: 'account.drain',
  [AccountUse.DISABLED]: 'account.disable',
};

/**
 * The broker reports problems of a request as a line for each field: "credential.oauth.token_url:
 * must …".
 */
async function refusedByField<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || thrown.code !== 'invalid_request') throw thrown;
    const lines = thrown.message.split('\n').map((line) => /^((?:account|credential)[\w.[\]]*): (.)(.*)$/.exec(line));
    if (!lines.every((line) => line !== null)) throw thrown;
    const problems = lines.map(([, place = '', first = '', rest = '']) => {
      const field = place.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
      return [field, `${first.toUpperCase()}${rest}.`] as const;
    });
    throw invalidFields(Object.fromEntries(problems));
  }
}

/** A pause in the audit log: its cause, its scope, and when it would have ended. */
function shownPause({ reason, model, feature, untilMs }: Cooldown): object {
  const until = untilMs === undefined ? '' : new Date(untilMs).toISOString();
  return { reason: AttemptResult[reason].toLowerCase(), model, feature, until };
}

/** The account in the audit log: its configuration, not its health. */
function shown(account: Account | undefined): object | undefined {
  if (account === undefined) return undefined;
  const { use, stored, credentialKind, maxInFlight } = account;
  return { use: AccountUse[use].toLowerCase(), stored, credentialKind, maxInFlight };
}

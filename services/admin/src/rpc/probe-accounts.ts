import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import { GatewayError } from '@gateway/errors';
import {
  type AccountProbeSchema,
  type AccountService,
  ProbeResult,
} from '@gateway/proto/admin/v1/account_service_pb.js';
import { type Account, AccountState, AccountUse, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { epochMs } from '@gateway/time';
import { type AdminParts, type AdminPeers, adapterProcesses } from '../parts.ts';
import { askForEach, peerCall } from '../peer-calls.ts';
import { notFound } from './problems.ts';

type Probe = MessageInitShape<typeof AccountProbeSchema>;

/**
 * The handler of AccountService.ProbeAccounts. It changes nothing, but is audited because it uses
 * the secrets of accounts.
 */
export function probeAccounts({ peers, audit }: AdminParts): ServiceImpl<typeof AccountService>['probeAccounts'] {
  return async ({ accountIds }, context) => {
    const subject = accountIds.length === 0 ? 'all accounts' : accountIds.join(', ').slice(0, longestSubject);
    return await audit.change(context, { action: 'account.probe', subject }, async () => {
      const { signal } = context;
      const [{ pools }, { accounts: known }] = await Promise.all([
        peers.broker.listPools({}, peerCall(signal)),
        peers.broker.listAccounts({}, peerCall(signal)),
      ]);
      const accounts = accountIds.length === 0 ? known : known.filter(({ id }) => accountIds.includes(id));
      const missing = accountIds.find((id) => !accounts.some((account) => account.id === id));
      if (missing !== undefined) throw notFound(`account ${missing}`);
      const poolOf = new Map(pools.map((pool) => [pool.name, pool]));
      const lastStartMs = epochMs() + startsWithinMs;
      const probes = new Map<string, Probe>();
      await askForEach(accounts, async (account) => {
        const { format = ProviderFormat.UNSPECIFIED, simulated = false } = poolOf.get(account.pool) ?? {};
        const isLate = epochMs() > lastStartMs;
        const probe = isLate ? notAsked(lateCause) : await probeAccount(peers, account, format, signal);
        probes.set(account.id, { ...probe, accountId: account.id, simulated });
      });
      const all = accounts.flatMap(({ id }) => probes.get(id) ?? []);
      const failed = all.filter(({ result }) => result === ProbeResult.FAILED || result === ProbeResult.NOT_ASKED);
      return { answer: { probes: all }, after: { accounts: all.length, failed: failed.length } };
    });
  };
}

/** An operator checks one account, or all. */
const longestSubject = 300;

/** With the time that one probe may take, a minute in all. */
const startsWithinMs = 40_000;
/** An adapter waits 5 seconds for the credential and 10 for the provider. */
const probeTimeoutMs = 20_000;

const lateCause = `the other accounts took longer than ${startsWithinMs / 1_000} s`;

async function probeAccount(
  { adapters }: AdminPeers,
  account: Account,
  format: ProviderFormat,
  signal: AbortSignal,
): Promise<Probe> {
  if (account.use === AccountUse.DISABLED) return { result: ProbeResult.SKIPPED, cause: 'the account is disabled' };
  const adapter = adapters.get(format);
  const { name = 'adapter', setting = 'its URL' } = adapterProcesses.get(format) ?? {};
  if (adapter === undefined)
    return notAsked(noteOf(account) || `the admin service does not know the ${name}: set ${setting} there`);
  try {
    const answer = await adapter.probeAccount({ accountId: account.id }, { timeoutMs: probeTimeoutMs, signal });
    const { upstreamStatus, modelCount, cause, durationMs } = answer;
    const result = cause === '' ? ProbeResult.SUCCEEDED : ProbeResult.FAILED;
    return { result, upstreamStatus, modelCount, cause, durationMs };
  } catch (thrown) {
    signal.throwIfAborted();
    return notAsked(causeOf(thrown, account, name));
  }
}

function notAsked(cause: string): Probe {
  return { result: ProbeResult.NOT_ASKED, cause };
}

/** An error that the adapter answers with is about the credential. */
function causeOf(thrown: unknown, account: Account, adapter: string): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (!(thrown instanceof GatewayError)) return `the ${adapter} does not answer: ${message}`;
  return noteOf(account) || inSentence(message);
}

/** Why the broker does not use the account. Empty: it does. */
function noteOf({ state, note }: Account): string {
  return state === AccountState.DISABLED ? inSentence(note) : '';
}

function inSentence(text: string): string {
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

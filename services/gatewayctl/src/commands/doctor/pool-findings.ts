import { accountErrorText, areAllFailing, isFailing } from '@gateway/presentation/account-error-text';
import { unreadableListRemedy } from '@gateway/presentation/failure-remedy';
import { probeText } from '@gateway/presentation/probe-text';
import { unservedPools } from '@gateway/presentation/unserved-pools';
import { type AccountProbe, ProbeResult } from '@gateway/proto/admin/v1/account_service_pb.js';
import type { PoolStatus } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { type Account, AccountState, AttemptResult, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { countText, durationText } from '../../output/words.ts';
import { pauseText } from '../pool.ts';
import { type Finding, fine, note, warning, wrong } from './finding.ts';

/** The attention list already has pools that run short, and accounts that fail. */
export function poolFindings(pools: readonly PoolStatus[]): readonly Finding[] {
  if (pools.every(({ accounts }) => accounts.length === 0))
    return [warning('pools', 'no provider accounts', 'Add one with gatewayctl account add.')];
  const all = pools.map(({ pool, accounts }) => ({
    ...{ name: pool?.name ?? '', format: pool?.format ?? ProviderFormat.UNSPECIFIED, accounts },
  }));
  const notes = unservedPools(all).map(({ text }) => note('pools', text, unservedRemedy));
  const simulated = pools.some(({ pool }) => pool?.simulated) ? [simulatedProviders] : [];
  const ofPools = pools.flatMap((status) => [...listFindings(status), ...capacityFindings(status)]);
  return [...simulated, ...ofPools, ...notes];
}

/** A cause that a failing account has too is reported with the account. */
function listFindings({ pool, accounts }: PoolStatus): readonly Finding[] {
  const failure = pool?.modelListFailure ?? '';
  if (failure === '' || accounts.length === 0) return [];
  const isReported = accounts.some(
    (account) =>
      isFailing(account) && account.lastError !== undefined && accountErrorText(account.lastError) === failure,
  );
  if (isReported) return [];
  const text = `${pool?.name}: the provider's model list can't be read: ${failure}`;
  const asked = accounts.filter(({ state }) => state !== AccountState.DISABLED);
  return [wrong('providers', text, unreadableListRemedy(failure, asked))];
}

/** A pause ends by itself, unless accounts fail, which the attention list has with their causes. */
function capacityFindings({ pool, accounts, pauses }: PoolStatus): readonly Finding[] {
  if (areAllFailing(accounts)) return [];
  if (pauses.length > 0)
    return pauses.map((pause) => warning('pools', `${pool?.name} is ${pauseText(pause)}`, pauseRemedy));
  const free = accounts.filter((account) => account.state === AccountState.AVAILABLE && !isFailing(account)).length;
  if (free === 0) return [];
  return [fine('pools', `${pool?.name}: ${free} of ${countText(accounts.length, 'account')} available`)];
}

/** What the provider of each account answers. Those of disabled accounts are not asked. */
export function probeFindings(probes: readonly AccountProbe[], accounts: readonly Account[]): readonly Finding[] {
  return probes.map((probe) => {
    const { accountId, result, cause } = probe;
    const text = `${accountId}: ${probeText(probe, { duration: durationText })}`;
    const known = accounts.find(({ id }) => id === accountId);
    if (result === ProbeResult.SUCCEEDED && known?.cooldowns.some(isAfterRefusal)) return accepted(text, accountId);
    if ([ProbeResult.SUCCEEDED, ProbeResult.SKIPPED].includes(result)) return fine('accounts', text);
    if (result !== ProbeResult.FAILED) return wrong('accounts', text);
    return wrong('accounts', text, unreadableListRemedy(cause, [known ?? { id: accountId, source: '' }]));
  });
}

/** A probe changes nothing in the gateway, so the pause after an earlier refusal lasts. */
function accepted(text: string, accountId: string): Finding {
  const remedy = `Its pause after a refused credential lasts. To end it at once: gatewayctl account enable ${accountId}`;
  return { ...fine('accounts', text), remedy };
}

function isAfterRefusal({ reason, model }: Account['cooldowns'][number]): boolean {
  return reason === AttemptResult.UNAUTHORIZED && model === '';
}

const unservedRemedy = 'If you need it, add an account with gatewayctl account add, or in gateway.yaml.';

const pauseRemedy =
  'The pause ends automatically. If it does not, check gatewayctl pool status and the status page of the provider.';

/** Nothing is wrong with them, but their answers are not those of a model. */
const simulatedProviders: Finding = {
  ...fine('providers', 'simulated providers: no model writes their answers'),
  remedy: 'For real ones, start the gateway with OPENAI_API_KEY, ANTHROPIC_API_KEY or GATEWAY_CONFIG.',
};

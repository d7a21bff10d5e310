import { type Account, type AccountError, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { noCreditCause } from './account-error-text.ts';

type Failure = Pick<AccountError, 'result' | 'upstreamStatus'> & { readonly cause?: string };
type Defined = Pick<Account, 'id' | 'source'>;

/**
 * What an operator does about failing accounts that share a cause. Empty: nothing in the gateway
 * can be changed.
 */
export function failureRemedy(failure: Failure, accounts: readonly Defined[]): string {
  const { result, upstreamStatus, cause = '' } = failure;
  if (cause === noCreditCause)
    return `Add credit at the provider, or raise the limit there. ${enableRemedy('Then', accounts)}`.trim();
  if (upstreamStatus === 402) return 'Check the plan and the credit of the account at the provider.';
  if (result === AttemptResult.UNAUTHORIZED)
    return `${keyRemedy(accounts)} ${enableRemedy(whenAccepted, accounts)}`.trim();
  if (result === AttemptResult.NETWORK_ERROR || result === AttemptResult.TIMEOUT) return networkRemedy;
  return "Check the provider's status page.";
}

/**
 * The same for a provider whose model list can't be read, or for an account that was probed.
 * @param cause "401 from the provider", "connection refused by 10.0.0.7:443"
 */
export function unreadableListRemedy(cause: string, accounts: readonly Defined[]): string {
  const upstreamStatus = Number(/^([45]\d\d)\b/.exec(cause)?.[1] ?? 0);
  const isRejected = upstreamStatus === 401 || upstreamStatus === 403 || /\bcredential\b/.test(cause);
  if (isRejected) return keyRemedy(accounts);
  // A 404 comes from an address that is not the provider's.
  const isAway = upstreamStatus === 0 || upstreamStatus === 404;
  const result = isAway ? AttemptResult.NETWORK_ERROR : AttemptResult.SERVER_ERROR;
  return upstreamStatus === 429 ? '' : failureRemedy({ upstreamStatus, result }, accounts);
}

const networkRemedy = 'Check base_url in gateway.yaml, and the network to the provider: DNS, proxy, firewall.';

/** Where the key of the accounts is changed, which depends on where they are defined. */
function keyRemedy(accounts: readonly Defined[]): string {
  const sources = new Set(accounts.map(({ source }) => source));
  const [source = ''] = sources;
  if (sources.size > 1) return `Replace their keys where they are defined: ${[...sources].join(', ')}.`;
  if (source === 'simulator') return '';
  if (source === 'gateway.yaml')
    return 'Replace the key in gateway.yaml. If it refers to an environment variable, restart the gateway with the new value.';
  if (source.endsWith('_API_KEY')) return `Set ${source} to a valid key, and restart the gateway.`;
  if (source !== 'database') return 'Replace the key where the account is defined.';
  return `Replace the key with gatewayctl account replace-credential ${idOf(accounts)}, or in the console.`;
}

const whenAccepted = 'If the provider accepts the key again,';

/** The pause after a refusal lasts until the gateway asks the provider again. */
function enableRemedy(when: string, accounts: readonly Defined[]): string {
  if (accounts.every(({ source }) => source === 'simulator')) return '';
  return `${when} gatewayctl account enable ${idOf(accounts)} ends the pause at once.`;
}

function idOf(accounts: readonly Defined[]): string {
  const [one] = accounts;
  return accounts.length === 1 && one !== undefined ? one.id : '<pool/name>';
}

import type { AccountConfig, Credential, GatewayConfig } from '@gateway/config';
import type { RefusalReason } from '../credential-events.ts';
import type { Sealer } from '../sealing/sealer.ts';
import { fromCredentialText } from './credential-text.ts';
import type { StoredAccount } from './stored-account.ts';

export interface OpenedAccounts {
  readonly accounts: readonly AccountConfig[];
  /** Those that are not used, and why. */
  readonly refused: readonly RefusedAccount[];
}

export interface RefusedAccount {
  readonly id: string;
  readonly pool: string;
  readonly name: string;
  readonly reason: RefusalReason;
}

/** The stored accounts that a gateway can use beside those of its file, which has the first say in names. */
export function openAccounts(
  stored: readonly StoredAccount[],
  { pools, accounts: inFile }: GatewayConfig,
  sealer: Sealer | undefined,
): OpenedAccounts {
  const accounts: AccountConfig[] = [];
  const refused: RefusedAccount[] = [];
  const namesInFile = new Set(inFile.map(({ pool, name }) => `${pool}/${name}`));
  const poolNames = new Set(pools.map(({ name }) => name));
  for (const account of stored) {
    const { id, pool, name } = account;
    const opened = openCredential(account, sealer);
    const reason = namesInFile.has(id) ? 'name_in_file' : !poolNames.has(pool) ? 'unknown_pool' : opened.reason;
    if (reason !== undefined || opened.credential === undefined) {
      refused.push({ id, pool, name, reason: reason ?? 'damaged' });
      continue;
    }
    const { models, maxConcurrency, state } = account;
    accounts.push({ pool, name, models, maxConcurrency, state, credential: opened.credential });
  }
  return { accounts, refused };
}

interface OpenedCredential {
  readonly credential?: Credential;
  readonly reason?: 'unknown_key' | 'damaged';
}

function openCredential({ id, pool, name, credential }: StoredAccount, sealer: Sealer | undefined): OpenedCredential {
  if (sealer === undefined) return { reason: 'unknown_key' };
  // Sealed for the id: pool and name are only believed as far as they are it.
  if (id !== `${pool}/${name}`) return { reason: 'damaged' };
  const opened = sealer.open({ accountId: id, field: 'credential' }, credential);
  if (opened.kind === 'refused') return { reason: opened.reason };
  const found = fromCredentialText(opened.text);
  return found === undefined ? { reason: 'damaged' } : { credential: found };
}

import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Environment } from '@gateway/config';
import type { StoredAccount } from '@gateway/pool-broker/credentials/account-table';
import { type Account, AccountState, AttemptResult, type Cooldown } from '@gateway/proto/pool/v1/account_pb.js';
import { callOptions, openControlPlane } from '../../control-plane/control-plane.ts';
import { knowsTheDatabase, openStoredAccounts } from '../../control-plane/stored-accounts.ts';
import { enumWord } from '../../output/enum-word.ts';
import { formatRecords } from '../../output/table.ts';
import type { Terminal } from '../../output/terminal.ts';

export interface ListFlags {
  readonly pool?: string;
  readonly json?: boolean;
}

/** Prints what the gateway knows of its accounts, and which accounts of the database it does not use. */
export async function listAccounts(
  env: Environment,
  { pool = '', json = false }: ListFlags,
  terminal: Pick<Terminal, 'print'>,
): Promise<void> {
  await using plane = await openControlPlane(env);
  const { accounts } = await plane.broker.listAccounts({ pool }, callOptions);
  const stored = (await readStored(env)).filter((account) => pool === '' || account.pool === pool);
  const known = new Set(accounts.map(({ id }) => id));
  const rows = [...accounts.map(toRow), ...stored.filter(({ id }) => !known.has(id)).map(toUnusedRow)];
  await terminal.print(formatRecords(Object.keys(emptyRow), rows, json));
}

async function readStored(env: Environment): Promise<readonly StoredAccount[]> {
  if (!knowsTheDatabase(env)) return [];
  await using stored = await openStoredAccounts(env);
  return await stored.table.list();
}

const emptyRow = { pool: '', account: '', state: '', inFlight: '', cooldowns: '', note: '' };

function toRow({ pool, name, state, inFlight, cooldowns, note }: Account): typeof emptyRow {
  return {
    pool,
    account: name,
    state: enumWord(AccountState, state),
    inFlight: String(inFlight),
    cooldowns: cooldowns.map(describe).join('; '),
    note,
  };
}

function toUnusedRow({ pool, name, credential }: StoredAccount): typeof emptyRow {
  const note = `in the database, sealed with ${credential.keyId}, but not in use: just added, no such pool, or it can't be opened`;
  return { pool, account: name, state: 'not used', inFlight: '0', cooldowns: '', note };
}

function describe({ until, model, reason }: Cooldown): string {
  const scope = model === '' ? 'all models' : model;
  return `${scope} until ${until === undefined ? 'further notice' : timestampDate(until).toISOString()} (${enumWord(AttemptResult, reason)})`;
}

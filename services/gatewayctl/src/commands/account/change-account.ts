import { ConfigError, type Environment } from '@gateway/config';
import type { StoredAccountState } from '@gateway/database';
import { openStoredAccounts } from '../../control-plane/stored-accounts.ts';
import type { Terminal } from '../../output/terminal.ts';

export async function changeAccount(
  env: Environment,
  id: string,
  state: StoredAccountState,
  terminal: Pick<Terminal, 'note'>,
): Promise<void> {
  await using stored = await openStoredAccounts(env);
  if (!(await stored.table.setState(id, state))) throw notStored(id);
  terminal.note(`${id} is ${state}`);
}

export async function removeAccount(env: Environment, id: string, terminal: Pick<Terminal, 'note'>): Promise<void> {
  await using stored = await openStoredAccounts(env);
  if (!(await stored.table.remove(id))) throw notStored(id);
  terminal.note(`removed ${id}`);
}

function notStored(id: string): ConfigError {
  return new ConfigError([`There is no account ${id} in the database. One of gateway.yaml is changed there.`]);
}

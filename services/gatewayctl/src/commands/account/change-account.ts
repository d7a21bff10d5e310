import { ConfigError, type Environment } from '@gateway/config';
import type { StoredAccountState } from '@gateway/database';
import { callOptions, findGateway, openRunningGateway } from '../../control-plane/control-plane.ts';
import { knowsTheDatabase, openStoredAccounts } from '../../control-plane/stored-accounts.ts';
import type { Terminal } from '../../output/terminal.ts';

/** What a provider or a token endpoint said of the account is forgotten too: a running gateway tries it with its next requests. */
export async function enableAccount(env: Environment, id: string, terminal: Pick<Terminal, 'note'>): Promise<void> {
  const isStored = knowsTheDatabase(env) && (await setStoredState(env, id, 'active'));
  const url = await findGateway(env);
  const isKnown = url !== undefined && (await forgetWhatWasSaid(url, id));
  if (!isStored && !isKnown) throw notKnown(id);
  terminal.note(`${id} is active`);
  if (url === undefined) terminal.note('No gateway runs here: one that starts now knows nothing of it.');
}

export async function changeAccount(
  env: Environment,
  id: string,
  state: StoredAccountState,
  terminal: Pick<Terminal, 'note'>,
): Promise<void> {
  if (!(await setStoredState(env, id, state))) throw notStored(id);
  terminal.note(`${id} is ${state}`);
}

export async function removeAccount(env: Environment, id: string, terminal: Pick<Terminal, 'note'>): Promise<void> {
  await using stored = await openStoredAccounts(env);
  if (!(await stored.table.remove(id))) throw notStored(id);
  terminal.note(`removed ${id}`);
}

async function setStoredState(env: Environment, id: string, state: StoredAccountState): Promise<boolean> {
  await using stored = await openStoredAccounts(env);
  return await stored.table.setState(id, state);
}

/** False: the gateway has no such account. */
async function forgetWhatWasSaid(url: string, accountId: string): Promise<boolean> {
  await using gateway = openRunningGateway(url);
  return (await gateway.broker.enableAccount({ accountId }, callOptions)).known;
}

function notKnown(id: string): ConfigError {
  return new ConfigError([`There is no account ${id}, neither in the database nor in a running gateway.`]);
}

function notStored(id: string): ConfigError {
  return new ConfigError([`There is no account ${id} in the database. One of gateway.yaml is changed there.`]);
}

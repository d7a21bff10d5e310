import { create } from '@bufbuild/protobuf';
import {
  type AccountConfig,
  type AccountInput,
  accountSourceOf,
  ConfigError,
  changesBetween,
  checkGatewayText,
  type Prices,
  readAccount,
} from '@gateway/config';
import type { StoredAccountState } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import { PriceBook } from '@gateway/prices';
import {
  AlertFormat,
  type PoolOperatorService,
  PriceListSchema,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import { localDayOf } from '@gateway/time';
import { accountIdOf } from '../accounts/account.ts';
import { noKeys } from '../config.ts';
import { checkChange } from '../configuration/active-configuration.ts';
import { type AccountHealth, withoutPauses, withoutRefusals } from '../health/account-health.ts';
import type { Broker } from '../selection/broker.ts';
import { readAccounts } from '../selection/read-candidates.ts';
import type { Change } from '../store/pool-store.ts';
import {
  accountUses,
  fromAccountSpec,
  fromAccountUse,
  toAccountMessage,
  toRefusedMessage,
} from './account-messages.ts';
import { toPriceList } from './catalog-messages.ts';

export interface PoolOperatorParts {
  readonly broker: Broker;
  /** Reads the stored accounts again and switches to them. */
  readonly refresh: () => Promise<void>;
  /** The state of the file in use. */
  readonly reload: () => FileReload;
}

/** The result of the last reload of `gateway.yaml`. */
export interface FileReload {
  readonly loadedAtMs: number;
  /** Why the current file is not in use. Empty: it is. */
  readonly problems: readonly string[];
}

/** Handlers of `gateway.pool.v1.PoolOperatorService`. The contract documents each call. */
export function poolOperatorHandlers({
  broker,
  refresh,
  reload,
}: PoolOperatorParts): Handlers<typeof PoolOperatorService> {
  const { configuration, directory, store, credentials } = broker;
  const sourceOf = (pool = '') => accountSourceOf(configuration.gateway, { pool });

  async function messageOf(accountId: string) {
    const account = configuration.accounts.configured.get(accountId);
    if (account === undefined) {
      const refused = directory.refused.find(({ row }) => row.account_id === accountId);
      return refused && toRefusedMessage(refused);
    }
    const [view] = await readAccounts(broker, [account]);
    return view && toAccountMessage(view, store.nowMs(), configuration.gateway);
  }

  /**
   * Earlier reports by a token endpoint, and those in its health, no longer exclude the account.
   */
  async function forget(accountId: string, change: Change<AccountHealth>): Promise<void> {
    const account = configuration.accounts.byId(accountId);
    if (account === undefined) return;
    await credentials.forgetProblem(account);
    await store.changeHealth(accountId, change);
  }

  async function changeUse(accountId: string, use: StoredAccountState, expected: StoredAccountState | undefined) {
    const said = directory.ofFile(accountId)?.state;
    if (said === undefined) return await directory.stored?.setState(accountId, use, expected);
    const now = configuration.accounts.byId(accountId)?.use ?? said;
    if (directory.stored !== undefined) return await directory.stored.setUse(accountId, use, said, expected);
    if (use !== now) throw refused(`${noDatabase} Or change the account's state in gateway.yaml.`);
    return { before: now, now };
  }

  return {
    async addAccount({ account: spec, credential }) {
      if (spec === undefined) throw refused('account: is missing');
      const account = checked(fromAccountSpec(spec, credential));
      const { accounts, encryption } = storage();
      await refresh();
      const pools = configuration.gateway.pools.map(({ name }) => name);
      if (!pools.includes(account.pool)) {
        throw refused(`account.pool: this pool does not exist; the pools are ${pools.join(', ')}`);
      }
      const id = accountIdOf(account);
      if (directory.ofFile(id) !== undefined) {
        const source = sourceOf(account.pool).replace('simulator', 'the simulator');
        throw refused(`account.name: ${source} already has an account ${id}. Choose another name`);
      }
      const isNew = await accounts.add(account, encryption);
      if (!isNew) throw refused(`account.name: the database already has an account ${id}`);
      await refresh();
      return { account: await messageOf(id) };
    },

    async replaceCredential({ accountId, credential }) {
      const [pool = '', name = ''] = accountId.split('/');
      const { credential: secret } = checked(
        fromAccountSpec({ pool, name, models: [], labels: [], maxConcurrency: 0 }, credential),
      );
      await refresh();
      // It needs no database, so the operator is not sent to set one up.
      if (directory.ofFile(accountId) !== undefined) throw notStored(accountId, sourceOf(pool), 'change');
      const { accounts, encryption } = storage();
      const before = await messageOf(accountId);
      if (before === undefined) return {};
      if (!(await accounts.replaceCredential(accountId, secret, encryption))) return {};
      await refresh();
      await forget(accountId, withoutRefusals);
      return { before, account: await messageOf(accountId) };
    },

    async setAccountUse({ accountId, use: wanted, expectedUse }) {
      const use = fromAccountUse(wanted);
      if (use === undefined) throw refused('use: must be active, draining or disabled');
      await refresh();
      const before = await messageOf(accountId);
      const change = await changeUse(accountId, use, fromAccountUse(expectedUse));
      if (before === undefined || change === undefined) return {};
      const isEnabled = change.now === use && use === 'active';
      if (isEnabled) await forget(accountId, (health) => withoutPauses(health, store.nowMs()));
      await refresh();
      return { before: { ...before, use: accountUses[change.before] }, account: await messageOf(accountId) };
    },

    async setAccountLabels({ accountId, labels }) {
      const unique = [...new Set(labels)];
      const isWrong = unique.length > mostLabels || !unique.every((label) => /^[\w.-]{1,50}$/.test(label));
      if (isWrong) throw refused(`labels: must be at most ${mostLabels} texts of letters, digits, "-", "_" and "."`);
      await refresh();
      const [pool = ''] = accountId.split('/');
      if (directory.ofFile(accountId) !== undefined) throw notStored(accountId, sourceOf(pool), 'change');
      const before = await messageOf(accountId);
      if (before === undefined || !(await storage().accounts.setLabels(accountId, unique))) return {};
      await refresh();
      return { before, account: await messageOf(accountId) };
    },

    async removeAccount({ accountId }) {
      await refresh();
      const row = directory.refused.find(({ row }) => row.account_id === accountId);
      const isInFile = directory.ofFile(accountId) !== undefined;
      if (isInFile && row === undefined) throw notStored(accountId, sourceOf(accountId.split('/')[0]), 'remove');
      const before = row === undefined ? await messageOf(accountId) : toRefusedMessage(row);
      if (!(await directory.stored?.remove(accountId, { keepTokens: isInFile }))) return {};
      await refresh();
      return { before };
    },

    getGatewayFile() {
      const { source, written, classes, prices } = configuration.gateway;
      const { loadedAtMs, problems } = reload();
      const file = {
        ...{ path: source?.path ?? '', text: written.text, problems: [...problems] },
        loadedAtMs,
        classes: classes.map(({ id, name, effort, candidates }) => {
          return { id, name, effort, candidates: candidates.map(({ pool, model }) => `${pool}/${model}`) };
        }),
        ...toPriceList(prices),
      };
      return { file };
    },

    listAlertReceivers() {
      const receivers = configuration.gateway.alerts.map(({ name, format, url, secret, kinds }) => ({
        ...{ name, format: alertFormats[format], kinds: [...kinds] },
        ...{ url: url.reveal(), secret: secret?.reveal() ?? '' },
      }));
      return { receivers };
    },

    checkGatewayFile({ text }) {
      const checked = attempt(() => checkGatewayText(text));
      if ('problems' in checked) return checked;
      const { value, references, pools, models, prices, hasPrices } = checked.value;
      const { written } = configuration.gateway;
      const accounts = [...checked.value.accounts, ...directory.usableBeside(checked.value)];
      const used = attempt(() => checkChange(configuration.gateway, { pools, accounts }));
      return {
        changes: [...changesBetween(written, value)],
        problems: 'problems' in used ? used.problems : [],
        newReferences: [...references.difference(written.references)],
        modelsWithoutPrice: hasPrices === (prices !== undefined) ? [...withoutPrice(models, prices)] : [],
        hasPrices,
      };
    },
  };

  /** The models that a file names or pools offer now, as far as its prices do not cover them. */
  function withoutPrice(named: readonly string[], prices: Prices): readonly string[] {
    const offered = configuration.catalog.listing().flatMap(({ id, ownedBy }) => (ownedBy === 'gateway' ? [] : [id]));
    const book = new PriceBook(create(PriceListSchema, toPriceList(prices)));
    return book.withoutPrice([...named, ...offered], localDayOf(store.nowMs()));
  }

  /** @throws GatewayError that says which setting is missing. */
  function storage() {
    const { stored, encryption } = directory;
    if (stored === undefined) throw refused(`${noDatabase} Or add accounts to gateway.yaml.`);
    if (encryption === undefined) throw refused(noKeys);
    return { accounts: stored, encryption };
  }
}

const alertFormats = { slack: AlertFormat.SLACK, json: AlertFormat.JSON } as const;

const noDatabase = 'The pool broker has no database to store this in. Set the same DATABASE_URL for every broker.';

/**
 * Problems name the fields of the request, one per line: "credential.bearer: must not be empty".
 */
const mostLabels = 20;

function checked(input: AccountInput): AccountConfig {
  if (input.credential === undefined)
    throw refused('credential: is missing; give a bearer token, an api_key or an oauth grant');
  const read = readAccount(input);
  if ('account' in read) return read.account;
  const lines = Object.entries(read.problems).map(
    ([place, text]) => `${place.startsWith('credential') ? place : `account.${place}`}: ${text}`,
  );
  throw refused(lines.join('\n'));
}

/** What a command cannot do to an account that is not in the database, and where it can be done. */
function notStored(accountId: string, source: string, wish: 'change' | 'remove'): GatewayError {
  if (source === 'simulator') return refused(`The account ${accountId} is simulated. It cannot be changed.`);
  const inVariable = wish === 'change' ? 'restart the gateway with the new value' : 'restart the gateway without it';
  const inFile = wish === 'change' ? 'Change its credential there' : 'Remove it there';
  const remedy =
    source === 'gateway.yaml'
      ? `${inFile}. If it comes from an environment variable, ${inVariable}.`
      : `${wish === 'change' ? 'Change' : 'Unset'} the variable, and ${inVariable}.`;
  return refused(`The account ${accountId} is defined in ${source}. ${remedy}`);
}

function refused(text: string): GatewayError {
  return new GatewayError('invalid_request', text);
}

function attempt<T>(work: () => T): { readonly value: T } | { readonly problems: string[] } {
  try {
    return { value: work() };
  } catch (thrown) {
    if (thrown instanceof ConfigError) return { problems: [...thrown.problems] };
    throw thrown;
  }
}

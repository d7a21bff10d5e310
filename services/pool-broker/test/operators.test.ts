import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { type GatewayConfig, loadGatewayFile } from '@gateway/config';
import type { GatewayDatabase } from '@gateway/database';
import {
  AccountCredentialSchema,
  AccountProblem,
  AccountState,
  AccountUse,
  AttemptResult,
} from '@gateway/proto/pool/v1/account_pb.js';
import { AlertFormat } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { directClient } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gatewayWith, sampleAccount, simulatedGateway } from '../src/__fixtures__/sample-gateway.ts';
import { readCredentialConfig } from '../src/config.ts';
import { createPoolBrokerService } from '../src/service.ts';
import { MemoryPoolStore } from '../src/store/memory-pool-store.ts';
import { databaseOfTest, keysOf } from './__fixtures__/credential-backends.ts';

/** A gateway.yaml that never changes. */
const source = { path: 'gateway.yaml', digest: '', digestNow: () => '', load: () => onlyFile };
const onlyFile: GatewayConfig = gatewayWith([sampleAccount('messages', 'of-file')], { source });
const invalid = (text: RegExp) => ({ code: 'invalid_request', message: expect.stringMatching(text) });
const bearer = (value: string) => create(AccountCredentialSchema, { credential: { case: 'bearer', value } });
const spec = { pool: 'responses', name: 'a' };
const id = 'responses/a';

interface Given {
  readonly database?: GatewayDatabase;
  readonly gateway?: GatewayConfig;
  readonly keys?: ReturnType<typeof keysOf>;
}

/** A replica of the broker with health of its own. */
async function brokerOn({ database, gateway = onlyFile, keys = keysOf('k1') }: Given) {
  const credentials = { ...readCredentialConfig({}), pollMs: 100, keys };
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const parts = { store: new MemoryPoolStore(), database, environment: { KEY: 'sk-of-environment' } };
  const service = createPoolBrokerService({ gateway, credentials }, runtime, parts);
  await service.start();
  onTestFinished(() => service[Symbol.asyncDispose]());
  const pools = directClient(service.routes[0]);
  const secrets = directClient(service.credentialRoutes[0]);
  return {
    pools,
    operator: directClient(service.routes[1]),
    account: async (wanted: string) => (await pools.listAccounts({})).accounts.find(({ id }) => id === wanted),
    secretOf: async (accountId: string) =>
      (await secrets.getCredential({ target: { case: 'accountId', value: accountId } })).secret.value,
  };
}

describe.each(['SQLite', 'Postgres'] as const)('operators with accounts in %s', (kind) => {
  it('add one that serves at once, here and soon in other replicas', async () => {
    const database = await databaseOfTest(kind);
    const [here, there] = [await brokerOn({ database }), await brokerOn({ database })];
    const limits = { models: ['gpt-*'], maxConcurrency: 3 };
    const added = await here.operator.addAccount({ account: { ...spec, ...limits }, credential: bearer('sk-canary') });
    const { account } = added;
    expect(account).toMatchObject({ id, state: AccountState.AVAILABLE, use: AccountUse.ACTIVE, maxInFlight: 3 });
    expect(account).toMatchObject({ stored: true, credentialKind: 'bearer' });
    expect(await here.account(id)).toEqual(account);
    expect(await here.secretOf(id)).toBe('sk-canary');
    await expect.poll(() => there.account(id)).toEqual(account);
    expect(account).toMatchObject({ source: 'database' });
    expect(await here.account('messages/of-file')).toMatchObject({ stored: false, source: 'gateway.yaml' });
  });

  it('learn at its place what is wrong with one, and nothing is kept of it', async () => {
    const { operator, pools } = await brokerOn({ database: await databaseOfTest(kind) });
    const add = (more: object, credential = bearer('sk-canary')) =>
      operator.addAccount({ account: { ...spec, ...more }, credential });
    await expect(add({ name: 'two words', pool: '1' }, bearer('sk canary'))).rejects.toMatchObject(
      invalid(/^account\.pool: .*\naccount\.name: must .*\ncredential\.bearer: must (?!.*canary)/s),
    );
    await expect(add({}, create(AccountCredentialSchema))).rejects.toMatchObject(invalid(/^credential: is missing/));
    await expect(add({ pool: 'nowhere' })).rejects.toMatchObject(invalid(/^account\.pool: this pool does not exist/));
    await expect(add({ pool: 'messages', name: 'of-file' })).rejects.toMatchObject(invalid(/^account\.name: gateway/));
    expect((await pools.listAccounts({})).accounts.map(({ id }) => id)).toEqual(['messages/of-file']);
    await add({});
    await expect(add({})).rejects.toMatchObject(invalid(/^account\.name: the database already has an account/));
  });

  it('replace a credential, and what kept the old one out of service is forgotten', async () => {
    const { operator, pools, account, secretOf } = await brokerOn({ database: await databaseOfTest(kind) });
    await operator.addAccount({ account: spec, credential: bearer('sk-old') });
    const { result } = await pools.acquire({ model: 'gpt-5.5' });
    const lease = result.case === 'lease' ? result.value : expect.fail('there is an account');
    const problem = AccountProblem.CREDENTIAL_REVOKED;
    await pools.report({ attempt: { lease, report: { result: AttemptResult.UNAUTHORIZED, problem } } });
    expect(await account(id)).toMatchObject({ state: AccountState.DISABLED, use: AccountUse.ACTIVE });
    const replaced = await operator.replaceCredential({ accountId: id, credential: bearer('sk-new') });
    expect(replaced.before).toMatchObject({ state: AccountState.DISABLED });
    expect(replaced.account).toMatchObject({ state: AccountState.AVAILABLE, note: '' });
    expect(await secretOf(id)).toBe('sk-new');
    const unknown = await operator.replaceCredential({ accountId: 'responses/z', credential: bearer('sk') });
    expect(unknown.before).toBeUndefined();
    const ofFile = operator.replaceCredential({ accountId: 'messages/of-file', credential: bearer('sk') });
    await expect(ofFile).rejects.toMatchObject(invalid(/is defined in gateway\.yaml\. Change its credential there/));
    await expect(operator.replaceCredential({ accountId: id, credential: bearer('') })).rejects.toMatchObject(
      invalid(/^credential\.bearer: must not be empty/),
    );
  });

  it.each([id, 'messages/of-file'])('drain, disable and use %s again, and every replica follows', async (accountId) => {
    const database = await databaseOfTest(kind);
    const [here, there] = [await brokerOn({ database }), await brokerOn({ database })];
    await here.operator.addAccount({ account: spec, credential: bearer('sk') });
    const states = { DRAINING: AccountState.DRAINING, DISABLED: AccountState.DISABLED, ACTIVE: AccountState.AVAILABLE };
    let before = AccountUse.ACTIVE;
    for (const name of ['DRAINING', 'DISABLED', 'ACTIVE'] as const) {
      const [use, state] = [AccountUse[name], states[name]];
      const changed = await here.operator.setAccountUse({ accountId, use, expectedUse: before });
      expect(changed).toMatchObject({ before: { use: before }, account: { id: accountId, use, state } });
      await expect.poll(() => there.account(accountId)).toMatchObject({ use, state });
      before = use;
    }
    expect((await there.account(accountId))?.note).toBe('');
  });

  it.each([id, 'messages/of-file'])('who change the use of %s at once do so one by one', async (accountId) => {
    const database = await databaseOfTest(kind);
    const brokers = await Promise.all([brokerOn({ database }), brokerOn({ database }), brokerOn({ database })]);
    await brokers[0]?.operator.addAccount({ account: spec, credential: bearer('sk') });
    const expectedUse = AccountUse.ACTIVE;
    const uses = [AccountUse.DRAINING, AccountUse.DISABLED, AccountUse.DRAINING, AccountUse.DISABLED];
    const answers = await Promise.all(
      uses.map(async (use, n) => {
        const { operator } = brokers[n % brokers.length] ?? expect.fail();
        return { use, ...(await operator.setAccountUse({ accountId, use, expectedUse })) };
      }),
    );
    const winners = answers.filter(({ before }) => before?.use === expectedUse);
    expect(winners).toHaveLength(1);
    // The other callers see the result of the first one, and change nothing.
    for (const { account } of answers) expect(account?.use).toBe(winners[0]?.use);
    for (const { before } of answers.filter((answer) => !winners.includes(answer))) {
      expect(before?.use).toBe(winners[0]?.use);
    }
  });

  it('have the last word on an account of gateway.yaml until the file says something else of it', async () => {
    const database = await databaseOfTest(kind);
    const accountId = 'messages/of-file';
    const saying = (state: 'active' | 'draining' | 'disabled') =>
      brokerOn({ database, gateway: gatewayWith([sampleAccount('messages', 'of-file', { state })], { source }) });
    const { operator } = await saying('active');
    const changed = await operator.setAccountUse({ accountId, use: AccountUse.DISABLED });
    expect(changed.account?.note).toBe('An operator set it to disabled; gateway.yaml has active.');
    expect((await (await saying('active')).account(accountId))?.use).toBe(AccountUse.DISABLED);
    expect((await (await saying('draining')).account(accountId))?.use).toBe(AccountUse.DRAINING);
  });

  it('remove one for good, and one that cannot be used, whatever is wrong with it', async () => {
    const database = await databaseOfTest(kind);
    const first = await brokerOn({ database });
    await first.operator.addAccount({ account: spec, credential: bearer('sk') });
    await first.operator.addAccount({ account: { ...spec, name: 'b' }, credential: bearer('sk') });
    expect((await first.operator.removeAccount({ accountId: id })).before).toMatchObject({ id, stored: true });
    expect((await first.operator.removeAccount({ accountId: id })).before).toBeUndefined();
    const ofFile = first.operator.removeAccount({ accountId: 'messages/of-file' });
    await expect(ofFile).rejects.toMatchObject(invalid(/is defined in gateway\.yaml\. Remove it there/));
    const withoutKey = await brokerOn({ database, keys: [] });
    const unused = { id: 'responses/b', state: AccountState.DISABLED };
    expect(await withoutKey.account('responses/b')).toMatchObject(unused);
    const removed = await withoutKey.operator.removeAccount({ accountId: 'responses/b' });
    expect(removed.before).toMatchObject(unused);
    expect(await withoutKey.account('responses/b')).toBeUndefined();
    expect(await database.selectFrom('accounts').selectAll().execute()).toEqual([]);
  });

  it('learn that an account is simulated, and that one they add is served by the simulator until a restart', async () => {
    const { operator, account } = await brokerOn({ database: await databaseOfTest(kind), gateway: simulatedGateway });
    const add = (name: string) => operator.addAccount({ account: { ...spec, name }, credential: bearer('sk') });
    await expect(add('team-a')).rejects.toMatchObject(
      invalid(/^account\.name: the simulator already has an account responses\/team-a\. Choose another name$/),
    );
    expect((await add('team-c')).account?.note).toBe('A simulator answers for it until you restart the gateway.');
    expect(await account('responses/team-a')).toMatchObject({ source: 'simulator', note: '' });
    await expect(operator.removeAccount({ accountId: 'responses/team-a' })).rejects.toMatchObject(invalid(/simulated/));
    const disabled = await operator.setAccountUse({ accountId: 'responses/team-a', use: AccountUse.DISABLED });
    expect(disabled.account?.note).toBe('An operator set it to disabled.');
  });

  it('learn that an account comes from a variable', async () => {
    const gateway = gatewayWith([sampleAccount('messages', 'default')]);
    const { operator, account } = await brokerOn({ database: await databaseOfTest(kind), gateway });
    expect(await account('messages/default')).toMatchObject({ source: 'ANTHROPIC_API_KEY' });
    await expect(operator.removeAccount({ accountId: 'messages/default' })).rejects.toMatchObject(
      invalid(/defined in ANTHROPIC_API_KEY\. Unset the variable, and restart/),
    );
  });

  it('learn which setting is missing where accounts cannot be kept', async () => {
    const request = { account: spec, credential: bearer('sk') };
    const withoutKey = await brokerOn({ database: await databaseOfTest(kind), keys: [] });
    await expect(withoutKey.operator.addAccount(request)).rejects.toMatchObject(invalid(/ACCOUNT_KEYS is not set/));
    const { operator } = await brokerOn({});
    await expect(operator.addAccount(request)).rejects.toMatchObject(invalid(/DATABASE_URL/));
    const accountId = 'messages/of-file';
    const drain = operator.setAccountUse({ accountId, use: AccountUse.DRAINING });
    await expect(drain).rejects.toMatchObject(invalid(/DATABASE_URL.*gateway\.yaml/));
    // A change back to the file's state needs no storage, and so no database.
    const enabled = await operator.setAccountUse({ accountId, use: AccountUse.ACTIVE });
    expect(enabled.account).toMatchObject({ use: AccountUse.ACTIVE });
  });
});

describe('without a database, operators', () => {
  it('learn where the credential of an account is, and not that they need a database', async () => {
    const { operator } = await brokerOn({});
    const replaced = operator.replaceCredential({ accountId: 'messages/of-file', credential: bearer('sk') });
    await expect(replaced).rejects.toMatchObject(invalid(/restart the gateway with the new value\.$/));
    const removed = operator.removeAccount({ accountId: 'messages/of-file' });
    await expect(removed).rejects.toMatchObject(invalid(/restart the gateway without it\.$/));
  });
});

describe('the gateway.yaml that operators see', () => {
  const text = `pools:
  responses: { format: responses, owned_by: provider_a, base_url: "https://api.example/v1" }
accounts:
  - { pool: responses, name: a, credential: { bearer: "\${KEY}" } }
  - { pool: responses, name: b, credential: { bearer: sk-canary } }
classes:
  sterk: { name: Sterk, effort: high, candidates: [responses/gpt-5.5] }
prices:
  currency: EUR
  models:
    - model: "gpt-5.5*"
      from: 2026-11-20
      input: 1.25
      cached_input: 0.125
      cache_write_1h: 2.5
      output: 10
      above_tokens: { tokens: 200000, input: 2.5, output: 15 }
`;

  async function brokerOnFile(written = text) {
    const folder = mkdtempSync(join(tmpdir(), 'operators-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'gateway.yaml');
    writeFileSync(path, written);
    const env = { KEY: 'sk-of-environment', HOOK: 'https://hooks.example/of-environment' };
    const broker = await brokerOn({ gateway: loadGatewayFile(path, env) });
    const file = async () => (await broker.operator.getGatewayFile({})).file ?? expect.fail();
    return { ...broker, path, file };
  }

  it('is as it was written, without its secrets, with classes and prices', async () => {
    const { file, path } = await brokerOnFile();
    const seen = await file();
    expect(seen).toMatchObject({
      path,
      text: text.replace('sk-canary', '"[redacted]"'),
      problems: [],
      currency: 'EUR',
      classes: [{ id: 'gateway/sterk', name: 'Sterk', effort: 'high', candidates: ['responses/gpt-5.5'] }],
      prices: [
        {
          ...{ model: 'gpt-5.5*', fromDay: '2026-11-20', inputMicros: 1_250_000, cachedInputMicros: 125_000 },
          ...{ cacheWrite5mMicros: 1_250_000, cacheWrite1hMicros: 2_500_000, outputMicros: 10_000_000 },
          above: {
            ...{ inputTokens: 200_000, inputMicros: 2_500_000, cachedInputMicros: 2_500_000 },
            ...{ cacheWrite5mMicros: 2_500_000, cacheWrite1hMicros: 2_500_000, outputMicros: 15_000_000 },
          },
        },
      ],
    });
    expect(seen.loadedAtMs).toBeDefined();
  });

  it('says what is wrong with the file that would take its place, until that is mended', async () => {
    const { file, path } = await brokerOnFile();
    const before = await file();
    writeFileSync(path, text.replace('effort: high', 'effort: much'));
    await expect.poll(async () => (await file()).problems).toEqual([expect.stringMatching(/classes\.sterk\.effort/)]);
    expect((await file()).text).toBe(before.text);
    writeFileSync(path, text.replace('effort: high', 'effort: low'));
    await expect.poll(async () => (await file()).problems).toEqual([]);
    expect((await file()).classes[0]?.effort).toBe('low');
  });

  it('is checked before it is loaded: all problems, or what it would change', async () => {
    const { operator } = await brokerOnFile();
    const check = (from: string, to: string) => operator.checkGatewayFile({ text: text.replace(from, to) });
    expect(await check('effort: high', 'effort: low')).toMatchObject({
      problems: [],
      changes: [expect.stringMatching(/may be another secret/), '~ classes.sterk.effort: high → low'],
    });
    const broken = await check('effort: high, candidates: [responses/', 'effort: much, candidates: [nowhere/');
    expect(broken.problems.toSorted()).toEqual([
      expect.stringMatching(/^classes\.sterk\.candidates\[0\]: this pool does not exist/),
      expect.stringMatching(/^classes\.sterk\.effort: must be one of/),
    ]);
    expect(await check('name: Sterk', `name: "\${MISSING} \${KEY}"`)).toMatchObject({
      problems: [],
      changes: [expect.stringMatching(/may be another secret/), `~ classes.sterk.name: Sterk → \${MISSING} \${KEY}`],
      newReferences: ['MISSING'],
    });
    const inUse = await check('format: responses', 'format: messages');
    expect(inUse.problems).toEqual([expect.stringMatching(/restart the gateway/)]);
    expect(await check('sk-canary', 'sk-other')).toMatchObject({
      changes: ['~ accounts["responses/b"].credential.bearer: may be another secret; secrets are not compared'],
    });
    await expect(operator.checkGatewayFile({ text: ' '.repeat(1_048_577) })).rejects.toMatchObject(invalid(/^text: /));
  });

  it('is checked for models that its prices do not cover today', async () => {
    const { operator } = await brokerOnFile();
    const unpriced = async (...changes: readonly (readonly [string | RegExp, string])[]) => {
      const changed = changes.reduce((now, [from, to]) => now.replace(from, to), text);
      const { modelsWithoutPrice, hasPrices, problems } = await operator.checkGatewayFile({ text: changed });
      expect(problems).toEqual([]);
      return { modelsWithoutPrice, hasPrices };
    };
    expect(await unpriced()).toEqual({ modelsWithoutPrice: [], hasPrices: true });
    // The running file's candidate is offered as long as it runs.
    expect(await unpriced(['responses/gpt-5.5', 'responses/gpt-9'])).toEqual({
      ...{ modelsWithoutPrice: ['gpt-9'], hasPrices: true },
    });
    expect(await unpriced(['"gpt-5.5*"', '"o*"'])).toMatchObject({ modelsWithoutPrice: ['gpt-5.5'] });
    expect(await unpriced(['2026-11-20', '2999-01-01'])).toMatchObject({ modelsWithoutPrice: ['gpt-5.5'] });
    expect(await unpriced([/prices:[\s\S]*/, ''])).toEqual({ modelsWithoutPrice: ['gpt-5.5'], hasPrices: false });
    // What a reference stands for is unknown, and so is what has a price.
    expect(await unpriced(['EUR', `"\${KEY}"`])).toEqual({ modelsWithoutPrice: [], hasPrices: true });
  });

  it('gives the receivers of warnings to the admin service, and shows no secret of them', async () => {
    const { operator, file } = await brokerOnFile(`${text}
alerts:
  - { name: ops, format: slack, url: "\${HOOK}" }
  - { name: pager, format: json, url: "https://hooks.example/canary", kinds: [pool] }
`);
    const { receivers } = await operator.listAlertReceivers({});
    expect(receivers).toMatchObject([
      { name: 'ops', format: AlertFormat.SLACK, url: 'https://hooks.example/of-environment', secret: '' },
      { name: 'pager', format: AlertFormat.JSON, url: 'https://hooks.example/canary', kinds: ['pool'] },
    ]);
    expect((await file()).text).not.toMatch(/hooks\.example/);
  });

  it('is what is built in where there is no file', async () => {
    const { operator } = await brokerOn({ gateway: gatewayWith([sampleAccount('messages', 'default')]) });
    const { file } = await operator.getGatewayFile({});
    expect(file).toMatchObject({ path: '', currency: '', prices: [] });
    expect(file?.text).toContain('gpt-5.5');
    expect((await operator.checkGatewayFile({ text: file?.text ?? '' })).changes.join()).toMatch(
      /^~ [^,]*another secret/,
    );
  });
});

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultModels } from '@gateway/simulator';
import { roomSeconds } from '@gateway/testkit/room';
import type { Operator } from '../client/operator.ts';
import { contractLines, contractResponsesModels } from '../contract/contract-accounts.ts';
import { failingModels, failingPools } from './failing-accounts.ts';

/**
 * Pools of one test each, so that one test's changes of accounts affect no other test. All are at
 * the simulator, which distinguishes accounts by their credential: `<pool>-<letter>`.
 */
const scenarioPools = [
  { name: 'rotating', format: 'responses', accounts: ['a', 'b'] },
  { name: 'down', format: 'responses', accounts: ['a'] },
  { name: 'backup', format: 'messages', accounts: ['a'] },
  { name: 'retired-not-found', format: 'responses', accounts: ['a'] },
  { name: 'retired-gone', format: 'responses', accounts: ['a'] },
  { name: 'retired-unsupported', format: 'responses', accounts: ['a'] },
  { name: 'paused', format: 'messages', accounts: ['a', 'b'] },
  { name: 'exhausted', format: 'responses', accounts: ['a', 'b'] },
  { name: 'mixed', format: 'responses', accounts: ['a', 'b'] },
  { name: 'dropping', format: 'responses', accounts: ['a'] },
  { name: 'naming', format: 'responses', accounts: ['a'] },
  { name: 'paging', format: 'responses', accounts: ['a'] },
  { name: 'penniless', format: 'responses', accounts: ['a'] },
  { name: 'breaking', format: 'responses', accounts: ['a'] },
  { name: 'sticky', format: 'responses', accounts: ['a', 'b', 'c'] },
  { name: 'rejecting', format: 'responses', accounts: ['a', 'b'] },
  { name: 'resting', format: 'responses', accounts: ['a'] },
  { name: 'napping', format: 'messages', accounts: ['a'] },
  { name: 'refusing', format: 'responses', accounts: ['a'] },
  { name: 'unable', format: 'responses', accounts: ['a'] },
  { name: 'brittle', format: 'messages', accounts: ['a'] },
  { name: 'absent', format: 'messages', accounts: ['a'] },
  { name: 'bytes', format: 'messages', accounts: ['a'] },
  { name: 'threads', format: 'messages', accounts: ['a', 'b', 'c'] },
  { name: 'faltering', format: 'messages', accounts: ['a', 'b', 'c', 'd'] },
  { name: 'leaving', format: 'messages', accounts: ['a'] },
  { name: 'traced', format: 'responses', accounts: ['a', 'b'] },
  ...failingPools,
  { name: 'counting', format: 'messages', accounts: ['a'] },
  { name: 'large', format: 'responses', accounts: ['a', 'b', 'c'] },
  { name: 'large-messages', format: 'messages', accounts: ['a', 'b', 'c'] },
  { name: 'reasoning', format: 'responses', accounts: ['a'] },
  { name: 'worded', format: 'messages', accounts: [...'abcdefghijklmnopqrst'] },
  { name: 'thinking', format: 'messages', accounts: ['a'] },
  { name: 'rethinking', format: 'responses', accounts: [...'abcdef'] },
  { name: 'rethinking-messages', format: 'messages', accounts: ['a', 'b'] },
  { name: 'unfinished', format: 'responses', accounts: ['a', 'b', 'c'] },
] as const;

/**
 * Models of the Responses pool with accounts of their own, `responses-<model>-<letter>`:
 * `POST /v1/responses` accepts no classes, so a test chooses its accounts by its model.
 */
const scenarioModels = [
  { model: 'gpt-bytes', accounts: ['a'] },
  { model: 'gpt-sticky', accounts: ['a', 'b', 'c'] },
  { model: 'gpt-empty', accounts: ['a'] },
  { model: 'gpt-refusing', accounts: ['a'] },
  { model: 'gpt-faltering', accounts: ['a', 'b', 'c', 'd'] },
  { model: 'gpt-leaving', accounts: ['a'] },
  { model: 'gpt-encrypted', accounts: ['a', 'b'] },
  { model: 'gpt-traced', accounts: ['a', 'b'] },
  ...failingModels,
  { model: 'gpt-counting', accounts: ['a'] },
  { model: 'gpt-broken', accounts: [...'abcdefghij'] },
  { model: 'gpt-reasoning', accounts: ['a'] },
] as const;

/** The models of the simulated Responses provider. */
export const responsesModels: readonly string[] = [
  ...defaultModels.responses,
  ...scenarioModels.map(({ model }) => model),
  ...contractResponsesModels,
];

type Classes = Readonly<Record<string, readonly string[]>>;

const sharedClasses: Classes = {
  sterk: ['responses/gpt-5.5', 'messages/claude-opus-4-8'],
  snel: ['responses/gpt-5.5-mini', 'messages/claude-haiku-4-5'],
  claude: ['messages/claude-sonnet-5'],
};

const scenarioClasses: Classes = {
  rotating: ['rotating/gpt-5.5'],
  failover: ['down/gpt-5.5', 'backup/claude-sonnet-5'],
  'retired-not-found': ['retired-not-found/gpt-5.5', 'backup/claude-sonnet-5'],
  'retired-gone': ['retired-gone/gpt-5.5', 'backup/claude-sonnet-5'],
  'retired-unsupported': ['retired-unsupported/gpt-5.5', 'backup/claude-sonnet-5'],
  paused: ['paused/claude-sonnet-5'],
  exhausted: ['exhausted/gpt-5.5'],
  mixed: ['mixed/gpt-5.5'],
  dropping: ['dropping/gpt-5.5'],
  naming: ['naming/gpt-5.5'],
  paging: ['paging/gpt-5.5'],
  penniless: ['penniless/gpt-5.5'],
  breaking: ['breaking/gpt-5.5'],
  sticky: ['sticky/gpt-5.5'],
  rejecting: ['rejecting/gpt-5.5'],
  resting: ['resting/gpt-5.5'],
  napping: ['napping/claude-sonnet-5'],
  refusing: ['refusing/gpt-5.5'],
  unable: ['unable/gpt-5.5'],
  brittle: ['brittle/claude-sonnet-5'],
  absent: ['absent/claude-sonnet-5'],
  bytes: ['bytes/claude-sonnet-5'],
  threads: ['threads/claude-sonnet-5'],
  faltering: ['faltering/claude-sonnet-5'],
  leaving: ['leaving/claude-sonnet-5'],
  traced: ['traced/gpt-5.5'],
  ...Object.fromEntries(
    failingPools.map(({ name, format }) => [
      name,
      [`${name}/${format === 'responses' ? 'gpt-5.5' : 'claude-sonnet-5'}`],
    ]),
  ),
  counting: ['counting/claude-sonnet-5'],
  large: ['large/gpt-5.5'],
  'large-messages': ['large-messages/claude-sonnet-5'],
  reasoning: ['reasoning/gpt-5.5'],
  worded: ['worded/claude-sonnet-5'],
  thinking: ['thinking/claude-sonnet-5'],
  rethinking: ['rethinking/gpt-5.5'],
  'rethinking-messages': ['rethinking-messages/claude-sonnet-5'],
  unfinished: ['unfinished/gpt-5.5'],
};

const sharedPools = [
  { name: 'responses', format: 'responses', accounts: ['a', 'b'] },
  { name: 'messages', format: 'messages', accounts: ['a', 'b'] },
] as const;

/** The models that classes name, in any pool. */
export function modelsOfClasses(): ReadonlySet<string> {
  const ofContract = contractLines('').classes.flatMap((line) => /\[(.*)\]/.exec(line)?.[1]?.split(', ') ?? []);
  const candidates = [...Object.values({ ...sharedClasses, ...scenarioClasses }).flat(), ...ofContract];
  return new Set(candidates.map((candidate) => candidate.slice(candidate.indexOf('/') + 1)));
}

/**
 * Waits until the first pool that offers the models is known to have them, because tests look for
 * their requests there: the simulated provider offers the same models in all pools.
 */
export async function untilModelsAreKnown({ knowsModelsOf }: Operator, signal: AbortSignal): Promise<void> {
  for (const { name } of sharedPools) while (!(await knowsModelsOf(name))) await sleep(50, undefined, { signal });
}

/** Writes a gateway.yaml for the suite and returns its path. */
export async function writeGatewayFile(folder: string, simulatorUrl: string): Promise<string> {
  const contract = contractLines(simulatorUrl);
  return writeLines(folder, [
    `settings: { model_list_refresh_seconds: ${suiteModelListRefreshSeconds} }`,
    'pools:',
    ...poolLines([...sharedPools, ...scenarioPools], simulatorUrl),
    ...contract.pools,
    'accounts:',
    ...accountLines([...sharedPools, ...scenarioPools]),
    ...scenarioModels.flatMap(({ model, accounts }) =>
      accounts.map((letter) =>
        accountLine({ pool: 'responses', name: `${model}-${letter}`, key: 'bearer', models: [model] }),
      ),
    ),
    ...contract.accounts,
    'classes:',
    ...classLines({ ...sharedClasses, ...scenarioClasses }),
    ...contract.classes,
    'prices:',
    '  currency: USD',
    '  models:',
    ...priceLines,
    `managed_settings: { groups: { ${managedGroup}: { available_models: [claude-sonnet-5], model: claude-sonnet-5 } } }`,
  ]);
}

/** The name of the group whose clients have managed settings. */
export const managedGroup = 'Managed clients';

/** Of public price pages, by the million. Other models have no price. */
const priceLines = [
  '    - { model: gpt-counting, input: 1.25, cached_input: 0.125, output: 10 }',
  '    - { model: claude-sonnet-5, from: 2099-01-01, input: 9, output: 9 }',
  '    - { model: claude-sonnet-5, input: 3, cached_input: 0.3, cache_write_5m: 3.75, cache_write_1h: 6, output: 15, tool_fees: { web_search: 0.01 } }',
];

/**
 * The same without pools and classes of single tests: for tests that start a gateway often, and
 * would read a long file each time.
 */
export async function writeSmallGatewayFile(folder: string, simulatorUrl: string): Promise<string> {
  return writeLines(folder, [
    'pools:',
    ...poolLines(sharedPools, simulatorUrl),
    'accounts:',
    ...accountLines(sharedPools),
    'classes:',
    ...classLines(sharedClasses),
  ]);
}

/** How often adapters read model lists. */
export const suiteModelListRefreshSeconds = roomSeconds(2);

interface Pool {
  readonly name: string;
  readonly format: 'responses' | 'messages';
  readonly accounts: readonly string[];
}

function poolLines(pools: readonly Pool[], simulatorUrl: string): readonly string[] {
  return pools.map(
    ({ name, format }) =>
      `  ${name}: { format: ${format}, owned_by: ${format === 'responses' ? 'provider_a' : 'provider_b'}, base_url: "${simulatorUrl}/v1" }`,
  );
}

function accountLines(pools: readonly Pool[]): readonly string[] {
  return pools.flatMap(({ name, format, accounts }) =>
    accounts.map((letter) =>
      accountLine({ pool: name, name: letter, key: format === 'responses' ? 'bearer' : 'api_key' }),
    ),
  );
}

function classLines(classes: Classes): readonly string[] {
  return Object.entries(classes).map(
    ([id, candidates]) => `  ${id}: { name: ${id}, effort: low, candidates: [${candidates.join(', ')}] }`,
  );
}

interface AccountLine {
  readonly pool: string;
  readonly name: string;
  readonly key: 'bearer' | 'api_key';
  readonly models?: readonly string[];
}

/** The Responses pool's accounts that all tests share do not offer the models of scenarios. */
function accountLine({ pool, name, key, models }: AccountLine): string {
  const served = models ?? (pool === 'responses' ? defaultModels.responses : undefined);
  const restriction = served === undefined ? '' : `, models: [${served.join(', ')}]`;
  return `  - { pool: ${pool}, name: ${name}, credential: { ${key}: ${pool}-${name} }${restriction} }`;
}

async function writeLines(folder: string, lines: readonly string[]): Promise<string> {
  const path = join(folder, 'gateway.yaml');
  await writeFile(path, [...lines, ''].join('\n'));
  return path;
}

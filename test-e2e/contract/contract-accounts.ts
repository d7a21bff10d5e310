/**
 * Accounts for the contract test, each alone with a model of its own: a case that affects one
 * account affects no other case. Those of the Responses format are in the pool that all tests
 * share, because `POST /v1/responses` accepts no classes.
 */
const freshAccounts = { responses: 30, messages: 24 } as const;

export type AccountFormat = keyof typeof freshAccounts;

/** An account with the names that lead to it. */
export interface ContractAccount {
  /** The class that only this account can serve. */
  readonly classId: string;
  /** The model that only this account serves; usable as a direct model in the Responses format. */
  readonly model: string;
  /** The account's id at the simulator. */
  readonly credential: string;
}

/** The accounts of a format that tests use up, one by one. */
export function contractAccounts(format: AccountFormat): readonly ContractAccount[] {
  return Array.from({ length: freshAccounts[format] }, (_, index) => contractAccount(format, String(index + 1)));
}

/** The account of a format with a limit of one request at a time. */
export function crowdedAccount(format: AccountFormat): ContractAccount {
  return contractAccount(format, 'crowded');
}

/**
 * The accounts of a format that share a class and a model that answers: if one is limited there is
 * another.
 */
export function sparedAccounts(format: AccountFormat): readonly ContractAccount[] {
  const { classId, model, credential } = contractAccount(format, 'spared');
  return ['a', 'b', 'c'].map((letter) => ({
    classId,
    model: format === 'messages' ? 'claude-sonnet-5' : model,
    credential: `${credential}-${letter}`,
  }));
}

/**
 * Unreachable targets: a class and a direct model of each format, at an address where nothing
 * listens.
 */
export const unreachable = {
  responses: { classId: 'gateway/contract-unreachable-responses', model: 'gpt-unreachable' },
  messages: { classId: 'gateway/contract-unreachable-messages', model: 'claude-unreachable' },
} as const;

/** A class of several accounts with a real model, for answers that break off. */
export const breakingMessagesClass = 'gateway/contract-breaking';
export const breakingMessagesAccounts = ['breaking-a', 'breaking-b', 'breaking-c', 'breaking-d'] as const;

/** Models that the simulated Responses provider must offer. */
export const contractResponsesModels: readonly string[] = [
  ...new Set(allAccounts('responses').map(({ model }) => model)),
];

interface GatewayLines {
  readonly pools: readonly string[];
  readonly accounts: readonly string[];
  readonly classes: readonly string[];
}

/** The contract test's part of gateway.yaml, as lines for its three sections. */
export function contractLines(simulatorUrl: string): GatewayLines {
  return {
    pools: [
      poolLine('contract', 'messages', `${simulatorUrl}/v1`),
      poolLine('contract-breaking', 'messages', `${simulatorUrl}/v1`),
      poolLine('contract-unreachable-responses', 'responses', closedPort, unreachable.responses.model),
      poolLine('contract-unreachable-messages', 'messages', closedPort, unreachable.messages.model),
    ],
    accounts: [
      ...formats.flatMap((format) => allAccounts(format).map((account) => accountLine(format, account))),
      ...breakingMessagesAccounts.map(
        (name) => `  - { pool: contract-breaking, name: ${name}, credential: { api_key: ${name} } }`,
      ),
      '  - { pool: contract-unreachable-responses, name: a, credential: { bearer: unreachable } }',
      '  - { pool: contract-unreachable-messages, name: a, credential: { api_key: unreachable } }',
    ],
    classes: [
      ...classLines('responses', ''),
      // Another provider could serve these classes, but not on the Messages endpoints.
      ...classLines('messages', ', responses/gpt-5.5'),
      classLine(breakingMessagesClass, 'contract-breaking/claude-sonnet-5'),
    ],
  };
}

const formats = ['responses', 'messages'] as const;

/** Nothing listens there: connections are refused at once. */
const closedPort = 'http://127.0.0.1:9/v1';

const poolOf = { responses: 'responses', messages: 'contract' } as const;

function allAccounts(format: AccountFormat): readonly ContractAccount[] {
  return [...contractAccounts(format), crowdedAccount(format), ...sparedAccounts(format)];
}

function classLines(format: AccountFormat, otherCandidates: string): readonly string[] {
  const candidates = new Map([
    ...allAccounts(format).map(({ classId, model }) => [classId, `${poolOf[format]}/${model}`] as const),
    [unreachable[format].classId, `contract-unreachable-${format}/${unreachable[format].model}`],
  ]);
  return [...candidates].map(([classId, candidate]) => classLine(classId, `${candidate}${otherCandidates}`));
}

function contractAccount(format: AccountFormat, name: string): ContractAccount {
  return {
    classId: `gateway/contract-${format}-${name}`,
    model: `${format === 'responses' ? 'gpt' : 'claude'}-contract-${name}`,
    credential: `contract-${format}-${name}`,
  };
}

/** `onlyModel`: a pool whose list is never known must not claim other pools' models. */
function poolLine(name: string, format: AccountFormat, baseUrl: string, onlyModel?: string): string {
  const ownedBy = format === 'responses' ? 'provider_a' : 'provider_b';
  const patterns = onlyModel === undefined ? '' : `, model_patterns: [${onlyModel}]`;
  return `  ${name}: { format: ${format}, owned_by: ${ownedBy}, base_url: "${baseUrl}"${patterns} }`;
}

function accountLine(format: AccountFormat, { credential, model }: ContractAccount): string {
  const secret = `{ ${format === 'responses' ? 'bearer' : 'api_key'}: ${credential} }`;
  const cap = credential === crowdedAccount(format).credential ? ', max_concurrency: 1' : '';
  return `  - { pool: ${poolOf[format]}, name: ${credential}, credential: ${secret}, models: [${model}]${cap} }`;
}

function classLine(classId: string, candidates: string): string {
  const name = classId.replace('gateway/', '');
  return `  ${name}: { name: ${name}, effort: low, candidates: [${candidates}] }`;
}

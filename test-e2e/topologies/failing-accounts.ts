/** The requested answer: by endpoint, and on chat by the format of the provider. */
export const roads = ['responses', 'messages', 'chat-responses', 'chat-messages'] as const;
export type Road = (typeof roads)[number];

/** The providers' refusals of accounts, or a mixture of them. */
export const refusals = ['401', '402', '403', '403-and-401', '403-and-429', '403-page', 'chosen'] as const;
export type Refusal = (typeof refusals)[number];

/** The target of a test's requests, and the accounts that may serve them. */
export interface FailingAccounts {
  readonly road: Road;
  /** The class, or the model if the endpoint accepts no classes. */
  readonly model: string;
  /** The accounts' ids at the simulator. */
  readonly credentials: readonly string[];
}

/** Answers that break after they have begun, each with accounts of its own. */
export const breaks = ['reset', 'ended', 'failed', 'traced', 'rejected', 'limited', 'lone'] as const;
export type Break = (typeof breaks)[number];

/** Two accounts whose answers break, or a single one. */
export function breakingAccounts(road: Road, what: Break): FailingAccounts {
  return accountsOf(road, `breaks-${what}`, what === 'lone' ? 'a' : 'ab');
}

/** Two accounts that their provider refuses. */
export function refusedAccounts(road: Road | 'count-tokens', refusal: Refusal): FailingAccounts {
  const counts = road === 'count-tokens';
  return accountsOf(counts ? 'messages' : road, `refused-${refusal}${counts ? '-counting' : ''}`, 'ab');
}

/** Provider errors about a model, a feature or an account other than refusals. */
export const lacks = ['not-found', 'gone', 'unsupported', 'nowhere', 'credit', 'feature', 'no-feature'] as const;
export type LackKind = (typeof lacks)[number];

/** Two accounts of which one, or both, lack something. */
export function lackingAccounts(road: Road | 'count-tokens', lack: LackKind): FailingAccounts {
  const counts = road === 'count-tokens';
  return accountsOf(counts ? 'messages' : road, `lacks-${lack}${counts ? '-counting' : ''}`, 'ab');
}

/** Two accounts for requests that no provider can serve, or whose errors are encoded. */
export const faultyRequests = ['wrong', 'encoded', 'limited-encoded'] as const;
export function askedWrongly(road: Road, what: (typeof faultyRequests)[number]): FailingAccounts {
  return accountsOf(road, `asked-${what}`, 'ab');
}

/** A single account whose provider closes connections that it has answered on. */
export function closingAccount(road: Road): FailingAccounts {
  return accountsOf(road, 'closing', 'a');
}

/** A single account that fails for a while. */
export const failingForAWhile = accountsOf('chat-messages', 'fails-for-a-while', 'a');

const all: readonly FailingAccounts[] = roads.flatMap((road) => [
  ...breaks.map((what) => breakingAccounts(road, what)),
  ...refusals.map((refusal) => refusedAccounts(road, refusal)),
  ...lacks.map((lack) => lackingAccounts(road, lack)),
  ...faultyRequests.map((what) => askedWrongly(road, what)),
  closingAccount(road),
  ...(road === 'chat-messages' ? [failingForAWhile] : []),
  ...(road === 'messages' ? refusals.map((refusal) => refusedAccounts('count-tokens', refusal)) : []),
  ...(road === 'messages' ? lacks.map((lack) => lackingAccounts('count-tokens', lack)) : []),
]);

/** Pools of one test each, with a class of the same name. */
export const failingPools = all
  .filter(({ road }) => road !== 'responses')
  .map(({ road, model, credentials }) => ({
    name: model.replace('gateway/', ''),
    format: formatOf(road),
    accounts: credentials.map((credential) => credential.slice(-1)),
  }));

/**
 * The same for `POST /v1/responses`, which accepts no classes: models of the Responses pool with
 * accounts of their own.
 */
export const failingModels = all
  .filter(({ road }) => road === 'responses')
  .map(({ model, credentials }) => ({ model, accounts: credentials.map((credential) => credential.slice(-1)) }));

function accountsOf(road: Road, name: string, letters: string): FailingAccounts {
  const model = road === 'responses' ? `gpt-${name}` : `gateway/${road}-${name}`;
  const prefix = road === 'responses' ? `responses-gpt-${name}` : `${road}-${name}`;
  return { road, model, credentials: [...letters].map((letter) => `${prefix}-${letter}`) };
}

function formatOf(road: Road): 'responses' | 'messages' {
  return road.endsWith('responses') ? 'responses' : 'messages';
}

/** How a test asks for an answer: by endpoint, and on chat by the format of the provider. */
export const roads = ['responses', 'messages', 'chat-responses', 'chat-messages'] as const;
export type Road = (typeof roads)[number];

/** What providers refuse accounts with, or a mixture of it. */
export const refusals = ['401', '402', '403', '403-and-401', '403-and-429', '403-page'] as const;
export type Refusal = (typeof refusals)[number];

/** Where a test's requests go, and which accounts may serve them. */
export interface FailingAccounts {
  readonly road: Road;
  /** The class to ask for, or the model where no classes are taken. */
  readonly model: string;
  /** As the simulator knows the accounts. */
  readonly credentials: readonly string[];
}

/** What becomes of answers that have begun, each with accounts of its own. */
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

/** What providers say of a model, a feature or an account in other words than those of a refusal. */
export const lacks = ['not-found', 'gone', 'unsupported', 'nowhere', 'credit', 'feature', 'no-feature'] as const;
export type LackKind = (typeof lacks)[number];

/** Two accounts of which one lacks something, or both. */
export function lackingAccounts(road: Road | 'count-tokens', lack: LackKind): FailingAccounts {
  const counts = road === 'count-tokens';
  return accountsOf(counts ? 'messages' : road, `lacks-${lack}${counts ? '-counting' : ''}`, 'ab');
}

/** Two accounts that are asked what no provider can do, or whose errors come encoded. */
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

/** The same for `POST /v1/responses`, which takes no classes: models of the Responses pool with accounts of their own. */
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

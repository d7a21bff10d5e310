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

/** A single account that fails for a while. */
export const failingForAWhile = accountsOf('chat-messages', 'fails-for-a-while', 'a');

const all: readonly FailingAccounts[] = roads.flatMap((road) => [
  ...breaks.map((what) => breakingAccounts(road, what)),
  ...refusals.map((refusal) => refusedAccounts(road, refusal)),
  ...(road === 'chat-messages' ? [failingForAWhile] : []),
  ...(road === 'messages' ? refusals.map((refusal) => refusedAccounts('count-tokens', refusal)) : []),
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

import { Found } from '../formats/found.ts';
import { type Endpoint, paths, type Target } from './endpoints.ts';
import { GatewayClient } from './gateway-client.ts';

/**
 * The models of a target. Missing ones are chosen from `GET /v1/models`: a short request checks
 * whether an endpoint accepts a model. An endpoint that accepts none, or does not exist, is not
 * claimed.
 */
export async function withModelsFound(
  target: Target,
  endpoints: readonly Endpoint[],
  signal: AbortSignal,
): Promise<Target> {
  await using client = new GatewayClient(target, signal);
  const listed = await listedModels(client);
  const models: Partial<Record<Endpoint, string>> = {};
  for (const endpoint of endpoints) {
    const model = target.models[endpoint] ?? (await modelFor(endpoint, client, listed));
    if (model !== undefined) models[endpoint] = model;
  }
  return { ...target, models };
}

/** Listing models and usage needs no model. */
async function modelFor(
  endpoint: Endpoint,
  client: GatewayClient,
  listed: readonly string[],
): Promise<string | undefined> {
  if (endpoint === 'models') return listed.length > 0 ? '' : undefined;
  if (endpoint === 'usage') return (await isTaken(client, endpoint)) ? '' : undefined;
  const likely = listed.toSorted((one, other) => rankOf(endpoint, one) - rankOf(endpoint, other));
  for (const model of likely.slice(0, mostTries)) {
    if (await isTaken(client, endpoint, smallRequests[endpoint](model))) return model;
  }
  return undefined;
}

const mostTries = 3;

async function listedModels(client: GatewayClient): Promise<readonly string[]> {
  const answer = await client.ask('models');
  if (answer.status !== 200) return [];
  return new Found(answer.json(), 'the list').at('data').listOrNone.map((model) => model.at('id').string);
}

async function isTaken(client: GatewayClient, endpoint: Endpoint, body?: object): Promise<boolean> {
  return (await client.ask(endpoint, { body, path: paths[endpoint] })).status === 200;
}

const isUsual: Readonly<Record<Exclude<Endpoint, 'models' | 'usage'>, RegExp>> = {
  chat: /./,
  messages: /claude/i,
  'count-tokens': /claude/i,
  responses: /gpt/i,
};

function rankOf(endpoint: keyof typeof isUsual, model: string): number {
  return isUsual[endpoint].test(model) ? 0 : 1;
}

const hello = [{ role: 'user', content: 'Say hello.' }];
const smallRequests: Readonly<Record<keyof typeof isUsual, (model: string) => object>> = {
  chat: (model) => ({ model, max_completion_tokens: 16, messages: hello }),
  messages: (model) => ({ model, max_tokens: 16, messages: hello }),
  'count-tokens': (model) => ({ model, messages: hello }),
  responses: (model) => ({
    model,
    store: false,
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Say hello.' }] }],
  }),
};

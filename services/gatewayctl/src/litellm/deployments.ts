import type { InputValue } from './input-value.ts';
import { type AccountKey, isVariableName, type Keys, variableIn } from './keys.ts';
import {
  checkOfCompatible,
  isConversation,
  type Provider,
  providerOfBareModel,
  providers,
  reasonAgainst,
} from './providers.ts';

/** An entry of `model_list` that the gateway can call. */
export interface Deployment {
  readonly input: InputValue;
  /** What clients of LiteLLM send. A group of deployments has the same name. */
  readonly group: string;
  readonly provider: string;
  readonly format: Provider['format'];
  readonly baseUrl: string;
  /** What the provider is asked for. It may contain `*`. */
  readonly model: string;
  readonly listsOtherNames: boolean;
  readonly key: AccountKey;
  readonly tags: readonly string[];
  /** The smallest is tried first. */
  readonly order: number;
  readonly maxConcurrency: number | undefined;
  readonly effort: string | undefined;
  readonly supportsReasoning: boolean | undefined;
}

/** Reads an entry of `model_list`. Undefined: it can't be taken, and the findings say why. */
export function readDeployment(
  input: InputValue,
  keys: Keys,
  credentials: ReadonlyMap<string, InputValue>,
): Deployment | undefined {
  const group = input.at('model_name').text;
  const named = input.at('litellm_params', 'model').text;
  if (group === undefined) return refuse(input, 'It has no model_name.');
  if (named === undefined) return refuse(input, 'It has no litellm_params.model.');
  if ([group, named].some((text) => text.includes('${'))) return refuse(input, replaced);
  if ([group, named].some((text) => /\p{Cc}|\p{Zl}|\p{Zp}/u.test(text)))
    return refuse(input, 'Its name has several lines.');
  if (variableIn(named) !== undefined) return refuse(input, 'A variable names its model: gateway.yaml names models.');
  const { provider, model } = splitModel(named, input.at('litellm_params', 'custom_llm_provider').text);
  if (model === '') return refuse(input, 'It names no model.');
  const mode = input.at('model_info', 'mode').text;
  if (!isConversation(mode, model)) {
    return refuse(input, 'The gateway serves conversations only, not embeddings, images, speech or ranking.');
  }
  if (provider === undefined) {
    return refuse(input, 'Its provider is not clear: LiteLLM wants a prefix such as openai/ before the model.');
  }
  const known = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  if (known === undefined || (provider === 'azure_ai' && !model.startsWith('claude'))) {
    return refuse(input, reasonAgainst(provider));
  }
  const { param, take } = paramsOf(input, credentials);
  const givenBase = param('api_base').isGiven ? param('api_base') : param('base_url');
  const address = addressOf(givenBase, known);
  if ('reason' in address) return refuse(input, address.reason);
  const key = keys.keyOf(param('api_key'), provider, known.keyVariable);
  if (typeof key === 'string') return refuse(input, key);
  for (const variable of address.variables) keys.variable(variable);
  take(param('api_key'), givenBase, param('model'), param('custom_llm_provider'), input.at('model_name'));
  const isForeign = provider === 'openai' && address.baseUrl !== known.baseUrl;
  const check = isForeign ? checkOfCompatible : known.check;
  if (check !== undefined) (givenBase.isGiven ? givenBase : input.at('litellm_params', 'model')).note(check);
  const traits = readTraits(input, take);
  return {
    ...{ input, group, provider, model, key, format: known.format, baseUrl: address.baseUrl },
    listsOtherNames: known.listsOtherNames ?? false,
    ...traits,
  };
}

const replaced = `It contains \${, which gateway.yaml would replace by a variable.`;

function refuse(input: InputValue, reason: string): undefined {
  input.leave(reason);
}

type Take = (...values: readonly InputValue[]) => void;

/** A parameter of the entry, or of the credential that it names. */
function paramsOf(input: InputValue, credentials: ReadonlyMap<string, InputValue>) {
  const params = input.at('litellm_params');
  const named = params.at('litellm_credential_name');
  const credential = credentials.get(named.text ?? '');
  const param = (name: string) => {
    const own = params.at(name);
    const lent = credential?.at('credential_values', name);
    return own.isGiven || lent?.isGiven !== true ? own : lent;
  };
  const take: Take = (...values) => {
    for (const value of values) if (value.isGiven) value.take();
    if (credential === undefined) return;
    named.take();
    credential.at('credential_name').take();
    credential.at('credential_info').take();
  };
  return { param, take };
}

function readTraits(input: InputValue, take: Take) {
  const params = input.at('litellm_params');
  const tags = params.at('tags');
  const labels = [...new Set(tags.texts)].toSorted();
  const areLabels = labels.length > 0 && labels.length <= 20 && labels.every((label) => /^[\w.-]{1,50}$/.test(label));
  if (areLabels) {
    take(tags);
    tags.note(
      `They are labels of the account. Restrict tokens or groups to them: --account-labels ${labels.join(',')}.`,
    );
  } else if (tags.isGiven) {
    tags.leave('Labels of accounts have 1 to 50 letters, digits, "-", "_" and ".", and an account has at most 20.');
  }
  const order = params.at('order');
  if (order.number !== undefined) take(order);
  const effort = params.at('reasoning_effort');
  const isEffort = efforts.has(effort.text ?? '');
  if (isEffort) take(effort);
  const supportsReasoning = input.at('model_info', 'supports_reasoning');
  if (typeof supportsReasoning.value === 'boolean') take(supportsReasoning);
  return {
    tags: areLabels ? labels : [],
    order: order.number ?? 0,
    maxConcurrency: params.at('max_parallel_requests').number,
    effort: isEffort ? effort.text : undefined,
    supportsReasoning: typeof supportsReasoning.value === 'boolean' ? supportsReasoning.value : undefined,
  };
}

const efforts: ReadonlySet<string> = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);

/** `openai/responses/gpt-5` is the model `gpt-5` of `openai`. */
function splitModel(named: string, custom: string | undefined) {
  const [, prefix, rest = ''] = /^([^/]+)\/(.*)$/s.exec(named) ?? [];
  // With an explicit provider, another prefix belongs to the model.
  if (custom !== undefined) return { provider: custom, model: prefix === custom ? rest : named };
  if (prefix === undefined) return { provider: providerOfBareModel(named), model: named };
  return { provider: prefix, model: rest.replace(/^(responses|o_series|gpt5_series|chat)\//, '') };
}

type Address = { readonly baseUrl: string; readonly variables: readonly string[] } | { readonly reason: string };

function addressOf(given: InputValue, { baseUrl, path = '' }: Provider): Address {
  const { text } = given;
  if (!given.isGiven) {
    return baseUrl === undefined ? { reason: 'It has no api_base.' } : { baseUrl, variables: [] };
  }
  if (text === undefined) return { reason: 'Its api_base is not a text.' };
  const variable = variableIn(text);
  if (variable !== undefined) {
    if (!isVariableName(variable)) return { reason: 'Its api_base names no environment variable.' };
    if (path !== '') given.note(`The variable must not end with ${path}: the gateway.yaml adds it.`);
    return { baseUrl: `\${${variable}}${path}`, variables: [variable] };
  }
  if (text.includes('${')) return { reason: replaced };
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return { reason: 'Its api_base is no http:// or https:// URL.' };
  if (url.username !== '' || url.password !== '') {
    return { reason: 'Its api_base contains a user or password. Give the account a key instead.' };
  }
  const isAzure = path === '/openai/v1';
  if (!isAzure && (url.search !== '' || url.hash !== '')) return { reason: 'Its api_base has a query.' };
  const kept = isAzure
    ? ''
    : url.pathname.replace(/(?<!\/)\/+$/, '').replace(/\/(messages|responses|chat\/completions)$/, '');
  return { baseUrl: `${url.origin}${withEnd(kept, path)}`, variables: [] };
}

/** A path that ends with what LiteLLM adds, of which a part may be there already. */
function withEnd(path: string, end: string): string {
  if (end === '' || path.endsWith(end)) return path;
  const [, first = '', second = ''] = /^(\/[^/]+)(\/.+)?$/.exec(end) ?? [];
  return second !== '' && path.endsWith(first) ? `${path}${second}` : `${path}${end}`;
}

import { create } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import { asObject, asString, type JsonObject, parseJson } from '@gateway/json';
import type { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { type ProviderModel, ProviderModelSchema } from '@gateway/proto/pool/v1/model_pb.js';
import { type Handlers, RpcError } from '@gateway/rpc';
import type { AdapterContext } from '../adapter-context.ts';
import { failureOfExchange } from '../attempt/execute-result.ts';
import { ProviderCalls, toErrorType } from '../attempt/provider-calls.ts';
import type { ProviderAccount } from '../credentials/credential-cache.ts';
import { causeOfMessage, failureCause } from '../failure/failure-cause.ts';
import { readWholeBody, UpstreamError } from '../upstream/upstream-exchange.ts';

/**
 * The handler of AdapterService.ListModels. Throws `providers_unavailable` when the list can't be
 * read.
 */
export function listModels(context: AdapterContext): Handlers<typeof AdapterService>['listModels'] {
  return async ({ pool }, { signal }) => {
    try {
      return { models: [...(await readModelList(context, pool, signal))] };
    } catch (cause) {
      throw new GatewayError('providers_unavailable', 'The provider did not list its models.', { cause });
    }
  };
}

/**
 * Reads the models that a pool's provider offers now, with any account of the pool. Throws, within
 * 15 seconds, when the list can't be read.
 */
export async function readModelList(
  context: AdapterContext,
  pool: string,
  signal: AbortSignal,
): Promise<readonly ProviderModel[]> {
  return await readModelListOf(context, await context.credentials.ofPool(pool), signal);
}

/** The same with this account, within 10 seconds. */
export async function readModelListOf(
  context: AdapterContext,
  account: ProviderAccount,
  signal: AbortSignal,
): Promise<readonly ProviderModel[]> {
  const calls = new ProviderCalls(context, 'list_models');
  try {
    const models = await askForModels(context, calls, account, signal);
    calls.end('');
    return models;
  } catch (thrown) {
    calls.end(errorTypeOf(thrown));
    throw thrown;
  }
}

async function askForModels(
  { upstream, format }: AdapterContext,
  calls: ProviderCalls,
  account: ProviderAccount,
  signal: AbortSignal,
): Promise<readonly ProviderModel[]> {
  const ownHeaders = {
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'model-gateway',
    ...calls.begin(account),
  };
  const headers = { ...ownHeaders, ...format.headers, ...account.secretHeader };
  const request = { account, method: 'GET', path: format.modelListPath, headers, timeoutMs, signal } as const;
  using exchange = upstream.send(request);
  const head = await exchange.head();
  calls.onHead(head);
  if (head.status !== 200) {
    const { status: upstreamStatus } = head;
    throw new GatewayError('providers_unavailable', 'The provider did not list its models.', { upstreamStatus });
  }
  return format.readModelList(parseJson((await readWholeBody(exchange, maxListBytes)).toString()));
}

/** The status, if it was the cause. */
function errorTypeOf(thrown: unknown): string {
  if (thrown instanceof UpstreamError) return toErrorType(failureOfExchange(thrown, false).result);
  const status = thrown instanceof GatewayError ? thrown.upstreamStatus : undefined;
  return status === undefined ? toErrorType(AttemptResult.SERVER_ERROR) : String(status);
}

/**
 * Why a list could not be read, for operators: "401 from the provider". Our own errors have our own
 * messages; other messages may contain the provider's text.
 */
export function modelListCause(thrown: unknown): string {
  if (thrown instanceof UpstreamError) {
    const isSilent = thrown.kind === 'timeout' && thrown.cause === undefined;
    return isSilent ? `no answer in ${timeoutMs / 1_000} s` : failureCause(thrown);
  }
  if (thrown instanceof GatewayError && thrown.upstreamStatus !== undefined)
    return `${thrown.upstreamStatus} from the provider`;
  if (thrown instanceof GatewayError || thrown instanceof RpcError) return causeOfMessage(thrown.message);
  return thrown instanceof Error ? thrown.name : typeof thrown;
}

const timeoutMs = 10_000;
const maxListBytes = 4 * 1024 * 1024;

/**
 * The models in a list's body, each once and in order. Throws `providers_unavailable` for a body
 * that is not a model list.
 */
export function readModels(
  body: unknown,
  displayNameOf: (model: JsonObject) => unknown = () => undefined,
): readonly ProviderModel[] {
  const list = asObject(body)?.data;
  if (!Array.isArray(list)) throw new GatewayError('providers_unavailable', "The provider's model list is not valid.");
  const models = new Map(list.map((entry) => asObject(entry) ?? {}).map((model) => [asString(model.id) ?? '', model]));
  models.delete('');
  return [...models].map(([id, model]) =>
    create(ProviderModelSchema, { id, displayName: asString(displayNameOf(model)) ?? '' }),
  );
}

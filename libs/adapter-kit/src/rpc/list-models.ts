import { GatewayError } from '@gateway/errors';
import type { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { ProviderModel } from '@gateway/proto/pool/v1/model_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { AdapterContext } from '../adapter-service.ts';
import { readWholeBody } from '../upstream/upstream-exchange.ts';

/** The handler of AdapterService.ListModels. Throws `providers_unavailable` when the list can't be read. */
export function listModels(context: AdapterContext): Handlers<typeof AdapterService>['listModels'] {
  return async ({ pool }, { signal }) => {
    try {
      return { models: [...(await readModelList(context, pool, signal))] };
    } catch (cause) {
      throw new GatewayError('providers_unavailable', 'The provider did not list its models.', { cause });
    }
  };
}

/** What a pool's provider offers, asked now. Throws, within 15 seconds, when the list can't be read. */
export async function readModelList(
  { credentials, upstream, format }: AdapterContext,
  pool: string,
  signal: AbortSignal,
): Promise<readonly ProviderModel[]> {
  const account = await credentials.ofPool(pool);
  const ownHeaders = { accept: 'application/json', 'user-agent': 'model-gateway' };
  const headers = { ...ownHeaders, ...format.headers, ...account.secretHeader };
  const request = { account, method: 'GET', path: format.modelListPath, headers, timeoutMs, signal } as const;
  using exchange = upstream.send(request);
  const { status: upstreamStatus } = await exchange.head();
  if (upstreamStatus !== 200) {
    throw new GatewayError('providers_unavailable', 'The provider did not list its models.', { upstreamStatus });
  }
  return format.readModelList(JSON.parse((await readWholeBody(exchange, maxListBytes)).toString()));
}

const timeoutMs = 10_000;
const maxListBytes = 4 * 1024 * 1024;

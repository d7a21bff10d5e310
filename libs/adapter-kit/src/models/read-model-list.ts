import { GatewayError } from '@gateway/errors';
import type { ProviderModel } from '@gateway/proto/pool/v1/model_pb.js';
import type { AdapterContext } from '../adapter-context.ts';

/** What a pool's provider offers, asked now. Throws, within 15 seconds, when the list can't be read. */
export async function readModelList(
  { credentials, upstream, format }: AdapterContext,
  pool: string,
  signal: AbortSignal,
): Promise<readonly ProviderModel[]> {
  const account = await credentials.ofPool(pool);
  const { status, body } = await upstream.request({
    account,
    method: 'GET',
    path: format.modelListPath,
    headers: {
      accept: 'application/json',
      'user-agent': 'model-gateway',
      ...format.headers,
      ...account.secretHeader,
    },
    timeoutMs: modelListTimeoutMs,
    signal,
  });
  if (status !== 200) {
    throw new GatewayError('providers_unavailable', 'The provider did not list its models.', {
      upstreamStatus: status,
    });
  }
  return format.readModelList(JSON.parse(Buffer.from(body).toString()));
}

const modelListTimeoutMs = 10_000;

import { GatewayError } from '@gateway/errors';
import type { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { AdapterContext } from '../adapter-context.ts';
import { readModelList } from '../models/read-model-list.ts';

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

import { type AdapterContext, countTokens, execute, listModels } from '@gateway/adapter-kit';
import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { type ServiceRoute, serviceRoute } from '@gateway/rpc';

export function routes(context: AdapterContext): readonly ServiceRoute[] {
  return [
    serviceRoute(AdapterService, {
      execute: execute(context),
      countTokens: countTokens(context),
      listModels: listModels(context),
    }),
  ];
}

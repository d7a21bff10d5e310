import type { AdapterContext } from '@gateway/adapter-kit';
import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { type ServiceRoute, serviceRoute } from '@gateway/rpc';
import { countTokens } from './rpc/count-tokens.ts';
import { execute } from './rpc/execute.ts';
import { listModels } from './rpc/list-models.ts';

export function routes(context: AdapterContext): readonly ServiceRoute[] {
  return [
    serviceRoute(AdapterService, {
      execute: execute(context),
      countTokens: countTokens(context),
      listModels: listModels(context),
    }),
  ];
}

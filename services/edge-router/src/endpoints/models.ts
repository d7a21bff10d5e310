import { modelsFor } from '@gateway/tokens/access-rules';
import type { Call } from '../call.ts';
import { sendJson } from '../http/respond.ts';
import type { EndpointPeers } from '../request-context.ts';

/** The models that chat completions accepts. @see spec "GET /v1/models" */
export async function models({ response, token, patience }: Call, { broker, deadline }: EndpointPeers): Promise<void> {
  const listing = await patience.within(() => broker.listModels({}, deadline));
  const data = modelsFor(token, listing.models).map(({ id, ownedBy, name }) => {
    return { id, object: 'model', created: 0, owned_by: ownedBy, name };
  });
  sendJson(response, 200, { object: 'list', data });
}

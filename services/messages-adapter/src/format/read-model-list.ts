import { create } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import { asObject, asString, type JsonObject } from '@gateway/json';
import { type ProviderModel, ProviderModelSchema } from '@gateway/proto/pool/v1/model_pb.js';

/**
 * The models of a list body, each once. Throws `providers_unavailable` for a body that is no model list.
 * @see https://platform.claude.com/docs/en/api/models-list
 */
export function readModelList(body: unknown): readonly ProviderModel[] {
  const list = asObject(body)?.data;
  if (!Array.isArray(list)) throw new GatewayError('providers_unavailable', 'The provider sent no model list.');
  const models = new Map(list.map((entry) => asObject(entry) ?? {}).map((model) => [asString(model.id) ?? '', model]));
  models.delete('');
  return [...models].map(([id, model]) => create(ProviderModelSchema, { id, displayName: displayNameOf(model) }));
}

function displayNameOf(model: JsonObject): string {
  return asString(model.display_name) ?? '';
}

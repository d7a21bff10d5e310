import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ModelSchema } from '@gateway/proto/pool/v1/model_pb.js';
import type { ListedModel } from '../catalog/list-models.ts';

export function toModelMessages(listing: readonly ListedModel[]): MessageInitShape<typeof ModelSchema>[] {
  return listing.map(({ id, ownedBy, name }) => ({ id, ownedBy, name }));
}

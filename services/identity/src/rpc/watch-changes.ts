import type { CallContext } from '@gateway/rpc';
import type { Identity } from '../identity.ts';

/** Ids of tokens that were revoked or given other limits. The first message is empty: from there nothing is missed. */
export async function* watchChanges({ changes }: Identity, { signal }: CallContext) {
  for await (const tokenIds of changes.watch(signal)) yield { tokenIds: [...tokenIds] };
}

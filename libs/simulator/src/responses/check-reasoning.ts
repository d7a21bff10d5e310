import { verifySeal } from '../answer/reasoning-seal.ts';
import { type JsonObject, toObjects } from '../json-value.ts';
import { ProviderRefusal } from '../provider-format.ts';
import { unreadableContent } from './errors.ts';
import { requiredReasoningId } from './item-ids.ts';

/**
 * Checks the reasoning that comes back: the account can read what is sealed, and no item has lost the reasoning it came after.
 *
 * @throws {ProviderRefusal}
 * @see https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items
 */
export function checkReasoning({ input }: JsonObject, account: string): void {
  const items = toObjects(input);
  for (const item of items) checkSeal(item, account);
  for (const item of items) checkRequiredReasoning(item, items, account);
}

const sealedTypes: ReadonlySet<unknown> = new Set(['reasoning', 'compaction']);

function checkSeal({ type, encrypted_content: seal }: JsonObject, account: string): void {
  if (!sealedTypes.has(type) || typeof seal !== 'string') return;
  const verdict = verifySeal(seal, { account });
  if (verdict !== 'accepted') throw new ProviderRefusal(unreadableContent(verdict));
}

function checkRequiredReasoning(
  { id, type = 'message' }: JsonObject,
  items: readonly JsonObject[],
  account: string,
): void {
  if (typeof id !== 'string' || (type !== 'message' && type !== 'function_call')) return;
  const required = requiredReasoningId(id);
  if (required === undefined || items.some((item) => isReasoning(item, required, account))) return;
  const message = `Item '${id}' of type '${type}' was provided without its required 'reasoning' item: '${required}'.`;
  throw new ProviderRefusal({ status: 400, message, param: 'input' });
}

/** Clients may leave out the id of a reasoning item; then its seal tells which one it is. */
function isReasoning(item: JsonObject, id: string, account: string): boolean {
  if (item.type !== 'reasoning') return false;
  if (typeof item.id === 'string') return item.id === id;
  const seal = item.encrypted_content;
  return typeof seal === 'string' && verifySeal(seal, { account, content: id }) === 'accepted';
}

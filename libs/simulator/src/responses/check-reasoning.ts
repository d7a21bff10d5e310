import { verifyEncrypted } from '../answer/encrypted-reasoning.ts';
import { type JsonObject, toObjects } from '../json-value.ts';
import { ProviderRefusal } from '../provider-format.ts';
import { unreadableContent } from './errors.ts';
import { requiredReasoningId } from './output-items.ts';

/**
 * Checks the reasoning that comes back: the account can read what is encrypted, and no item has lost the reasoning it came after.
 *
 * @throws {ProviderRefusal}
 * @see https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items
 */
export function checkReasoning({ input }: JsonObject, account: string): void {
  const items = toObjects(input);
  for (const item of items) checkEncrypted(item, account);
  for (const item of items) checkRequiredReasoning(item, items, account);
}

const encryptedTypes: ReadonlySet<unknown> = new Set(['reasoning', 'compaction']);

function checkEncrypted({ type, encrypted_content: encrypted }: JsonObject, account: string): void {
  if (!encryptedTypes.has(type) || typeof encrypted !== 'string') return;
  const verdict = verifyEncrypted(encrypted, { account });
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

/** Clients may leave out the id of a reasoning item; then its encrypted content says which one it is. */
function isReasoning(item: JsonObject, id: string, account: string): boolean {
  if (item.type !== 'reasoning') return false;
  if (typeof item.id === 'string') return item.id === id;
  const encrypted = item.encrypted_content;
  return typeof encrypted === 'string' && verifyEncrypted(encrypted, { account, content: id }) === 'accepted';
}

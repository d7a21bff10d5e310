import { verifyEncrypted } from '../answer/encrypted-reasoning.ts';
import { type JsonObject, toObjects } from '../json-value.ts';
import { invalidSignature } from './errors.ts';

/**
 * Checks that the thinking that comes back with earlier answers is as it was. Which account it was made for does not
 * matter: the provider's signatures are valid wherever its models run.
 *
 * @throws {ProviderRefusal}
 * @see https://docs.claude.com/en/docs/build-with-claude/extended-thinking
 */
export function checkThinking(messages: unknown, account: string): void {
  for (const [index, { role, content }] of toObjects(messages).entries()) {
    if (role !== 'assistant') continue;
    for (const [position, block] of toObjects(content).entries()) {
      checkBlock(block, `messages.${index}.content.${position}`, account);
    }
  }
}

function checkBlock(block: JsonObject, path: string, account: string): void {
  if (block.type === 'thinking') checkEncrypted(block, { path, account, member: 'signature', content: block.thinking });
  if (block.type === 'redacted_thinking') checkEncrypted(block, { path, account, member: 'data', content: '' });
}

interface EncryptedPlace {
  readonly path: string;
  readonly account: string;
  readonly member: 'signature' | 'data';
  readonly content: unknown;
}

function checkEncrypted(block: JsonObject, { path, account, member, content }: EncryptedPlace): void {
  const encrypted = block[member];
  if (typeof encrypted !== 'string') return;
  const verdict = verifyEncrypted(encrypted, { account, content: String(content) });
  if (verdict === 'altered' || verdict === 'damaged') throw invalidSignature(path, member);
}

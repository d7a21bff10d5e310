import { verifySeal } from '../answer/reasoning-seal.ts';
import { type JsonObject, toObjects } from '../json-value.ts';
import { invalidSignature } from './errors.ts';

/**
 * Checks that the thinking that comes back with earlier answers is as it was. Which account it was made for does not
 * matter: the provider's signatures hold wherever its models run.
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
  if (block.type === 'thinking') checkSeal(block, { path, account, member: 'signature', content: block.thinking });
  if (block.type === 'redacted_thinking') checkSeal(block, { path, account, member: 'data', content: '' });
}

interface SealPlace {
  readonly path: string;
  readonly account: string;
  readonly member: 'signature' | 'data';
  readonly content: unknown;
}

function checkSeal(block: JsonObject, { path, account, member, content }: SealPlace): void {
  const seal = block[member];
  if (typeof seal !== 'string') return;
  const verdict = verifySeal(seal, { account, content: String(content) });
  if (verdict === 'altered' || verdict === 'damaged') throw invalidSignature(path, member);
}

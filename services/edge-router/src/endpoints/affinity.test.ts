import { reasoningDigest, reasoningStrings } from '@gateway/encrypted-reasoning';
import { BufferList, JsonBody, JsonScanner } from '@gateway/json';
import { describe, expect, it } from 'vitest';
import { relayAffinity } from './affinity.ts';

const encrypted = (letter: string) => `gAAAAA${letter.repeat(90)}`;
const affinityOf = (body: object, { tokenId = 'token', sessionKey = '' } = {}) =>
  relayAffinity(tokenId, sessionKey, read(JSON.stringify(body)));

function read(text: string): JsonBody {
  const bytes = Buffer.from(text);
  const scanner = new JsonScanner({ tracked: reasoningStrings('encrypted_content') });
  scanner.push(bytes);
  scanner.end();
  return new JsonBody(new BufferList([bytes]), scanner);
}
const carrying = (letter: string) => ({ input: [{ type: 'reasoning', encrypted_content: encrypted(letter) }] });
const answerWith = (letter: string) => ({
  answerId: 'resp_1',
  encryptedReasoning: reasoningDigest(encrypted(letter)) ?? '',
});

describe('a relayed conversation', () => {
  it('that names a session is kept by it, whatever it brings along', async () => {
    const affinity = await affinityOf(carrying('a'), { sessionKey: 'session' });
    expect(affinity.affinityKey).toBe('session');
    expect(affinity.answerKeysOf?.(answerWith('b')) ?? []).toEqual([]);
  });

  it('that names none goes where its last reasoning was encrypted', async () => {
    const [key] = (await affinityOf({ input: [] })).answerKeysOf?.(answerWith('a')) ?? [];
    expect(key).toBeDefined();
    expect((await affinityOf(carrying('a'))).affinityKey).toBe(key);
    expect((await affinityOf(carrying('b'))).affinityKey).not.toBe(key);
  });

  it('is one of its token', async () => {
    const [key] = (await affinityOf({ input: [] })).answerKeysOf?.(answerWith('a')) ?? [];
    expect((await affinityOf(carrying('a'), { tokenId: 'another' })).affinityKey).not.toBe(key);
  });

  it('without reasoning is free to go anywhere', async () => {
    expect((await affinityOf({ input: [] })).affinityKey).toBe('');
    expect((await affinityOf({ input: [] })).answerKeysOf?.({ answerId: 'resp_1', encryptedReasoning: '' })).toEqual(
      [],
    );
  });
});

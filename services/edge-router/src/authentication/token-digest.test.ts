import { Socket } from 'node:net';
import { tokenSha256Text } from '@gateway/tokens';
import { describe, expect, it } from 'vitest';
import { tokenDigest } from './token-digest.ts';

describe('the digest of a presented token', () => {
  it('is that of the token, whatever the connection presented before, and others do', () => {
    const [one, other] = [{ socket: new Socket() }, { socket: new Socket() }];
    for (const text of ['a', 'a', 'b', 'a', 'b', 'b']) {
      expect(tokenDigest(one, text)).toBe(tokenSha256Text(text));
      expect(tokenDigest(other, `${text}!`)).toBe(tokenSha256Text(`${text}!`));
    }
  });
});

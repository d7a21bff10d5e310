import { describe, expect, it, vi } from 'vitest';
import { RecentDigests } from './recent-digests.ts';

describe('recent digests', () => {
  it('are worked out once while they are asked for', () => {
    const digest = vi.fn((text: string) => `digest of ${text}`);
    const digests = new RecentDigests(digest, 2);
    for (const text of ['a', 'b', 'a', 'c', 'a', 'b']) expect(digests.of(text)).toBe(`digest of ${text}`);
    expect(digest).toHaveBeenCalledTimes(3);
  });

  it('are forgotten when twice as many others came since', () => {
    const digest = vi.fn((text: string) => text);
    const digests = new RecentDigests(digest, 2);
    for (const text of ['a', 'b', 'c', 'd', 'e', 'a']) digests.of(text);
    expect(digest.mock.calls.flat()).toEqual(['a', 'b', 'c', 'd', 'e', 'a']);
  });
});

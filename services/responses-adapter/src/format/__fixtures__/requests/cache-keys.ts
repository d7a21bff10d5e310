import { question } from './client-messages.ts';
import { userItem } from './input-items.ts';
import type { ResponsesRequestCase } from './provider-members.ts';

const k64 = 'k'.repeat(64);
const input = [userItem('Hi')];

/** A request with this key in its body, and the key that the provider gets. */
const inBody = (name: string, prompt_cache_key: unknown, sent?: string): ResponsesRequestCase => ({
  name,
  request: { messages: [question], prompt_cache_key },
  becomes: sent === undefined ? { input } : { input, prompt_cache_key: sent },
});

/** The session's key first, then the body's; the provider takes 64 characters. */
export const cacheKeyCases: readonly ResponsesRequestCase[] = [
  {
    name: 'a session',
    request: { messages: [question] },
    affinityKey: 'session-1',
    becomes: { input, prompt_cache_key: 'session-1' },
  },
  {
    name: 'a session and a cache key in the body',
    request: { messages: [question], prompt_cache_key: 'body-1' },
    affinityKey: 'session-1',
    becomes: { input, prompt_cache_key: 'session-1' },
  },
  {
    name: 'a session whose key is long',
    request: { messages: [question] },
    affinityKey: 's'.repeat(65),
    becomes: { input, prompt_cache_key: '375a1f00946e079bda6820d494cf811c15f49604a484ae79e224398ef4db54c3' },
  },
  inBody('a cache key in the body', 'body-1', 'body-1'),
  inBody('a cache key of 64 characters', k64, k64),
  inBody(
    'a cache key of 100 characters',
    'k'.repeat(100),
    'e37c7cb78ccb30f0e2036576d681d619949c8a9fb885c91a07da6b845788a9ce',
  ),
  inBody('an empty cache key', ''),
  inBody('a cache key that is null', null),
  inBody('a cache key that is a number', 7),
];

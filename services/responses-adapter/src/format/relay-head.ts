import type { AnswerReader, UpstreamHead } from '@gateway/adapter-kit';

/** The head of a relayed answer, which is always an event stream. */
export function relayHead(provider: UpstreamHead['headers']): AnswerReader['head'] {
  const { 'content-type': given = '', 'x-codex-turn-state': turnState } = provider;
  return {
    status: 200,
    headers: {
      'content-type': /^text\/event-stream\b/i.test(given) ? given : 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      // Asks reverse proxies to pass events on as they come.
      'x-accel-buffering': 'no',
      // A client sends it back in the next request of the same turn.
      ...(turnState === undefined ? {} : { 'x-codex-turn-state': turnState }),
    },
  };
}

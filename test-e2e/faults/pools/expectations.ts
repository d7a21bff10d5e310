import { expect } from 'vitest';
import type { Exchange } from './exchange.ts';
import type { AskedExchange, PoolScene } from './pool-scene.ts';

/** The bodies of a refusal with 503, by the endpoint's shape of errors. */
export const unavailable = {
  chat: { error: { code: 'providers_unavailable', message: expect.any(String) } },
  messages: { type: 'error', error: { type: 'api_error', message: expect.any(String) } },
} as const;

const errorEvents: Readonly<Record<string, object>> = {
  chat_stream: unavailable.chat,
  messages_stream: unavailable.messages,
  responses_stream: { type: 'response.failed', response: expect.objectContaining({ status: 'failed' }) },
};

/** One generic error event in the endpoint's format, and no false end before or after it. */
export function expectOneErrorAtItsEnd(exchange: Exchange): void {
  expect(exchange.asked).toEqual({ view: 'cut', status: 200, problem: undefined });
  expect(exchange.events.at(-1)).toEqual(
    exchange.shape === 'responses_stream'
      ? expect.objectContaining(errorEvents.responses_stream)
      : errorEvents[exchange.shape],
  );
  expect(exchange.text).not.toMatch(/\[DONE\]|"message_stop"|"response\.completed"/);
  expect(exchange.text.match(/"error":\{/g)).toHaveLength(1);
}

/** Each has one row: some input and some output, estimated if the provider had not reported it. */
export async function expectEstimates(scene: PoolScene, asked: readonly AskedExchange[]): Promise<void> {
  for (const { token } of asked) {
    await expect.poll(() => scene.rowsOf(token)).toHaveLength(1);
    const [row] = await scene.rowsOf(token);
    expect(row).toMatchObject({ estimated: true, outcome: 'failed' });
    expect(row?.inputTokens).toBeGreaterThan(0);
    expect(row?.outputTokens).toBeGreaterThan(0);
  }
}

import Anthropic, { type ClientOptions as AnthropicOptions } from '@anthropic-ai/sdk';
import OpenAI, { type ClientOptions as OpenAiOptions } from 'openai';
import type { Topology } from '../topologies/topology.ts';

/** One HTTP exchange of an SDK, as it went over the wire. */
export interface SdkExchange {
  readonly status: number;
  /** When it was sent, in epoch milliseconds. */
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
  readonly retryAfterSeconds: number | undefined;
}

/** The official `openai` client on a gateway, as its documentation says. */
export function openAiClient({ baseUrl }: Topology, apiKey: string, options: OpenAiOptions = {}): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${baseUrl}/v1`, maxRetries: 0, ...options });
}

/** The official `@anthropic-ai/sdk` client on a gateway. It sends the key as a bearer token. */
export function anthropicClient({ baseUrl }: Topology, apiKey: string, options: AnthropicOptions = {}): Anthropic {
  return new Anthropic({ apiKey, baseURL: baseUrl, maxRetries: 0, logLevel: 'error', ...options });
}

/** A `fetch` for SDKs that notes what they send and get. */
export function observedFetch(): { readonly fetch: typeof fetch; readonly exchanges: readonly SdkExchange[] } {
  const exchanges: SdkExchange[] = [];
  return {
    exchanges,
    fetch: async (input, init) => {
      const sentAtMs = Date.now();
      const response = await fetch(input, init);
      const retryAfter = response.headers.get('retry-after');
      exchanges.push({
        status: response.status,
        sentAtMs,
        answeredAtMs: Date.now(),
        retryAfterSeconds: retryAfter === null ? undefined : Number(retryAfter),
      });
      return response;
    },
  };
}

/** What a promise was rejected with. Throws when it was not. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  const outcome = await promise.then(
    () => undefined,
    (thrown: unknown) => ({ thrown }),
  );
  if (outcome === undefined) throw new Error('it was expected to fail');
  return outcome.thrown;
}

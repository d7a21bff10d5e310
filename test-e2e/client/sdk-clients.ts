import Anthropic, { type ClientOptions as AnthropicOptions } from '@anthropic-ai/sdk';
import OpenAI, { type ClientOptions as OpenAiOptions } from 'openai';
import type { Topology } from '../topologies/topology.ts';

/** One HTTP exchange of an SDK, as it was on the wire. */
export interface SdkExchange {
  readonly status: number;
  /** The time of sending, in epoch milliseconds. */
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
  readonly retryAfterSeconds: number | undefined;
}

/** The official `openai` client with the gateway's address, as its documentation shows. */
export function openAiClient(
  { baseUrl }: Pick<Topology, 'baseUrl'>,
  apiKey: string,
  options: OpenAiOptions = {},
): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${baseUrl}/v1`, maxRetries: 0, ...options });
}

/**
 * The official `@anthropic-ai/sdk` client with the gateway's address. It sends the key as a bearer
 * token.
 */
export function anthropicClient({ baseUrl }: Topology, apiKey: string, options: AnthropicOptions = {}): Anthropic {
  return new Anthropic({ apiKey, baseURL: baseUrl, maxRetries: 0, logLevel: 'error', ...options });
}

/** A `fetch` for SDKs that records requests and answers. */
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

/** The reason of a rejected promise. Throws if it was not rejected. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  const outcome = await promise.then(
    () => undefined,
    (thrown: unknown) => ({ thrown }),
  );
  if (outcome === undefined) throw new Error('it was expected to fail');
  return outcome.thrown;
}

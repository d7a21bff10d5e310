import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { Frame } from '../../double/formats/provider-format.ts';
import { isMessages, paths } from '../../target/endpoints.ts';
import { type Call, Refusal } from './call.ts';
import type { Misbehaviour } from './misbehaviour.ts';

export interface ProviderAsk {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The answer of a provider, with the first event of a stream already read. */
export interface ProviderAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The body of an answer that is no stream. */
  readonly text: string;
  readonly frames: AsyncIterable<Frame> | undefined;
}

/** Two accounts at the provider. A limited account pauses for as long as the provider says. */
export class Accounts {
  readonly #providerUrl: string;
  readonly #misbehaviour: Misbehaviour;
  readonly #restsUntilMs = new Map<string, number>();
  #turn = 0;

  constructor(providerUrl: string, misbehaviour: Misbehaviour) {
    this.#providerUrl = providerUrl;
    this.#misbehaviour = misbehaviour;
  }

  /** @throws Refusal if no account is left. */
  async ask(call: Call, ask: ProviderAsk, signal: AbortSignal): Promise<ProviderAnswer> {
    const nowMs = Date.now();
    const free = this.#inOrder(call).filter((name) => (this.#restsUntilMs.get(name) ?? 0) <= nowMs);
    const { asksOneAccountOnly, asksSameAccountAgain } = this.#misbehaviour;
    const asked = asksSameAccountAgain ? free.flatMap((account) => [account, account]) : free;
    for (const account of asked.slice(0, asksOneAccountOnly ? 1 : asked.length)) {
      const answer = await this.#askOne(account, call, ask, signal).catch((failure: unknown) => {
        signal.throwIfAborted();
        if (call.endpoint !== 'chat') throw failure;
        return undefined;
      });
      if (answer?.status === 429) {
        this.#restsUntilMs.set(account, Date.now() + Number(answer.headers.get('retry-after') ?? 1) * 1_000);
      } else if (answer !== undefined && (answer.status < 500 || call.endpoint !== 'chat')) return answer;
    }
    const resting = [...this.#restsUntilMs.values()].filter((untilMs) => untilMs > Date.now());
    if (resting.length === 0) throw new Refusal(503, 'providers_unavailable');
    const untilMs = Math.min(...resting);
    const headers = { 'retry-after': String(Math.ceil((untilMs - Date.now()) / 1_000)) };
    throw new Refusal(429, 'pool_exhausted', { more: { retryAt: new Date(untilMs).toISOString() }, headers });
  }

  #inOrder({ request, body }: Call): readonly string[] {
    const session = request.get('session-id') ?? body.prompt_cache_key;
    const isSecond = session === undefined ? this.#turn++ % 2 === 1 : String(session).length % 2 === 1;
    return isSecond ? ['account-two', 'account-one'] : ['account-one', 'account-two'];
  }

  async #askOne(account: string, { endpoint }: Call, ask: ProviderAsk, signal: AbortSignal): Promise<ProviderAnswer> {
    const credential = isMessages(endpoint) ? { 'x-api-key': account } : { authorization: `Bearer ${account}` };
    const response = await fetch(`${this.#providerUrl}${paths[endpoint]}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...ask.headers, ...credential },
      body: JSON.stringify({ ...ask.body, ...this.#misbehaviour.ask?.(ask.body) }),
      signal,
    });
    const { status, headers, body } = response;
    const isStream = status === 200 && headers.get('content-type')?.startsWith('text/event-stream') === true;
    if (!isStream || body === null) return { status, headers, text: await response.text(), frames: undefined };
    const events = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
    return { status, headers, text: '', frames: events };
  }
}

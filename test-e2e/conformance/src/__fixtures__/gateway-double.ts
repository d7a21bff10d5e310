import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import express, { type Request, type Response } from 'express';
import type { Frame } from '../double/formats/provider-format.ts';
import { type Listening, listenOnLoopback } from '../double/listen-on-loopback.ts';
import { doubleModels } from '../double/provider-double.ts';
import { messagesErrorTypeOf } from '../formats/messages-error-types.ts';
import { type Endpoint, isMessages } from '../target/endpoints.ts';
import { Accounts, type ProviderAnswer, type ProviderAsk } from './gateway-double/accounts.ts';
import { type Call, classes, endpointOf, Refusal, readCall, tokenOf } from './gateway-double/call.ts';
import { type DoubledLimit, Ledger, providerOf } from './gateway-double/ledger.ts';
import type { Misbehaviour, WholeAnswer } from './gateway-double/misbehaviour.ts';
import { countsIn, onlyCompletion, relayEvents } from './gateway-double/relay-events.ts';

export const tokens = { token: 'conformance-token', limitedToken: 'conformance-limited-token' } as const;

/**
 * A small gateway in front of the double. Except for its faults it is correct, which proves that a
 * check finds its fault.
 */
export async function startGatewayDouble(
  providerUrl: string,
  limit: DoubledLimit,
  misbehaviour: Misbehaviour = {},
): Promise<Listening> {
  const gateway = new GatewayDouble(providerUrl, new Ledger(limit, misbehaviour), misbehaviour);
  const app = express().disable('x-powered-by').disable('etag');
  app.use((request: Request, response: Response) => gateway.serve(request, response));
  return await listenOnLoopback(app);
}

class GatewayDouble {
  readonly #accounts: Accounts;
  readonly #ledger: Ledger;
  readonly #misbehaviour: Misbehaviour;

  constructor(providerUrl: string, ledger: Ledger, misbehaviour: Misbehaviour) {
    this.#accounts = new Accounts(providerUrl, misbehaviour);
    this.#ledger = ledger;
    this.#misbehaviour = misbehaviour;
  }

  async serve(request: Request, response: Response): Promise<void> {
    const left = new AbortController();
    response.on('close', () => this.#misbehaviour.ignoresHangUps || left.abort());
    const requestId = randomUUID();
    response.set({ 'x-request-id': requestId, 'request-id': requestId });
    // Errors of unknown paths have the shape that most endpoints have.
    let endpoint: Endpoint = request.path.startsWith('/v1/messages') ? 'messages' : 'chat';
    try {
      endpoint = endpointOf(request);
      this.#admit(request, response, endpoint);
      if (endpoint === 'models') return this.#send(response, ok({ object: 'list', data: listedModels }));
      if (endpoint === 'usage') return this.#send(response, ok(this.#ledger.usage));
      const call = readCall(request, await buffer(request), endpoint, this.#misbehaviour.skips);
      await this.#relay(call, await this.#accounts.ask(call, askOf(call), left.signal), response);
    } catch (thrown) {
      if (left.signal.aborted) return;
      const refusal = thrown instanceof Refusal ? thrown : new Refusal(503, 'providers_unavailable');
      this.#send(response, refusalAnswer(refusal, endpoint));
    }
  }

  /** @throws Refusal */
  #admit(request: Request, response: Response, endpoint: Endpoint): void {
    const token = tokenOf(request);
    const isKnown = Object.values(tokens).some((known) => known === token);
    if (!isKnown) throw new Refusal(401, 'unauthorized');
    if (token !== tokens.limitedToken) return;
    const isCounted = endpoint !== 'models' && endpoint !== 'usage';
    try {
      if (isCounted || this.#misbehaviour.countsUsageRequests) this.#ledger.takeSlot();
    } finally {
      if (isCounted) response.set(this.#ledger.headers);
    }
  }

  async #relay(call: Call, answer: ProviderAnswer, response: Response): Promise<void> {
    const { endpoint, model } = call;
    if (endpoint === 'chat') response.set({ 'x-gateway-provider': providerOf(model), 'x-gateway-model': model });
    if (answer.frames !== undefined) return await this.#stream(call, answer.frames, response);
    if (answer.status >= 400) return this.#send(response, this.#errorOf(call, answer));
    const body = JSON.parse(answer.text);
    if (endpoint !== 'count-tokens')
      this.#ledger.record(model, { input: 0, cached: 0, output: 0, ...countsIn(endpoint, body) });
    this.#send(response, ok(endpoint === 'chat' ? onlyCompletion(body) : body));
  }

  /** Converts an error of the provider as the specification says. */
  #errorOf({ endpoint }: Call, { status, text }: ProviderAnswer): WholeAnswer {
    if (endpoint === 'responses' || this.#misbehaviour.passesErrorsOn) return ok(JSON.parse(text), status);
    if (endpoint === 'chat') return refusalAnswer(new Refusal(status, 'upstream_rejected'), endpoint);
    const error = { type: 'api_error', code: 'subscription_upstream_error', message: 'The provider has failed.' };
    return ok({ type: 'error', error }, status);
  }

  async #stream(call: Call, provided: AsyncIterable<Frame>, response: Response): Promise<void> {
    const record = (counts: Parameters<Ledger['record']>[1]) => this.#ledger.record(call.model, counts);
    const right = relayEvents(call, provided, this.#misbehaviour, record);
    const frames = this.#misbehaviour.frames?.(right) ?? right;
    response.set({ 'content-type': 'text/event-stream; charset=utf-8', ...this.#misbehaviour.streamHeaders });
    response.flushHeaders();
    for await (const { event, data } of frames) {
      const lines = data.split('\n').map((line) => `data: ${line}\n`);
      response.write(`${event === undefined ? '' : `event: ${event}\n`}${lines.join('')}\n`);
    }
    response.end();
  }

  #send(response: Response, answer: WholeAnswer): void {
    const { status, headers, body } = { ...answer, ...this.#misbehaviour.answer?.(answer) };
    if (response.headersSent) response.destroy();
    else response.status(status).type('application/json').set(headers).end(JSON.stringify(body));
  }
}

const listedModels = [
  ...Object.keys(classes).map((id) => ({ id, owned_by: 'gateway' })),
  ...doubleModels.openai.map((id) => ({ id, owned_by: 'provider_a' })),
  ...doubleModels.anthropic.map((id) => ({ id, owned_by: 'provider_b' })),
].map((model) => ({ ...model, object: 'model', created: 0, name: model.id }));

const ok = (body: Readonly<Record<string, unknown>>, status = 200): WholeAnswer => ({ status, headers: {}, body });

function askOf({ endpoint, request, body, model }: Call): ProviderAsk {
  if (isMessages(endpoint)) {
    const version = request.get('partner-version') ?? request.get('anthropic-version') ?? '2023-06-01';
    const beta = request.get('partner-beta') ?? request.get('anthropic-beta');
    const headers = { 'anthropic-version': version, ...(beta === undefined ? {} : { 'anthropic-beta': beta }) };
    return { headers, body: { ...body, model } };
  }
  if (endpoint === 'chat') {
    const usage = body.stream ? { stream_options: { include_usage: true } } : {};
    return { headers: {}, body: { ...body, model, ...usage } };
  }
  const { max_output_tokens, client_metadata, ...kept } = body;
  return { headers: {}, body: { ...kept, model, stream: true, store: false } };
}

function refusalAnswer({ status, code, message, more, headers }: Refusal, endpoint: Endpoint): WholeAnswer {
  const body = isMessages(endpoint)
    ? { type: 'error', error: { type: messagesErrorTypeOf(status), message } }
    : { error: { code, message, ...more } };
  return { status, headers, body };
}

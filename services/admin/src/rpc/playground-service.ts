import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import {
  PlaygroundEndpoint,
  type PlaygroundService,
  type RelayRequest,
} from '@gateway/proto/admin/v1/playground_service_pb.js';
import { parseTokenText } from '@gateway/tokens';
import { type Caller, callerOf } from '../access/caller.ts';
import type { EdgeRelay, RelayedRequest } from '../playground/edge-relay.ts';
import { checkFields, type FieldProblems } from './problems.ts';

/**
 * Sends requests from the console to the public API. The token in the request decides what the
 * request may do; the session of the caller only allows the use of this service.
 */
export function playgroundService(relay: EdgeRelay): ServiceImpl<typeof PlaygroundService> {
  const open = new OpenRelays();
  return {
    async *relay(request, context) {
      const relayed = checked(request);
      if (!relay.knowsEdge) throw new ConnectError(noEdge, Code.FailedPrecondition);
      using _place = open.take(keyOf(callerOf(context)));
      try {
        const { status, headers, body } = await relay.send(relayed, context.signal);
        yield { part: { case: 'head', value: { status, headers: [...headers] } } };
        for await (const bytes of body) yield { part: { case: 'bytes', value: bytes } };
      } catch (thrown) {
        context.signal.throwIfAborted();
        throw relayError(thrown);
      }
    },
  };
}

const endpoints: Readonly<Partial<Record<PlaygroundEndpoint, Pick<RelayedRequest, 'method' | 'path'>>>> = {
  [PlaygroundEndpoint.MODELS]: { method: 'GET', path: '/v1/models' },
  [PlaygroundEndpoint.CHAT_COMPLETIONS]: { method: 'POST', path: '/v1/chat/completions' },
  [PlaygroundEndpoint.MESSAGES]: { method: 'POST', path: '/v1/messages' },
  [PlaygroundEndpoint.RESPONSES]: { method: 'POST', path: '/v1/responses' },
};

function checked({ endpoint, tokenText, body }: RelayRequest): RelayedRequest {
  const known = endpoints[endpoint];
  const problems: FieldProblems = {
    ...(known === undefined && { endpoint: 'Choose an endpoint.' }),
    ...(!/^[\x21-\x7e]{1,512}$/.test(tokenText) && { tokenText: 'Enter a token, without spaces.' }),
    ...(parseTokenText(tokenText)?.kind === 'operator' && { tokenText: ofOperator }),
  };
  checkFields(problems);
  if (known === undefined) throw new ConnectError('There is no such endpoint.', Code.InvalidArgument);
  return { ...known, tokenText, body: known.method === 'GET' ? undefined : body };
}

const ofOperator = "This is an operator's token. Enter a client's token (gw_s_… or gw_p_…).";

const noEdge = 'The playground is off: the setting EDGE_URL of the admin service has the address of the public API.';

/** Limits the answers at a time, for each caller and over all callers. */
class OpenRelays {
  readonly #ofCaller = new Map<string, number>();
  #all = 0;

  take(key: string): Disposable {
    const own = this.#ofCaller.get(key) ?? 0;
    if (own >= mostOfCaller || this.#all >= mostOverall) throw new ConnectError(tooMany, Code.ResourceExhausted);
    this.#ofCaller.set(key, own + 1);
    this.#all += 1;
    return { [Symbol.dispose]: () => this.#release(key) };
  }

  #release(key: string): void {
    const left = (this.#ofCaller.get(key) ?? 1) - 1;
    if (left === 0) this.#ofCaller.delete(key);
    else this.#ofCaller.set(key, left);
    this.#all -= 1;
  }
}

const mostOfCaller = 4;
const mostOverall = 64;
const tooMany = 'Too many answers of the playground are running. Stop one, or wait until one has ended.';

function keyOf(caller: Caller): string {
  if (caller.kind === 'operator') return `operator ${caller.operatorId}`;
  return caller.kind === 'person' ? `person ${caller.person.personId}` : `token ${caller.token.tokenId}`;
}

/** Its text says nothing of the request: the cause could contain a part of it. */
function relayError(thrown: unknown): ConnectError {
  const { name = '', code = '' } = thrown instanceof Error ? (thrown as { name?: string; code?: unknown }) : {};
  if (name === 'TimeoutError') return new ConnectError(tooLate, Code.DeadlineExceeded);
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return new ConnectError(tooLong, Code.ResourceExhausted);
  return new ConnectError(noAnswer, Code.Unavailable);
}

const tooLate = 'The playground shows answers of up to ten minutes.';
const tooLong = 'The playground shows answers of up to 16 MiB.';
const noAnswer = 'The public API did not answer, or broke the answer off.';

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { isObject, parseJson } from '@gateway/json';
import { epochMs } from '@gateway/time';
import { planAnswer, reasoningTokensOf, tokensOf } from './answer/plan-answer.ts';
import { Exchange, readBody } from './exchange.ts';
import { unauthorized } from './faults/fault-presets.ts';
import { countInputTokens } from './messages/format.ts';
import { modelList } from './models.ts';
import { serveToken, tokenPath } from './oauth/serve-token.ts';
import type { Provider } from './provider.ts';
import { type FormatName, ProviderRefusal, type ProviderRequest } from './provider-request.ts';
import type { Answer } from './simulated-format.ts';
import { streamAnswer } from './streaming.ts';
import { withFaults } from './with-faults.ts';

/** Serves one request to either provider. The request and its end are always recorded. */
export async function serveRequest(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path = '', query = ''] = (request.url ?? '').split('?', 2);
  const format = provider.formats[formatOf(path, request)];
  const credential = credentialOf(request.headers, format.name);
  const account = (credential && provider.tokens.accountOf(credential)) ?? null;
  const headers = maskCredentials(request.headers);
  const record = provider.recorder.begin({ method: request.method ?? '', path, query, headers, account });
  const exchange = new Exchange(request, response, format, record);
  try {
    await serve(provider, exchange);
    record.end('completed');
  } catch (thrown) {
    await endBadly(exchange, thrown);
  }
}

/**
 * Determined by the path or, for the list of models, which both providers have, by the headers that
 * only Messages clients send.
 */
function formatOf(path: string, { headers }: IncomingMessage): FormatName {
  if (path.startsWith('/v1/messages')) return 'messages';
  const isMessages = headers['anthropic-version'] !== undefined || headers['x-api-key'] !== undefined;
  return path === '/v1/models' && isMessages ? 'messages' : 'responses';
}

function credentialOf(headers: IncomingHttpHeaders, format: FormatName): string | undefined {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  const apiKey = headers['x-api-key'];
  const key = typeof apiKey === 'string' && apiKey !== '' ? apiKey : undefined;
  return format === 'messages' ? (key ?? bearer) : (bearer ?? key);
}

/** The request's headers without credentials, for the record. */
function maskCredentials(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, secretHeaders.has(name) ? '***' : String(value)]),
  );
}

const secretHeaders: ReadonlySet<string> = new Set([
  ...['authorization', 'x-api-key', 'cookie', 'proxy-authorization', 'chatgpt-account-id'],
]);

async function serve(provider: Provider, exchange: Exchange): Promise<void> {
  const { request, format, record } = exchange;
  const { path } = record.state;
  const bytes = await readBody(request, maximumBodyBytes[format.name]);
  if (path === tokenPath && request.method === 'POST') return serveToken(provider, exchange, bytes);
  provider.recorder.keepBody(record, bytes);
  const route = routes[path];
  if (route === undefined) throw new ProviderRefusal({ status: 404, message: 'Not found' });
  if (route.method !== request.method) throw new ProviderRefusal({ status: 405, message: 'Method not allowed' });
  if (record.state.account === null) throw unauthenticated(exchange);
  await route.serve(provider, exchange, { account: record.state.account, bytes });
}

const mebibyte = 1024 * 1024;

/** @see https://docs.claude.com/en/api/overview#request-size-limits */
const maximumBodyBytes: Readonly<Record<FormatName, number>> = { responses: 128 * mebibyte, messages: 32 * mebibyte };

interface AuthenticatedRequest {
  readonly account: string;
  readonly bytes: Buffer;
}

interface Route {
  readonly method: 'GET' | 'POST';
  readonly serve: (provider: Provider, exchange: Exchange, request: AuthenticatedRequest) => Promise<void>;
}

const routes: Readonly<Record<string, Route>> = {
  '/v1/responses': { method: 'POST', serve: generate },
  '/v1/messages': { method: 'POST', serve: generate },
  '/v1/messages/count_tokens': { method: 'POST', serve: countTokens },
  '/v1/models': { method: 'GET', serve: listModels },
};

function unauthenticated({ request, format: { name } }: Exchange): ProviderRefusal {
  const error = unauthorized(name);
  if (credentialOf(request.headers, name) !== undefined) return new ProviderRefusal(error);
  const message = name === 'messages' ? 'x-api-key header is required' : 'Missing bearer authentication.';
  return new ProviderRefusal({ ...error, message });
}

async function generate(provider: Provider, exchange: Exchange, received: AuthenticatedRequest): Promise<void> {
  const { format, record } = exchange;
  const request = readRequest(provider, exchange, received);
  const read = await withFaults(provider, exchange, request.body, () => format.readConversation(request));
  if (read === undefined) return;
  const { result: conversation, faults } = read;
  const answer: Answer = {
    id: `sim${record.state.id.toString(16).padStart(21, '0')}`,
    account: received.account,
    createdAtSeconds: Math.floor(epochMs() / 1000),
    request: request.body,
    conversation,
    plan: planAnswer(conversation),
    faults,
  };
  if (conversation.stream) return streamAnswer(exchange, answer, faults, provider.eventDelayMs);
  const { parts } = answer.plan;
  exchange.bill(answer, { outputTokens: tokensOf(parts), reasoningTokens: reasoningTokensOf(parts) });
  await exchange.sendJson(200, format.body(answer), faults.headers);
}

async function countTokens(provider: Provider, exchange: Exchange, received: AuthenticatedRequest): Promise<void> {
  const request = readRequest(provider, exchange, received);
  const counted = await withFaults(provider, exchange, request.body, () => countInputTokens(request));
  if (counted !== undefined) await exchange.sendJson(200, { input_tokens: counted.result });
}

async function listModels(provider: Provider, exchange: Exchange): Promise<void> {
  const models = provider.models.get();
  const { name } = exchange.format;
  if (models.unreachable.includes(name)) return exchange.reset();
  const listed = await withFaults(provider, exchange, {}, () => modelList(name, models[name]));
  if (listed !== undefined) await exchange.sendJson(200, listed.result);
}

/** @throws {ProviderRefusal} when the bytes are not a JSON object. */
function readRequest(
  { models }: Provider,
  { format, request: { headers } }: Exchange,
  { account, bytes }: AuthenticatedRequest,
): ProviderRequest {
  const body = parseJson(bytes.toString());
  if (isObject(body)) return { account, headers, body, models: models.get()[format.name] };
  throw new ProviderRefusal({ status: 400, message: 'The request body is not a valid JSON object.' });
}

async function endBadly(exchange: Exchange, thrown: unknown): Promise<void> {
  if (exchange.signal.aborted || exchange.response.destroyed) return;
  const isRefused = thrown instanceof ProviderRefusal;
  exchange.record.end(isRefused ? 'refused' : 'faulted');
  if (exchange.response.headersSent) return void exchange.response.destroy();
  const { refusal, body } = isRefused ? thrown : unexpected(thrown);
  try {
    if (body === undefined) await exchange.sendError(refusal);
    else await exchange.sendJson(refusal.status, body);
  } catch {
    // The client disconnected while its error was being sent.
  }
}

/** An internal error of the simulator, shown to the person who debugs with it. */
function unexpected(thrown: unknown): ProviderRefusal {
  const text = thrown instanceof Error ? thrown.stack : String(thrown);
  return new ProviderRefusal({ status: 500, message: `The simulator failed: ${text}` });
}

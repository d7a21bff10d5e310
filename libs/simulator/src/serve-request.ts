import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Accounts, credentialOf, maskCredentials } from './accounts.ts';
import { type AnswerSettings, delayHeaders } from './answer-request.ts';
import { Exchange } from './exchange.ts';
import type { FaultBook } from './faults/fault-book.ts';
import { countInputTokens } from './messages/format.ts';
import { type Models, modelList } from './models.ts';
import { serveToken, tokenPath } from './oauth/serve-token.ts';
import type { TokenFamilies } from './oauth/token-families.ts';
import { type FormatName, type ProviderFormat, ProviderRefusal } from './provider-format.ts';
import { readBody } from './read-body.ts';
import type { Recorder } from './record.ts';
import {
  consume,
  insteadOfAnswer,
  matchFaults,
  parseObject,
  replaceAnswer,
  serveGeneration,
} from './serve-generation.ts';

/** Everything that a simulated provider consists of. */
export interface Provider {
  readonly formats: Readonly<Record<FormatName, ProviderFormat>>;
  readonly accounts: Accounts;
  readonly tokens: TokenFamilies;
  readonly models: Models;
  readonly faults: FaultBook;
  readonly recorder: Recorder;
  readonly settings: AnswerSettings;
}

/** Serves one request to either provider. Whatever happens, the request is recorded with its end. */
export async function serveRequest(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const exchange = openExchange(provider, request, response);
  try {
    await serve(provider, exchange);
  } catch (thrown) {
    await endBadly(exchange, thrown);
  }
}

function openExchange(provider: Provider, request: IncomingMessage, response: ServerResponse): Exchange {
  const [path = '', query = ''] = (request.url ?? '').split('?', 2);
  const format = provider.formats[formatOf(path, request)];
  const record = provider.recorder.begin({
    method: request.method ?? '',
    path,
    query,
    headers: maskCredentials(request.headers),
    account: accountOf(provider, credentialOf(request.headers, format.name)),
  });
  return new Exchange({ request, response, format, path, record });
}

/** A credential is its account's id, but for access tokens, which come and go. */
function accountOf({ tokens }: Provider, credential: string | undefined): string | null {
  const holder = credential === undefined ? undefined : tokens.accountOf(credential);
  if (holder === undefined) return credential ?? null;
  return holder === 'refused' ? null : holder.account;
}

/** The path decides; for the list of models, which both providers have, the headers that only Messages clients send. */
function formatOf(path: string, { headers }: IncomingMessage): FormatName {
  if (path.startsWith('/v1/messages')) return 'messages';
  const isMessages = headers['anthropic-version'] !== undefined || headers['x-api-key'] !== undefined;
  return path === '/v1/models' && isMessages ? 'messages' : 'responses';
}

async function serve(provider: Provider, exchange: Exchange): Promise<void> {
  const bytes = await readBody(exchange.request, maximumBodyBytes[exchange.format.name]);
  if (exchange.path === tokenPath && exchange.request.method === 'POST') return serveToken(provider, exchange, bytes);
  provider.recorder.keepBody(exchange.record, bytes);
  const route = routes[exchange.path];
  if (route === undefined) throw new ProviderRefusal({ status: 404, message: 'Not found' });
  if (route.method !== exchange.request.method)
    throw new ProviderRefusal({ status: 405, message: 'Method not allowed' });
  const account = authenticate(provider, exchange);
  await route.serve(provider, exchange, { account, bytes });
}

const mebibyte = 1024 * 1024;

/** @see https://docs.claude.com/en/api/overview#request-size-limits */
const maximumBodyBytes: Readonly<Record<FormatName, number>> = { responses: 128 * mebibyte, messages: 32 * mebibyte };

interface Authenticated {
  readonly account: string;
  readonly bytes: Buffer;
}

interface Route {
  readonly method: 'GET' | 'POST';
  readonly serve: (provider: Provider, exchange: Exchange, request: Authenticated) => Promise<void>;
}

const routes: Readonly<Record<string, Route>> = {
  '/v1/responses': { method: 'POST', serve: generate },
  '/v1/messages': { method: 'POST', serve: generate },
  '/v1/messages/count_tokens': { method: 'POST', serve: countTokens },
  '/v1/models': { method: 'GET', serve: listModels },
};

function authenticate({ accounts, tokens }: Provider, { request, format }: Exchange): string {
  const credential = credentialOf(request.headers, format.name);
  const holder = credential === undefined ? undefined : tokens.accountOf(credential);
  if (holder !== undefined && holder !== 'refused') return holder.account;
  if (credential !== undefined && holder === undefined && accounts.accepts(credential)) return credential;
  const known = format.name === 'messages' ? 'invalid x-api-key' : 'Incorrect API key provided.';
  const missing = format.name === 'messages' ? 'x-api-key header is required' : 'Missing bearer authentication.';
  const message = credential === undefined ? missing : known;
  throw new ProviderRefusal({ status: 401, code: 'invalid_api_key', message });
}

async function generate(provider: Provider, exchange: Exchange, request: Authenticated): Promise<void> {
  const models = provider.models.state[exchange.format.name];
  await serveGeneration(exchange, { ...request, models }, provider);
}

async function countTokens(provider: Provider, exchange: Exchange, { account, bytes }: Authenticated): Promise<void> {
  const body = parseObject(bytes);
  if (await isStruck(provider, exchange, { account, body })) return;
  const models = provider.models.state.messages;
  const inputTokens = countInputTokens({ account, headers: exchange.request.headers, body, models });
  await exchange.sendJson(200, { input_tokens: inputTokens });
  exchange.record.end('completed');
}

async function listModels(provider: Provider, exchange: Exchange, { account }: Authenticated): Promise<void> {
  const { state } = provider.models;
  const { name } = exchange.format;
  if (state.unreachable.includes(name)) return exchange.reset();
  if (await isStruck(provider, exchange, { account, body: {} })) return;
  await exchange.sendJson(200, modelList(name, state[name]));
  exchange.record.end('completed');
}

/** Applies the faults that can strike a request that generates nothing; true when one took the place of the answer. */
async function isStruck(
  { faults: book, settings }: Provider,
  exchange: Exchange,
  request: Parameters<typeof matchFaults>[2],
): Promise<boolean> {
  const faults = matchFaults(exchange, book, request);
  const instead = insteadOfAnswer(faults);
  if (instead !== undefined) {
    await replaceAnswer(exchange, faults, instead, settings.nowMs);
    return true;
  }
  consume(exchange, faults);
  await delayHeaders(exchange, faults);
  return false;
}

async function endBadly(exchange: Exchange, thrown: unknown): Promise<void> {
  if (exchange.signal.aborted || exchange.response.destroyed) return;
  const refusal = thrown instanceof ProviderRefusal ? thrown : undefined;
  exchange.record.end(refusal === undefined ? 'faulted' : 'refused');
  if (exchange.response.headersSent) return void exchange.response.destroy();
  try {
    await sendRefusal(exchange, refusal ?? unexpected(thrown));
  } catch {
    // The client left while its error was on the way.
  }
}

/** A fault of the simulator itself, told to whoever debugs against it. */
function unexpected(thrown: unknown): ProviderRefusal {
  const text = thrown instanceof Error ? thrown.stack : String(thrown);
  return new ProviderRefusal({ status: 500, message: `The simulator failed: ${text}` });
}

async function sendRefusal(exchange: Exchange, { refusal, body }: ProviderRefusal): Promise<void> {
  if (body === undefined) await exchange.sendError(refusal);
  else await exchange.sendJson(refusal.status, body);
}

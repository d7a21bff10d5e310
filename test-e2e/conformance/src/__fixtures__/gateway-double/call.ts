import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import type { Request } from 'express';
import { isObject } from '../../formats/found.ts';
import { type Endpoint, endpoints, isMessages, type PostEndpoint, paths } from '../../target/endpoints.ts';
import type { Misbehaviour } from './misbehaviour.ts';

/** Why a request is refused. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly more: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: string,
    { more = {}, headers = {} }: Partial<Pick<Refusal, 'more' | 'headers'>> = {},
  ) {
    super(`The request is refused: ${code}.`);
    this.status = status;
    this.code = code;
    this.more = more;
    this.headers = headers;
  }
}

/** A request, parsed step by step. */
export interface Call {
  readonly endpoint: PostEndpoint;
  readonly request: Request;
  readonly body: Readonly<Record<string, unknown>>;
  /** The provider's name of it. */
  readonly model: string;
}

export function tokenOf({ headers }: Request): string {
  return headers.authorization?.replace(/^Bearer /i, '') ?? [headers['x-api-key']].flat()[0] ?? '';
}

/** @throws Refusal */
export function endpointOf({ path, method }: Request): Endpoint {
  const found = endpoints.find((endpoint) => paths[endpoint] === path);
  if (found === undefined) throw new Refusal(404, 'not_found');
  const right = found === 'models' || found === 'usage' ? 'GET' : 'POST';
  if (method !== right) throw new Refusal(405, 'method_not_allowed');
  return found;
}

const mebibyte = 1_024 * 1_024;

/** @throws Refusal */
export function readCall(request: Request, sent: Buffer, endpoint: PostEndpoint, skips: Misbehaviour['skips']): Call {
  const bytes = decoded(request, sent, endpoint, skips);
  const most = (endpoint === 'responses' ? 64 : 16) * mebibyte;
  if (bytes.length > most && skips !== 'size') throw new Refusal(413, 'body_too_large');
  const body = parsed(bytes);
  if (!hasFields(endpoint, body)) throw new Refusal(400, 'invalid_request');
  if (JSON.stringify(body.messages ?? []).includes('"type":"file"')) throw new Refusal(400, 'unsupported_content');
  const model = classes[String(body.model)] ?? String(body.model);
  const isThere = (isMessages(endpoint) ? /^claude/ : endpoint === 'responses' ? /^gpt/ : /^(gpt|claude)/).test(model);
  if (!isThere) throw new Refusal(404, 'model_not_found');
  return { endpoint, request, body, model };
}

export const classes: Readonly<Record<string, string>> = {
  'gateway/sterk': 'gpt-5.5',
  'gateway/claude': 'claude-sonnet-5',
};

function decoded(request: Request, bytes: Buffer, endpoint: Endpoint, skips: Misbehaviour['skips']): Buffer {
  const encoding = request.get('content-encoding') ?? 'identity';
  if (encoding === 'identity' || (encoding === 'gzip' && skips === 'encoding')) return bytes;
  const decode = { gzip: gunzipSync, deflate: inflateSync, br: brotliDecompressSync }[encoding];
  if (decode === undefined || isMessages(endpoint)) throw new Refusal(415, 'unsupported_encoding');
  try {
    return decode(bytes);
  } catch {
    throw new Refusal(400, 'invalid_body');
  }
}

function parsed(bytes: Buffer): Readonly<Record<string, unknown>> {
  try {
    const body: unknown = JSON.parse(bytes.toString());
    if (isObject(body)) return body;
  } catch {
    throw new Refusal(400, 'invalid_json');
  }
  throw new Refusal(400, 'invalid_request');
}

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'];

function hasFields(endpoint: Endpoint, body: Readonly<Record<string, unknown>>): boolean {
  const { model, messages, input, max_tokens, stream = false, n = 1, reasoning_effort = 'low' } = body;
  if (typeof model !== 'string' || typeof stream !== 'boolean') return false;
  if (endpoint === 'responses') return Array.isArray(input);
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isObject)) return false;
  if (endpoint === 'messages') return Number.isInteger(max_tokens);
  return n === 1 && efforts.includes(String(reasoning_effort));
}

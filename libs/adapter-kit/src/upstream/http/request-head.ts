import { UpstreamError } from '../upstream-error.ts';
import type { HttpRequest, RequestBody, RequestHeaders, WrittenRequest } from './http-exchange.ts';

/** Whether a body is to be written piece by piece. */
export function isPieces(body: RequestBody): body is readonly Uint8Array[] {
  return Array.isArray(body);
}

/** Writes the heads of the requests to one host. */
export class RequestHeads {
  readonly #host: string;
  /** The last one of each headers that can't change: an account's requests have the same head again and again. */
  readonly #byHeaders = new WeakMap<RequestHeaders, KnownHead>();

  constructor(host: string) {
    this.#host = host;
  }

  /** Throws UpstreamError for what no head can say. */
  write(request: HttpRequest): WrittenRequest {
    const { method, body } = request;
    const bodyBytes = lengthOf(body);
    const length = method === 'GET' && bodyBytes === 0 ? '' : `content-length: ${bodyBytes}\r\n`;
    return { head: `${this.#startOf(request)}${length}\r\n`, body, bodyBytes };
  }

  #startOf({ method, path, headers }: HttpRequest): string {
    const known = this.#byHeaders.get(headers);
    if (known !== undefined && known.path === path && known.method === method) return known.start;
    const start = this.#written(method, path, headers);
    if (Object.isFrozen(headers)) this.#byHeaders.set(headers, { method, path, start });
    return start;
  }

  #written(method: string, path: string, headers: RequestHeaders): string {
    if (!isPath.test(path)) throw notSendable('path');
    let start = `${method} ${path} HTTP/1.1\r\nhost: ${this.#host}\r\nconnection: keep-alive\r\n`;
    for (const [name, value] of Object.entries(headers)) start += line(name, value);
    return start;
  }
}

interface KnownHead {
  readonly method: string;
  readonly path: string;
  readonly start: string;
}

function lengthOf(body: RequestBody): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  return isPieces(body) ? body.reduce((sum, { length }) => sum + length, 0) : body.length;
}

/** A line end within a value would be another header, or another request. */
function line(name: string, value: string): string {
  if (!isName.test(name) || ownNames.has(name.toLowerCase())) throw notSendable('header name');
  if (isNoValue.test(value)) throw notSendable('header value');
  return `${name}: ${value}\r\n`;
}

/** Values may be secrets: they are not named. */
function notSendable(part: string): UpstreamError {
  return new UpstreamError('network', `The request can’t be sent: its ${part} is not allowed.`);
}

const isPath = /^\/[\x21-\x7e\x80-\xff]*$/;
const isName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const isNoValue = /[^\t\x20-\x7e\x80-\xff]/;

/** They say where a message ends and what its connection does. */
const ownNames: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

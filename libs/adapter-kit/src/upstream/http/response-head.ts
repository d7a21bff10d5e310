import { UpstreamError } from '../upstream-error.ts';
import type { ResponseHeaders } from './http-exchange.ts';

/** How the end of a body is known. */
export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'untilClose' };

export interface ResponseHead {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly framing: Framing;
  /** False when no request may follow on the connection. */
  readonly keepsOpen: boolean;
  /** How long the provider says that it keeps an idle connection. */
  readonly idleMs: number | undefined;
}

/**
 * Reads the head of a response to GET or POST: status line and headers without the empty line, in Latin-1. Throws
 * UpstreamError for whatever two readers could understand differently: where a response ends must never be in doubt.
 * @see RFC 9112, sections 4 to 6
 */
export function parseResponseHead(text: string): ResponseHead {
  const lineEnd = endOfLine(text, 0);
  const [, minor, code] = statusLine.exec(text.slice(0, lineEnd)) ?? [];
  if (code === undefined) throw malformed('no status line');
  const [status, isHttp11] = [Number(code), minor === '1'];
  const headers = parseHeaders(text, lineEnd + 2);
  const framing = framingOf(status, isHttp11, headers);
  return { status, headers, framing, keepsOpen: keepsOpen(framing, isHttp11, headers), idleMs: idleMsOf(headers) };
}

/** A response that can't be trusted. */
export function malformed(what: string): UpstreamError {
  return new UpstreamError('network', `The provider’s response is no HTTP/1.1: ${what}.`);
}

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;

function parseHeaders(text: string, from: number): ResponseHeaders {
  // Without a prototype: a provider may name a header as it likes.
  const headers: Record<string, string> = Object.create(null);
  let count = 0;
  for (let start = from; start < text.length; ) {
    const colon = text.indexOf(':', start);
    if (colon < 0) throw malformed('a header without a colon');
    count += 1;
    if (count > maxHeaders) throw malformed('too many headers');
    const name = nameOf(text.slice(start, colon));
    const end = endOfLine(text, colon + 1);
    const value = trimmed(text, colon + 1, end);
    const earlier = headers[name];
    headers[name] = earlier === undefined ? value : `${earlier}, ${value}`;
    start = end + 2;
  }
  return headers;
}

/** Neither half of a line end stands without the other, and no other control character stands at all. */
function endOfLine(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x20 ? code !== 0x7f : code === 0x09) continue;
    if (code === 0x0d && text.charCodeAt(at + 1) === 0x0a) return at;
    throw malformed('a character that no head may have');
  }
  return text.length;
}

const maxHeaders = 256;

/** Folded lines and blanks before the colon are no names. */
function nameOf(raw: string): string {
  const known = knownNames.get(raw);
  if (known !== undefined) return known;
  if (!isName.test(raw)) throw malformed('a header without a proper name');
  const name = raw.toLowerCase();
  if (knownNames.size === maxKnownNames) knownNames.clear();
  knownNames.set(raw, name);
  return name;
}

const isName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const knownNames = new Map<string, string>();
const maxKnownNames = 512;

function trimmed(text: string, from: number, to: number): string {
  let [start, end] = [from, to];
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function framingOf(status: number, isHttp11: boolean, headers: ResponseHeaders): Framing {
  const { 'transfer-encoding': encoding, 'content-length': length } = headers;
  if (encoding !== undefined) {
    if (length !== undefined) throw malformed('both a length and a transfer coding');
    if (!isHttp11 || encoding.toLowerCase() !== 'chunked') throw malformed('a transfer coding that nobody asked for');
  }
  // Repeated lengths were joined, so that even equal ones are none.
  if (length !== undefined && !isLength.test(length)) throw malformed('a length that is no number');
  if (status < 200 || status === 204 || status === 304) return none;
  if (encoding !== undefined) return chunked;
  if (length === undefined) return untilClose;
  return length === '0' ? none : { kind: 'length', bytes: Number(length) };
}

/** No more digits than are counted exactly. */
const isLength = /^\d{1,15}$/;
const none: Framing = { kind: 'none' };
const chunked: Framing = { kind: 'chunked' };
const untilClose: Framing = { kind: 'untilClose' };

function keepsOpen(framing: Framing, isHttp11: boolean, headers: ResponseHeaders): boolean {
  if (framing.kind === 'untilClose') return false;
  // A body that is announced where none may be could follow all the same, and be taken for the next response.
  if (framing.kind === 'none' && announcesBody(headers)) return false;
  const { connection } = headers;
  if (connection === undefined) return isHttp11;
  const options = connection
    .toLowerCase()
    .split(',', maxHeaders)
    .map((option) => option.trim());
  return !options.includes('close') && (isHttp11 || options.includes('keep-alive'));
}

function announcesBody({ 'transfer-encoding': encoding, 'content-length': length = '0' }: ResponseHeaders): boolean {
  return encoding !== undefined || Number(length) > 0;
}

function idleMsOf({ 'keep-alive': parameters }: ResponseHeaders): number | undefined {
  const seconds = parameters === undefined ? undefined : /(?:^|[ ,;])timeout=(\d{1,6})(?![\d.])/i.exec(parameters)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { assignRequestId, clientRequestIdOf, nameForMessages, requestIdOf } from './respond.ts';

const requestWith = (headers: IncomingMessage['headers']) =>
  Object.assign(new IncomingMessage(new Socket()), { headers });

describe('the id of a request', () => {
  it('is another one for each, and has two names for Messages', () => {
    const [one, other] = [new ServerResponse(requestWith({})), new ServerResponse(requestWith({}))];
    for (const response of [one, other]) assignRequestId(response);
    expect(requestIdOf(one)).not.toBe(requestIdOf(other));
    nameForMessages(one);
    expect(one.getHeaders()).toEqual({ 'x-request-id': requestIdOf(one), 'request-id': requestIdOf(one) });
  });

  it('is not the one that a client sends, of which a bounded part is kept that can be seen', () => {
    expect(clientRequestIdOf(requestWith({}))).toBe('');
    expect(clientRequestIdOf(requestWith({ 'x-request-id': 'run-17/step:3' }))).toBe('run-17/step:3');
    expect(clientRequestIdOf(requestWith({ 'x-request-id': 'a \u0007b\u00ff' }))).toBe('ab');
    expect(clientRequestIdOf(requestWith({ 'x-request-id': 'x'.repeat(10_000) }))).toBe('x'.repeat(128));
  });
});

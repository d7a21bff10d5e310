import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { EdgeRequest } from '../body/read-body.ts';
import { clientRequestIdOf, EdgeResponse, nameForMessages } from './respond.ts';

const requestWith = (headers: EdgeRequest['headers']) => Object.assign(new EdgeRequest(new Socket()), { headers });

describe('the id of a request', () => {
  it('is another one for each, and has two names for Messages', () => {
    const [one, other] = [new EdgeResponse(requestWith({})), new EdgeResponse(requestWith({}))];
    expect(one.requestId).not.toBe(other.requestId);
    nameForMessages(one);
    expect(one.getHeaders()).toEqual({ 'x-request-id': one.requestId, 'request-id': one.requestId });
  });

  it('is not the one that a client sends, of which a bounded part is kept that can be seen', () => {
    expect(clientRequestIdOf(requestWith({}))).toBe('');
    expect(clientRequestIdOf(requestWith({ 'x-request-id': 'run-17/step:3' }))).toBe('run-17/step:3');
    expect(clientRequestIdOf(requestWith({ 'x-request-id': 'a \u0007b\u00ff' }))).toBe('ab');
    expect(clientRequestIdOf(requestWith({ 'x-request-id': 'x'.repeat(10_000) }))).toBe('x'.repeat(128));
  });
});

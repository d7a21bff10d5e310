import { describe, expect, it } from 'vitest';
import { relayHeaders } from './relay-headers.ts';

describe('the headers of a relayed request', () => {
  it('are the client’s version and betas under both spellings, and what answer is expected', () => {
    const client = { 'anthropic-version': '2024-01-01', 'partner-beta': 'b1,b2', cookie: 'c' };
    expect(relayHeaders(client, 'text/event-stream')).toEqual({
      'anthropic-version': '2024-01-01',
      'partner-version': '2024-01-01',
      'anthropic-beta': 'b1,b2',
      'partner-beta': 'b1,b2',
      accept: 'text/event-stream',
    });
  });

  it('have a version even where the client names none', () => {
    expect(relayHeaders({}, 'application/json')).toEqual({
      'anthropic-version': '2023-06-01',
      'partner-version': '2023-06-01',
      accept: 'application/json',
    });
  });

  it('are the same object for the same headers, which nobody can change', () => {
    const headers = relayHeaders({ 'anthropic-beta': 'b' }, 'application/json');
    expect(relayHeaders({ 'anthropic-beta': 'b' }, 'application/json')).toBe(headers);
    expect(relayHeaders({ 'anthropic-beta': 'b' }, 'text/event-stream')).not.toEqual(headers);
    expect(Object.isFrozen(headers)).toBe(true);
  });

  it('stay right for clients that send something new each time', () => {
    for (let n = 0; n < 1_000; n++) {
      expect(relayHeaders({ 'anthropic-beta': `b${n}` }, 'application/json')['partner-beta']).toBe(`b${n}`);
    }
  });
});

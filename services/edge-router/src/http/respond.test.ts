import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { EdgeRequest } from '../body/read-body.ts';
import { EdgeResponse, writeHead } from './respond.ts';

async function answered(answer: (response: EdgeResponse) => void): Promise<Response> {
  const server = createServer({ IncomingMessage: EdgeRequest, ServerResponse: EdgeResponse }, (_request, response) =>
    answer(response),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
  }
}

describe('the head of an answer', () => {
  it('has the headers that were set before, and its own', async () => {
    const response = await answered((each) => {
      each.setHeader('x-ratelimit-limit-requests', '10');
      writeHead(each, 429, { 'content-type': 'text/plain', 'content-length': 2 });
      each.end('no');
    });
    expect(response.status).toBe(429);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'x-ratelimit-limit-requests': '10',
      'content-type': 'text/plain',
      'content-length': '2',
    });
    expect(await response.text()).toBe('no');
  });

  it("names the request by our id, whatever a provider's answer names it", async () => {
    let requestId = '';
    const response = await answered((each) => {
      requestId = each.requestId;
      writeHead(each, 200, { 'X-Request-Id': 'req_theirs', 'request-id': 'req_theirs', 'content-length': 0 });
      each.end();
    });
    expect(response.headers.get('x-request-id')).toBe(requestId);
    expect(response.headers.get('request-id')).toBeNull();
  });
});

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedCall {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly clientPort: number | undefined;
  /** True once the connection closed before the answer ended. */
  readonly cutOff: () => boolean;
}

/** A local provider that answers as the test defines. */
export interface FakeProvider extends AsyncDisposable {
  readonly url: string;
  readonly calls: ReceivedCall[];
  answer: (response: ServerResponse, call: ReceivedCall) => void;
  /** Closes every connection, whatever is in progress on it. */
  cutAll(): void;
}

export async function startFakeProvider(): Promise<FakeProvider> {
  const calls: ReceivedCall[] = [];
  const server = createServer(async (request, response) => {
    let cutOff = false;
    response.on('close', () => {
      cutOff = !response.writableFinished;
    });
    response.on('error', () => undefined);
    const pieces = await Array.fromAsync<Buffer>(request).catch(() => []);
    const { method, url, headers } = request;
    const clientPort = request.socket.remotePort;
    const body = Buffer.concat(pieces).toString();
    const call = { method, url, headers, body, clientPort, cutOff: () => cutOff };
    calls.push(call);
    provider.answer(response, call);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const provider: FakeProvider = {
    url: `http://127.0.0.1:${port}`,
    calls,
    answer: (response) => response.end(),
    cutAll: () => server.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return provider;
}

/** Starts a stream of events; its head is sent at once. */
export function eventStream(response: ServerResponse): ServerResponse {
  const stream = eventStreamToBegin(response);
  stream.flushHeaders();
  return stream;
}

/** The same, but the head is sent with the first bytes, so that both arrive in one read. */
export function eventStreamToBegin(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'content-type': 'text/event-stream' });
}

/**
 * Answers with an event this many times, as fast as the connection accepts them, and a final one.
 * Returns how often it has been written so far.
 */
export function answerAsTaken(provider: FakeProvider, event: string, times: number, last: string): () => number {
  let written = 0;
  provider.answer = async (response) => {
    const stream = eventStream(response);
    for (; written < times; written++) {
      if (!stream.write(event)) await new Promise((resolve) => stream.once('drain', resolve));
    }
    stream.end(last);
  };
  return () => written;
}

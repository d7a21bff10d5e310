import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, type Dispatcher } from 'undici';

// One hop of Node that does nothing: its HTTP server, a small body read whole, undici's dispatch,
// the answer forwarded piece by piece. It is the lower bound for a gateway in JavaScript.
// Arguments: its port, the provider's port.

const [port, providerPort] = process.argv.slice(2).map(Number);
const origin = `http://127.0.0.1:${providerPort}`;
const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: 30_000 });

createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => passOn(request, Buffer.concat(pieces), response));
}).listen(port, '127.0.0.1');

function passOn(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
  const headers = { 'content-type': request.headers['content-type'] ?? 'application/json' };
  agent.dispatch({ origin, path: request.url ?? '/', method: 'POST', headers, body }, new PassedOn(response));
}

class PassedOn implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#response.on('close', () => {
      if (!this.#response.writableFinished) controller.abort(new Error('the client has gone'));
    });
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: NodeJS.Dict<string | string[]>) {
    const type = String(headers['content-type']);
    const length = headers['content-length'];
    this.#response.writeHead(status, {
      'content-type': type,
      ...(length === undefined ? {} : { 'content-length': String(length) }),
    });
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.#response.write(piece);
  }

  onResponseEnd(): void {
    this.#response.end();
  }

  onResponseError(): void {
    this.#response.destroy();
  }
}

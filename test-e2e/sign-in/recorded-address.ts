import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RecordedAnswer {
  /** "GET /managed/settings" */
  readonly request: string;
  readonly status: number;
}

/** A second address of a gateway, which notes what a client asks for and how it is answered. */
export interface RecordedAddress extends AsyncDisposable {
  readonly url: string;
  /** The answers since the last call. */
  takeAnswers(): readonly RecordedAnswer[];
}

export async function openRecordedAddress(target: string): Promise<RecordedAddress> {
  let answers: RecordedAnswer[] = [];
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    const forwarded = send(new URL(url, target), { method, headers }, (answer) => {
      const { statusCode: status = 0, headers: answerHeaders } = answer;
      answers.push({ request: `${method} ${url.split('?')[0]}`, status });
      response.writeHead(status, answerHeaders);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    response.on('close', () => forwarded.destroy());
    request.pipe(forwarded);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    takeAnswers() {
      const taken = answers;
      answers = [];
      return taken;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

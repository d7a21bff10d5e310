import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

/** A message that the receiver has answered. */
export interface ReceivedAlert {
  readonly status: number;
  readonly id: string;
  readonly isSigned: boolean;
  readonly type: string;
  readonly data: z.infer<typeof payload>['data'];
}

export interface AlertReceiver extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly ReceivedAlert[];
  /** Answers the next message about this subject with 503. */
  failOnce(subject: string): void;
}

/** A receiver of warnings that checks signatures as the documentation says. */
export async function startAlertReceiver(secret: string): Promise<AlertReceiver> {
  const received: ReceivedAlert[] = [];
  const failing = new Set<string>();
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const { type, data } = payload.parse(JSON.parse(body));
    const status = failing.delete(data.subject) ? 503 : 200;
    const id = String(request.headers['webhook-id']);
    received.push({ status, id, isSigned: isSigned(secret, request.headers, body), type, data });
    response.writeHead(status).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    failOnce: (subject) => void failing.add(subject),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function isSigned(secret: string, headers: IncomingHttpHeaders, body: string): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': given } = headers;
  const isRecent = Math.abs(Date.now() / 1_000 - Number(timestamp)) < 300;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return isRecent && given === `v1,${signature}`;
}

const payload = z.object({
  type: z.string(),
  data: z.object({ subject: z.string(), threshold: z.number(), text: z.string() }),
});

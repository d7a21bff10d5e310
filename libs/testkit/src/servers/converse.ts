import { connect } from 'node:net';

/** Sends a line to a server and resolves when the expected text comes back; throws when it doesn't within 5 s. */
export function converse(host: string, port: number, line: string, expected: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ host, port, timeout: 5_000 });
  let received = '';
  socket.setEncoding('utf8');
  socket.on('connect', () => socket.write(line));
  socket.on('data', (text) => {
    received += text;
    if (received.includes(expected)) resolve();
  });
  socket.on('timeout', () => reject(new Error(`${host}:${port} gave no answer within 5 s`)));
  socket.on('error', reject);
  socket.on('close', () => reject(new Error(`${host}:${port} closed the connection`)));
  return promise.finally(() => socket.destroy());
}

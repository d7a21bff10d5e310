import type { ServerResponse } from 'node:http';

/**
 * Writes, and says whom to wait for while the client reads slower than we write: undefined as long as it does not, and when it
 * has gone.
 */
export function write(response: ServerResponse, bytes: Uint8Array): Promise<void> | undefined {
  if (bytes.length === 0 || response.destroyed || response.write(bytes)) return undefined;
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

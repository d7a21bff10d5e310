import type { Worker } from 'node:cluster';

/**
 * Gives connections that a worker died over to another one. Node hands out one at a time and waits until the worker says
 * that it has it; when the worker dies before, Node goes on waiting, and so would the client, for ever. So Node is told, in
 * the worker's name, that it did not take it. This leans on messages that Node does not document: the end-to-end test that
 * kills a worker notices when they change.
 */
export function giveBackConnectionsOf(worker: Worker): void {
  const child = worker.process;
  const send = child.send.bind(child);
  let latest: number | undefined;
  Object.assign(child, {
    send: (...parameters: Parameters<typeof send>) => {
      const [message] = parameters;
      if (isHandOver(message)) latest = message.seq;
      return send(...parameters);
    },
  });
  worker.once('exit', () => {
    if (latest !== undefined) child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack: latest, accepted: false });
  });
}

interface HandOver {
  /** What the worker's answer will name. */
  readonly seq: number;
}

function isHandOver(message: unknown): message is HandOver {
  return typeof message === 'object' && message !== null && 'act' in message && message.act === 'newconn';
}

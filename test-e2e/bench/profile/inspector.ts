import { setTimeout as sleep } from 'node:timers/promises';

/** A node of V8's profile: a function in a call stack. */
export interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
}

/** V8's CPU profile with the node of each sample. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
}

/** Profiles a process through its debugger port, for some time. */
export async function profileProcess(inspectorPort: number, startAfterMs: number, ms: number): Promise<CpuProfile> {
  const session = await Session.open(inspectorPort);
  try {
    await session.call('Profiler.enable');
    await session.call('Profiler.setSamplingInterval', { interval: 500 });
    await sleep(startAfterMs);
    await session.call('Profiler.start');
    await sleep(ms);
    // The shape is V8's, part of the debugger's protocol.
    const { profile } = (await session.call('Profiler.stop')) as { readonly profile: CpuProfile };
    return profile;
  } finally {
    session.close();
  }
}

/** A connection to the debugger of another process. */
export class Session {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;

  static async open(port: number): Promise<Session> {
    const response = await fetch(`http://127.0.0.1:${port}/json/list`);
    const [target] = (await response.json()) as readonly { readonly webSocketDebuggerUrl: string }[];
    if (target === undefined) throw new Error(`Nothing can be profiled at port ${port}.`);
    const socket = new WebSocket(target.webSocketDebuggerUrl);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve, { once: true });
      socket.addEventListener('error', () => reject(new Error(`No debugger answers at port ${port}.`)), { once: true });
    });
    return new Session(socket);
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#receive(String(data)));
    socket.addEventListener('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('The debugger has gone.'));
    });
  }

  async call(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#lastId;
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(id, answer);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return await answer.promise;
  }

  close(): void {
    this.#socket.close();
  }

  #receive(text: string): void {
    const message = JSON.parse(text) as { id?: number; result?: unknown; error?: { message: string } };
    if (message.id === undefined) return;
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.error === undefined) waiting?.resolve(message.result);
    else waiting?.reject(new Error(message.error.message));
  }
}

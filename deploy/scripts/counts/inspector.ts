import { once } from 'node:events';

/** A connection to the inspector of another process. */
export class Inspector implements Disposable {
  readonly #socket: WebSocket;
  #calls = 0;

  static async connect(url: string): Promise<Inspector> {
    const socket = new WebSocket(url);
    await once(socket, 'open');
    return new Inspector(socket);
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  /** One call at a time. */
  async call<T>(method: string, params: object = {}): Promise<T> {
    const id = ++this.#calls;
    this.#socket.send(JSON.stringify({ id, method, params }));
    for (;;) {
      const [{ data }] = await once(this.#socket, 'message');
      const message = JSON.parse(String(data));
      if (message.id !== id) continue;
      if (message.error !== undefined) throw new Error(`${method}: ${message.error.message}`);
      return message.result;
    }
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}

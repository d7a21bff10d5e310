import { RpcError } from '@gateway/rpc';

/** What one side may be asked: functions of one argument. Arguments and answers are whatever structured cloning takes. */
export type Asks<C> = { readonly [K in keyof C]: (about: never) => unknown };

/** The channel of Node between a process and one that it started. */
export interface DialogueChannel {
  send(message: DialogueMessage): void;
  listen(onMessage: (message: unknown) => void): void;
}

export type DialogueMessage =
  | { readonly dialogue: 'question'; readonly id: number; readonly name: string; readonly about: unknown }
  | { readonly dialogue: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly dialogue: 'failure'; readonly id: number; readonly text: string };

/**
 * Questions and answers between a process and one that it started. Both sides are the same program, so what comes is what
 * the other side's contract says.
 */
export class Dialogue<Own extends Asks<Own>, Theirs extends Asks<Theirs>> implements Disposable {
  readonly #channel: DialogueChannel;
  readonly #own: Own;
  readonly #open = new Map<number, OpenQuestion>();
  #latestId = 0;
  #isOver = false;

  constructor(channel: DialogueChannel, own: Own) {
    this.#channel = channel;
    this.#own = own;
    channel.listen((message) => {
      if (isDialogueMessage(message)) this.#onMessage(message);
    });
  }

  /** @throws RpcError when no answer comes in time, the other side is gone, or it could not answer. */
  async ask<K extends keyof Theirs & string>(
    name: K,
    about: Parameters<Theirs[K]>[0],
    timeoutMs: number,
  ): Promise<Awaited<ReturnType<Theirs[K]>>> {
    if (this.#isOver) throw gone();
    const id = ++this.#latestId;
    const { promise, ...question } = Promise.withResolvers<unknown>();
    this.#open.set(id, question);
    const late = () => question.reject(new RpcError('deadline_exceeded', `${name} was not answered in time.`));
    const timer = setTimeout(late, timeoutMs).unref();
    try {
      this.#channel.send({ dialogue: 'question', id, name, about });
      // The other side answers by its contract, which is what `Theirs` says.
      return (await promise) as Awaited<ReturnType<Theirs[K]>>;
    } finally {
      clearTimeout(timer);
      this.#open.delete(id);
    }
  }

  /** The other side is gone: nothing is answered any more. */
  [Symbol.dispose](): void {
    this.#isOver = true;
    for (const question of this.#open.values()) question.reject(gone());
  }

  #onMessage(message: DialogueMessage): void {
    if (message.dialogue === 'question') void this.#answer(message.id, message.name, message.about);
    else if (message.dialogue === 'answer') this.#open.get(message.id)?.resolve(message.value);
    else this.#open.get(message.id)?.reject(new RpcError('internal', message.text));
  }

  async #answer(id: number, name: string, about: unknown): Promise<void> {
    const own: Readonly<Record<string, unknown>> = this.#own;
    const answer = own[name];
    try {
      if (typeof answer !== 'function') throw new Error(`${name} is nothing to ask here`);
      const value: unknown = await answer.call(own, about);
      if (!this.#isOver) this.#channel.send({ dialogue: 'answer', id, value });
    } catch (thrown) {
      const text = thrown instanceof Error ? thrown.message : String(thrown);
      if (!this.#isOver) this.#channel.send({ dialogue: 'failure', id, text });
    }
  }
}

type OpenQuestion = Pick<PromiseWithResolvers<unknown>, 'resolve' | 'reject'>;

function gone(): RpcError {
  return new RpcError('unavailable', 'The other process is gone.');
}

/** Node's own messages of the cluster module go over the same channel. */
function isDialogueMessage(message: unknown): message is DialogueMessage {
  return typeof message === 'object' && message !== null && 'dialogue' in message;
}

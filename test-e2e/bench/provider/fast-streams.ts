import type { Socket } from 'node:net';
import type { FixedAnswer } from './fixed-answers.ts';

/**
 * Writes streams without a pause, but one event of each stream in one turn of the event loop. A
 * provider's events come one by one, and events that are written together would be read together.
 */
export class FastStreams {
  readonly #streams = new Set<FastStream>();
  #isRunning = false;

  begin(socket: Socket, answer: FixedAnswer): void {
    socket.write(answer.streamHead);
    this.#streams.add({ socket, answer, next: 0 });
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    for (const stream of this.#streams) this.#writeNext(stream);
    this.#isRunning = this.#streams.size > 0;
    if (this.#isRunning) setImmediate(this.#turn);
  };

  #writeNext(stream: FastStream): void {
    const { socket, answer } = stream;
    const event = socket.destroyed ? undefined : answer.events[stream.next++];
    if (event === undefined) this.#streams.delete(stream);
    socket.write(event ?? answer.streamEnd);
  }
}

interface FastStream {
  readonly socket: Socket;
  readonly answer: FixedAnswer;
  next: number;
}

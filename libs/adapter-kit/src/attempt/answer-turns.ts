import { yieldToEventLoop } from '@gateway/time';
import type { AnswerReader } from '../format-definition.ts';

type Reader = Pick<AnswerReader, 'push'>;

/** Passes an answer to its reader in small pieces, and yields to the event loop between them. */
export class AnswerTurns {
  #bytesInTurn = 0;

  /** Undefined if all has been passed on in this turn, as most of what is read at once is. */
  push(answer: Reader, chunks: readonly Uint8Array[]): Promise<void> | undefined {
    const bytes = chunks.reduce((sum, { length }) => sum + length, this.#bytesInTurn);
    if (bytes > bytesPerTurn) return this.#pushInTurns(answer, chunks);
    this.#bytesInTurn = bytes;
    for (const chunk of chunks) answer.push(chunk);
    return undefined;
  }

  async #pushInTurns(answer: Reader, chunks: readonly Uint8Array[]): Promise<void> {
    for (const chunk of chunks) {
      for (let at = 0; at < chunk.length; at += bytesPerTurn) {
        if (this.#bytesInTurn >= bytesPerTurn) {
          this.#bytesInTurn = 0;
          await yieldToEventLoop();
        }
        const piece = chunk.subarray(at, at + bytesPerTurn);
        this.#bytesInTurn += piece.length;
        answer.push(piece);
      }
    }
  }
}

/** May be thousands of events, which take some milliseconds. */
const bytesPerTurn = 8 * 1024;

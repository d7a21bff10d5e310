import { yieldToEventLoop } from '@gateway/time';
import type { AnswerReader } from '../format-definition.ts';

/** Passes an answer to its reader in small pieces, and yields to the event loop between them. */
export class AnswerTurns {
  #bytesInTurn = 0;

  async push(answer: Pick<AnswerReader, 'push'>, chunk: Uint8Array): Promise<void> {
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

/** May be thousands of events, which take some milliseconds. */
const bytesPerTurn = 8 * 1024;

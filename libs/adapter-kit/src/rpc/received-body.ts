import { setImmediate as nextTurn } from 'node:timers/promises';

/** A request's body as it came. */
export class ReceivedBody {
  readonly pieces: readonly Uint8Array[];
  readonly size: number;

  constructor(pieces: readonly Uint8Array[], size: number) {
    this.pieces = pieces;
    this.size = size;
  }

  /**
   * The pieces as one. In process they are views that follow each other in one buffer: then nothing is copied. Many are
   * copied in turns of the event loop.
   */
  whole(): Uint8Array | Promise<Uint8Array> {
    const view = this.#asView();
    if (view !== undefined) return view;
    return this.size <= bytesPerTurn ? Buffer.concat(this.pieces) : this.#copied();
  }

  #asView(): Uint8Array | undefined {
    const [first] = this.pieces;
    if (first === undefined) return new Uint8Array();
    let end = first.byteOffset;
    for (const piece of this.pieces) {
      if (piece.buffer !== first.buffer || piece.byteOffset !== end) return undefined;
      end += piece.length;
    }
    return new Uint8Array(first.buffer, first.byteOffset, end - first.byteOffset);
  }

  async #copied(): Promise<Uint8Array> {
    const copy = Buffer.allocUnsafeSlow(this.size);
    let at = 0;
    for (const piece of this.pieces) {
      copy.set(piece, at);
      at += piece.length;
      if (at % bytesPerTurn < piece.length) await nextTurn();
    }
    return copy;
  }
}

const bytesPerTurn = 512 * 1024;

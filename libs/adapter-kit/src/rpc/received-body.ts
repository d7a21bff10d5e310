import { BulkTurns } from '@gateway/time';
import { slicesOf } from '../slices.ts';

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
    return this.size <= mostCopiedAtOnce ? Buffer.concat(this.pieces) : this.#copied();
  }

  #asView(): Uint8Array | undefined {
    const [first] = this.pieces;
    if (first === undefined) return new Uint8Array();
    if (this.pieces.length === 1) return first;
    let end = first.byteOffset;
    for (const piece of this.pieces) {
      if (piece.buffer !== first.buffer || piece.byteOffset !== end) return undefined;
      end += piece.length;
    }
    return new Uint8Array(first.buffer, first.byteOffset, end - first.byteOffset);
  }

  async #copied(): Promise<Uint8Array> {
    const copy = Buffer.allocUnsafeSlow(this.size);
    const turns = new BulkTurns();
    let at = 0;
    for (const slice of slicesOf(this.pieces)) {
      copy.set(slice, at);
      at += slice.length;
      const turn = turns.spend(slice.length);
      if (turn !== undefined) await turn;
    }
    return copy;
  }
}

const mostCopiedAtOnce = 512 * 1024;

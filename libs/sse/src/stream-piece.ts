/** Some bytes of a stream, also as a text with one character per byte: looking for something is cheaper there. */
export class StreamPiece {
  readonly bytes: Buffer;
  readonly text: string;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.text = bytes.toString('latin1');
  }
}

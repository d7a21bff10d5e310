import { ConnectionError, errorCode } from './protocol.ts';

/** What the peer may still send. It counts as taken as soon as it comes, and is given back in large steps. */
export class InboundWindow {
  readonly #size: number;
  readonly #giveBack: (bytes: number) => void;
  #left: number;

  constructor(size: number, giveBack: (bytes: number) => void) {
    this.#size = size;
    this.#giveBack = giveBack;
    this.#left = size;
  }

  onReceived(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new ConnectionError(errorCode.flowControlError, 'more came than the window allows');
    if (this.#left > this.#size / 2) return;
    this.#giveBack(this.#size - this.#left);
    this.#left = this.#size;
  }
}

import { ChangeSignal } from '../catalog/change-signal.ts';

/** `check`: the file may have changed. `reload`: read it whether it has or not. */
export type ReloadRequest = 'check' | 'reload';

/** What was asked for while nobody was free to do it: however often it was, it is done once. */
export class ReloadRequests {
  readonly #added = new ChangeSignal();
  #waiting: ReloadRequest | undefined;

  add(request: ReloadRequest): void {
    if (this.#waiting !== 'reload') this.#waiting = request;
    this.#added.notify();
  }

  async *until(signal: AbortSignal): AsyncGenerator<ReloadRequest> {
    while (!signal.aborted) {
      const request = this.#waiting;
      this.#waiting = undefined;
      if (request === undefined) await this.#added.next(signal);
      else yield request;
    }
  }
}

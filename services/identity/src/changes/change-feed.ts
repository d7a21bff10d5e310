import type { Logger } from '@gateway/telemetry';
import { sleep } from '@gateway/time';
import type { TokenChanges, TokenStore } from '../store/token-store.ts';

/** The part of the token store that the feed uses. */
export type ChangeSource = Pick<TokenStore, 'lastSequence' | 'changesAfter'>;

/**
 * Sends watchers the ids of tokens that changed, whichever replica changed them. It polls the
 * database every `pollMs`, and at once after a change by its own process. A slow watcher gets
 * everything later, in one batch.
 */
export class ChangeFeed {
  readonly #source: ChangeSource;
  readonly #logger: Logger;
  readonly #pollMs: number;
  #announcement = new AbortController();

  constructor(source: ChangeSource, logger: Logger, pollMs = 1_000) {
    this.#source = source;
    this.#logger = logger;
    this.#pollMs = pollMs;
  }

  /** Called when this process has changed a token: polls the database at once. */
  announce(): void {
    this.#announcement.abort();
    this.#announcement = new AbortController();
  }

  /**
   * Batches of changed ids, until the signal is aborted. The first one is empty: every change after
   * it is delivered.
   */
  async *watch(signal: AbortSignal): AsyncGenerator<readonly string[]> {
    let sequence = await this.#source.lastSequence();
    yield [];
    while (!signal.aborted) {
      // Read before the poll, so that an announcement during the poll triggers another one.
      const wake = AbortSignal.any([signal, this.#announcement.signal]);
      const { tokenIds, lastSequence } = await this.#changesAfter(sequence);
      sequence = lastSequence;
      if (tokenIds.length > 0) yield tokenIds;
      await sleep(this.#pollMs, { signal: wake }).catch(() => undefined);
    }
  }

  async #changesAfter(sequence: number): Promise<TokenChanges> {
    try {
      return await this.#source.changesAfter(sequence);
    } catch (thrown) {
      // The next successful poll finds the changes.
      this.#logger.warn({ err: thrown }, 'could not read changed tokens; retrying');
      return { tokenIds: [], lastSequence: sequence };
    }
  }
}

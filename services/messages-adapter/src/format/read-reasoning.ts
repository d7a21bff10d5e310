import { Reasoning } from '@gateway/adapter-kit';
import { asArray, asObject, asString, type JsonObject } from '@gateway/json';

/** The thinking of a message, by the events of its blocks. */
export class ThinkingBlocks extends Reasoning {
  /** The blocks of thinking that have begun and not ended, by their index. */
  readonly #openAt = new Set<unknown>();
  #isShown = false;

  /** Takes an event of any type: other blocks than thinking say nothing of it. */
  read(json: JsonObject, type: string): void {
    switch (type) {
      case 'message_start':
        return this.readWhole(asArray(asObject(json.message)?.content));
      case 'content_block_start':
        return this.#onBlock(json.index, asObject(json.content_block) ?? {});
      case 'content_block_delta': {
        const { thinking, signature } = asObject(json.delta) ?? {};
        return this.#take(thinking, signature);
      }
      case 'content_block_stop':
        return this.#stop(json.index);
    }
  }

  /** Takes blocks that came whole. */
  readWhole(blocks: readonly unknown[]): void {
    for (const [index, block] of blocks.entries()) {
      this.#onBlock(index, asObject(block) ?? {});
      this.#stop(index);
    }
  }

  /** A block that has no end of its own ends with the next one at its index. */
  #onBlock(index: unknown, { type, thinking, signature, data }: JsonObject): void {
    this.#stop(index);
    if (!silentBlocks.has(asString(type) ?? '')) return;
    this.#openAt.add(index);
    this.#isShown = false;
    this.begin();
    // Redacted thinking has nothing but its encrypted form, as `data`.
    this.#take(thinking, asString(data) ?? signature);
  }

  /**
   * The signature is the encrypted form. It counts where nothing else of a block is shown: it has a
   * length of its own besides.
   */
  #take(thinking: unknown, encrypted: unknown): void {
    this.#isShown ||= (asString(thinking) ?? '') !== '';
    this.shown(thinking);
    if (!this.#isShown) this.encrypted(encrypted);
  }

  #stop(index: unknown): void {
    if (this.#openAt.delete(index)) this.end();
  }
}

/** Blocks that a model makes in silence, but for pings. */
const silentBlocks: ReadonlySet<string> = new Set(['thinking', 'redacted_thinking', 'compaction']);

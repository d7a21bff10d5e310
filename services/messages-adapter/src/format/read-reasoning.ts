import { Reasoning } from '@gateway/adapter-kit';
import { asArray, asObject, asString, type JsonObject } from '@gateway/json';

/** The thinking in a message, from the events of its blocks. */
export class ThinkingBlocks extends Reasoning {
  /** Thinking blocks in progress, by index. */
  readonly #openAt = new Set<unknown>();
  #isShown = false;

  /** Takes an event of any type: only thinking blocks have an effect. */
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

  /** Takes blocks that arrived whole. */
  readWhole(blocks: readonly unknown[]): void {
    for (const [index, block] of blocks.entries()) {
      this.#onBlock(index, asObject(block) ?? {});
      this.#stop(index);
    }
  }

  /** A block without an end of its own ends with the next one at its index. */
  #onBlock(index: unknown, { type, thinking, signature, data }: JsonObject): void {
    this.#stop(index);
    if (!silentBlocks.has(asString(type) ?? '')) return;
    this.#openAt.add(index);
    this.#isShown = false;
    this.begin();
    // Redacted thinking consists only of its encrypted form, in `data`.
    this.#take(thinking, asString(data) ?? signature);
  }

  /**
   * The signature is the encrypted form. It counts only if nothing else of a block is visible,
   * because it also has a fixed overhead.
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

/** Blocks that a model produces silently, except for pings. */
const silentBlocks: ReadonlySet<string> = new Set(['thinking', 'redacted_thinking', 'compaction']);

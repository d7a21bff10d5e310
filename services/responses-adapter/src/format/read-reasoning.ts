import { Reasoning } from '@gateway/adapter-kit';
import { asArray, asObject, asString, type JsonObject } from '@gateway/json';

/** The reasoning in a response, from the events of its items. */
export class ReasoningItems extends Reasoning {
  #hasDeltas = false;

  /** Takes an event of any type: only reasoning items have an effect. */
  read(json: JsonObject, type: string): void {
    switch (type) {
      case 'response.output_item.added':
        if (isReasoning(json.item)) this.begin();
        return;
      case 'response.output_item.done':
        if (isReasoning(json.item)) this.#onDone(json.item);
        return;
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        this.#hasDeltas = true;
        return this.shown(json.delta);
    }
  }

  /** Some backends send no deltas. */
  #onDone({ summary, content, encrypted_content: encrypted }: JsonObject): void {
    const parts = this.#hasDeltas ? [] : [...asArray(summary), ...asArray(content)];
    for (const part of parts) this.shown(asObject(part)?.text);
    this.#hasDeltas = false;
    this.encrypted(encrypted);
    this.end();
  }
}

/**
 * Items that a model produces silently: encrypted reasoning, and the summary that replaces a long
 * conversation.
 */
function isReasoning(value: unknown): value is JsonObject {
  const type = asString(asObject(value)?.type);
  return type === 'reasoning' || type === 'compaction';
}

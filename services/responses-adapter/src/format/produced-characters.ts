import { asArray, asObject, asString, type JsonObject } from '@gateway/json';

/** Counts the characters of a response by its deltas; by its finished items on backends that send no deltas. */
export class ProducedCharacters {
  total = 0;
  #itemHadDeltas = false;

  add(event: JsonObject, type: string): void {
    if (type.endsWith('.delta')) {
      this.#itemHadDeltas = true;
      this.total += lengthOf(event.delta);
    } else if (type === 'response.output_item.done') {
      if (!this.#itemHadDeltas) this.total += producedByItem(asObject(event.item) ?? {});
      this.#itemHadDeltas = false;
    }
  }
}

function producedByItem(item: JsonObject): number {
  const parts = [...asArray(item.summary), ...asArray(item.content)].map((part) => asObject(part) ?? {});
  const inParts = parts.reduce<number>((sum, { text, refusal }) => sum + lengthOf(text) + lengthOf(refusal), 0);
  return inParts + lengthOf(item.arguments) + lengthOf(item.input);
}

function lengthOf(text: unknown): number {
  return asString(text)?.length ?? 0;
}

import { countCharacters } from './count-characters.ts';
import type { RawEvent } from './raw-event.ts';

/** Counts what a response says, by its deltas; by its finished items on backends that send none. */
export class ProducedCharacters {
  total = 0;
  #itemHadDeltas = false;

  add(event: RawEvent, type: string): void {
    if (type.endsWith('.delta')) {
      this.#itemHadDeltas = true;
      this.total += countCharacters(event.data, deltaKey);
    } else if (type === 'response.output_item.done') {
      if (!this.#itemHadDeltas) for (const key of itemKeys) this.total += countCharacters(event.data, key);
      this.#itemHadDeltas = false;
    }
  }
}

const deltaKey = Buffer.from('"delta"');
/** Where items of the known types hold what the model wrote. */
const itemKeys = ['"text"', '"refusal"', '"arguments"', '"input"'].map((key) => Buffer.from(key));

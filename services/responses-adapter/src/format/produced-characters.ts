import { countCharacters } from './count-characters.ts';
import type { RawEvent } from './raw-event.ts';

/** Counts what a response says, by its deltas; by its finished items on backends that send none. */
export class ProducedCharacters {
  total = 0;
  #itemHadDeltas = false;

  add(event: RawEvent, type: string): void {
    if (type.endsWith('.delta')) this.addDelta(countCharacters(event.data.toString('latin1'), deltaKey));
    else if (type === 'response.output_item.done') this.#addItem(event.data);
  }

  addDelta(characters: number): void {
    this.#itemHadDeltas = true;
    this.total += characters;
  }

  #addItem(data: Buffer): void {
    if (!this.#itemHadDeltas) {
      const json = data.toString('latin1');
      for (const key of itemKeys) this.total += countCharacters(json, key);
    }
    this.#itemHadDeltas = false;
  }
}

export const deltaKey = '"delta"';
/** Where items of the known types hold what the model wrote. */
const itemKeys = ['"text"', '"refusal"', '"arguments"', '"input"'];

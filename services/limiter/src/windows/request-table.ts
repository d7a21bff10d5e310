import { hashOf, type ReadId, readId, uuidOf, wordsOfId } from './request-id.ts';

/**
 * A number for each of many requests, in the order in which they were set: what a Map does, in a fraction of its memory and
 * with nothing in it that a garbage collector has to look at. A busy limiter keeps hundreds of thousands of requests for a
 * minute or two.
 *
 * Entries are appended to a row. A table that is never more than half full tells their positions by hash. What was deleted
 * keeps its place in both until the row is full: then those that are left move up, or get a new row.
 */
export class RequestTable {
  #numbers = new Float64Array(leastRoom);
  /** Of each entry its id, and its owner. */
  #words = new Uint32Array(leastRoom * wordsOfEntry);
  /** The ids that are no UUIDs, by the positions of their entries. */
  readonly #texts = new Map<number, string>();
  /** One more than the position of an entry; 0 where there is none. */
  #places = new Uint32Array(leastRoom * placesOfEntry);
  /** Position of the oldest entry: all before it were deleted. */
  #first = 0;
  /** Position of the next entry. */
  #end = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Requests of different owners may have the same id. Owners are numbers from 0 to 4 294 967 294. */
  get(requestId: string, owner = 0): number | undefined {
    const position = this.#find(readId(requestId), owner);
    return position === nowhere ? undefined : this.#numbers[position];
  }

  has(requestId: string, owner = 0): boolean {
    return this.#find(readId(requestId), owner) !== nowhere;
  }

  /** Puts a request behind all others, also one that was among them. */
  set(requestId: string, number: number, owner = 0): void {
    this.delete(requestId, owner);
    this.add(requestId, number, owner);
  }

  /** As `set`, of a request that is known not to be among them: it need not be looked for. */
  add(requestId: string, number: number, owner = 0): void {
    const id = readId(requestId);
    if (this.#end === this.#numbers.length) this.#makeRoom();
    const start = this.#end * wordsOfEntry;
    for (let word = 0; word < wordsOfId; word++) this.#words[start + word] = id.words[word] ?? 0;
    this.#words[start + wordsOfId] = owner;
    this.#numbers[this.#end] = number;
    if (id.text !== undefined) this.#texts.set(this.#end, id.text);
    this.#placeLast(id.hash, owner);
  }

  /** Answers the request's number; undefined when there is no such request. */
  delete(requestId: string, owner = 0): number | undefined {
    const position = this.#find(readId(requestId), owner);
    if (position === nowhere) return undefined;
    const number = this.#numbers[position];
    this.#deleteAt(position);
    return number;
  }

  deleteOldest(): void {
    if (this.#size > 0) this.#deleteAt(this.#first);
  }

  clear(): void {
    while (this.#size > 0) this.deleteOldest();
  }

  /** The number of the entry before which so many others were set; undefined when there are no more than those. */
  at(index: number): number | undefined {
    if (index >= this.#size) return undefined;
    if (this.#size < this.#end - this.#first) this.#makeRoom();
    return this.#numbers[this.#first + index];
  }

  /** Requests with their numbers, the oldest first. */
  *[Symbol.iterator](): Generator<readonly [string, number]> {
    for (let position = this.#first; position < this.#end; position++) {
      if (this.#ownerAt(position) === nobody) continue;
      yield [this.#texts.get(position) ?? uuidOf(this.#words, position * wordsOfEntry), this.#numbers[position] ?? 0];
    }
  }

  #find({ words, text, hash }: ReadId, owner: number): number {
    for (let place = this.#placeOf(hash, owner); ; place = this.#placeAfter(place)) {
      const position = (this.#places[place] ?? 0) - 1;
      if (position === nowhere) return nowhere;
      if (this.#isAt(position, words, owner) && this.#texts.get(position) === text) return position;
    }
  }

  #isAt(position: number, words: Uint32Array, owner: number): boolean {
    const start = position * wordsOfEntry;
    // The last word first: in UUIDs of a time it differs most.
    for (let word = wordsOfId - 1; word >= 0; word--) if (this.#words[start + word] !== words[word]) return false;
    return this.#words[start + wordsOfId] === owner;
  }

  #ownerAt(position: number): number {
    return this.#words[position * wordsOfEntry + wordsOfId] ?? nobody;
  }

  #deleteAt(position: number): void {
    this.#words[position * wordsOfEntry + wordsOfId] = nobody;
    if (this.#texts.size > 0) this.#texts.delete(position);
    this.#size -= 1;
    if (this.#size === 0) return this.#begin(leastRoom);
    while (this.#ownerAt(this.#first) === nobody) this.#first += 1;
  }

  /** Moves what is left to the beginning of the row, or of one that has room for as many more. */
  #makeRoom(): void {
    const [numbers, words, first, end] = [this.#numbers, this.#words, this.#first, this.#end];
    let room = leastRoom;
    while (room < 2 * this.#size) room *= 2;
    this.#begin(room);
    for (let position = first; position < end; position++) {
      const owner = words[position * wordsOfEntry + wordsOfId] ?? nobody;
      if (owner === nobody) continue;
      const start = this.#end * wordsOfEntry;
      for (let word = 0; word < wordsOfEntry; word++)
        this.#words[start + word] = words[position * wordsOfEntry + word] ?? 0;
      this.#numbers[this.#end] = numbers[position] ?? 0;
      this.#moveText(position, this.#end);
      this.#placeLast(hashOf(this.#words, start), owner);
    }
  }

  #moveText(from: number, to: number): void {
    const text = from === to ? undefined : this.#texts.get(from);
    if (text === undefined) return;
    this.#texts.delete(from);
    this.#texts.set(to, text);
  }

  /** Begins with no entries; the row stays when it is as long as it is to be. */
  #begin(room: number): void {
    if (room === this.#numbers.length) {
      this.#places.fill(0);
    } else {
      this.#numbers = new Float64Array(room);
      this.#words = new Uint32Array(room * wordsOfEntry);
      this.#places = new Uint32Array(room * placesOfEntry);
    }
    this.#first = 0;
    this.#end = 0;
    this.#size = 0;
  }

  /** Makes the entry that was written to the end of the row one that is found. */
  #placeLast(hash: number, owner: number): void {
    let place = this.#placeOf(hash, owner);
    while (this.#places[place] !== 0) place = this.#placeAfter(place);
    this.#end += 1;
    this.#places[place] = this.#end;
    this.#size += 1;
  }

  #placeOf(hash: number, owner: number): number {
    // Of a product the upper bits are the mixed ones.
    return (hash + Math.imul(owner, ownerFactor)) >>> (Math.clz32(this.#places.length) + 1);
  }

  #placeAfter(place: number): number {
    return (place + 1) & (this.#places.length - 1);
  }
}

const nowhere = -1;
/** The owner of what was deleted. */
const nobody = 2 ** 32 - 1;
const ownerFactor = 0x9e3779b1;
const wordsOfEntry = wordsOfId + 1;
const placesOfEntry = 2;
/** A power of two, as every room is. */
const leastRoom = 4;

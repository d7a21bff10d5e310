/**
 * Counters that are advanced inside the transaction they number. The row's lock makes commits visible in the order of
 * their numbers, so that a reader who asks for "greater than the last I saw" misses nothing.
 */
export interface SequencesTable {
  readonly name: string;
  readonly last_value: number;
}

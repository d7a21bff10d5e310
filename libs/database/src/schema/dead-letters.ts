/** What could not be understood, kept for a person to look at. */
export interface DeadLettersTable {
  /** SHA-256 of the payload in hex: the same letter arriving again is the same row. */
  readonly dead_letter_id: string;
  readonly received_at_ms: number;
  readonly reason: string;
  /** Base64 of the bytes as they came. */
  readonly payload: string;
}

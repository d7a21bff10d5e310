/**
 * Digests of texts that come again and again: each is worked out once for as long as it is among the latest. Two generations,
 * of which the older goes when the younger is full.
 */
export class RecentDigests {
  readonly #digest: (text: string) => string;
  readonly #perGeneration: number;
  #young = new Map<string, string>();
  #old = new Map<string, string>();

  constructor(digest: (text: string) => string, perGeneration = 5_000) {
    this.#digest = digest;
    this.#perGeneration = perGeneration;
  }

  of(text: string): string {
    const known = this.#young.get(text);
    if (known !== undefined) return known;
    const digest = this.#old.get(text) ?? this.#digest(text);
    if (this.#young.size >= this.#perGeneration) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(text, digest);
    return digest;
  }
}

/**
 * A walk of several steps through the product: what each step took, and every text that the walker
 * could read on the way.
 */
export class RecordedWalk {
  readonly #steps: { readonly name: string; readonly ms: number }[] = [];
  readonly #texts: { readonly where: string; readonly text: string }[] = [];

  async step<T>(name: string, take: () => Promise<T>): Promise<T> {
    const startedAtMs = performance.now();
    const result = await take();
    this.#steps.push({ name, ms: performance.now() - startedAtMs });
    return result;
  }

  /** Remembers a text that was read, and returns it. */
  read(where: string, text: string): string {
    this.#texts.push({ where, text });
    return text;
  }

  /** Where any of these texts was read. */
  placesOf(texts: readonly string[]): readonly string[] {
    return this.#texts.filter(({ text }) => texts.some((each) => text.includes(each))).map(({ where }) => where);
  }

  /** A line for each step, and one for all of them. */
  table(): string {
    const totalMs = this.#steps.reduce((sum, { ms }) => sum + ms, 0);
    return [...this.#steps, { name: 'all steps', ms: totalMs }]
      .map(({ name, ms }) => `${(ms / 1_000).toFixed(1).padStart(6)} s  ${name}\n`)
      .join('');
  }
}

import { pathText } from '@gateway/config';
import { type Findings, isMap, type Path } from './findings.ts';

/**
 * A value of a LiteLLM file with its place in it. Each value is read once: it is taken, left or
 * noted, and `findings` keeps which.
 */
export class InputValue {
  readonly value: unknown;
  readonly path: Path;
  readonly #findings: Findings;

  constructor(value: unknown, findings: Findings, path: Path = []) {
    this.value = value;
    this.path = path;
    this.#findings = findings;
  }

  /** A member of a map. Absent if this is no map, or has no such member. */
  at(...keys: readonly string[]): InputValue {
    return keys.reduce<InputValue>((from, key) => {
      const found = isMap(from.value) && Object.hasOwn(from.value, key) ? from.value[key] : undefined;
      return new InputValue(found, this.#findings, [...from.path, key]);
    }, this);
  }

  /** The items of a list. */
  items(): readonly InputValue[] {
    if (!Array.isArray(this.value)) return [];
    return this.value.map((item, index) => new InputValue(item, this.#findings, [...this.path, index]));
  }

  /** The members of a map by their keys. */
  members(): readonly (readonly [key: string, member: InputValue])[] {
    return isMap(this.value) ? Object.keys(this.value).map((key) => [key, this.at(key)]) : [];
  }

  /** The path as text. */
  get place(): string {
    return pathText(this.path);
  }

  get isGiven(): boolean {
    return this.value !== undefined && this.value !== null;
  }

  /** A text that is not empty. Python reads numbers for texts such as model names. */
  get text(): string | undefined {
    const text = typeof this.value === 'number' ? String(this.value) : this.value;
    return typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined;
  }

  get number(): number | undefined {
    const number = typeof this.value === 'string' && this.value.trim() !== '' ? Number(this.value) : this.value;
    return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
  }

  get texts(): readonly string[] {
    return this.items().flatMap(({ text }) => text ?? []);
  }

  /** The value with all its members is in the output. */
  take(): void {
    this.#findings.take(this.path);
  }

  /** The value is not in the output. */
  leave(reason: string): void {
    this.#findings.leave(this.path, reason);
  }

  /** The value is in the output, and a person should know something about it. */
  note(text: string): void {
    this.#findings.note(this.path, text);
  }
}

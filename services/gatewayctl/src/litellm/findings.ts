import { pathText } from '@gateway/config';
import { hasReasonsInside, reasonOf } from './reasons.ts';

export type Path = readonly (string | number)[];

export interface Finding {
  /** The path in the input, such as `model_list[3].litellm_params.api_key`. */
  readonly place: string;
  /** A sentence that repeats no value of the input except names of models. */
  readonly text: string;
}

/** Collects which values of the input are taken, which are left, and why. */
export class Findings {
  readonly #taken = new Set<string>();
  readonly #left = new Map<string, readonly string[]>();
  readonly #notes = new Map<string, readonly string[]>();
  /** The places above which, or at which, something is known. */
  readonly #known = new Set<string>();

  take(path: Path): void {
    this.#taken.add(this.#know(path));
  }

  leave(path: Path, reason: string): void {
    append(this.#left, this.#know(path), reason);
  }

  note(path: Path, text: string): void {
    append(this.#notes, this.#know(path), text);
  }

  /**
   * All findings in the order of the input. A value that is neither taken nor left counts as left,
   * so that no part of the input is lost silently.
   */
  of(input: unknown): { readonly left: readonly Finding[]; readonly notes: readonly Finding[] } {
    const left: Finding[] = [];
    const notes: Finding[] = [];
    const visit = (value: unknown, path: Path, isAboveDecided: boolean): void => {
      const place = pathText(path);
      const reasons = this.#left.get(place) ?? [];
      left.push(...reasons.map((text) => ({ place, text })));
      notes.push(...(this.#notes.get(place) ?? []).map((text) => ({ place, text })));
      const isDecided = isAboveDecided || reasons.length > 0 || this.#taken.has(place);
      const members = membersOf(value);
      const goesInside = path.length === 0 || this.#known.has(place) || hasReasonsInside(path);
      if (!isDecided && !isEmpty(value) && (!goesInside || members.length === 0)) {
        left.push({ place: place || 'the file', text: reasonOf(path) });
        return;
      }
      for (const [key, member] of members) visit(member, [...path, key], isDecided);
    };
    visit(input, [], false);
    return { left, notes };
  }

  #know(path: Path): string {
    for (let length = 1; length < path.length; length += 1) this.#known.add(pathText(path.slice(0, length)));
    const place = pathText(path);
    this.#known.add(place);
    return place;
  }
}

/** Findings with the same text, in the order of their first places. */
export function findingsByText(findings: readonly Finding[]) {
  const byText = Map.groupBy(findings, ({ text }) => text);
  return [...byText].map(([text, its]) => ({ text, places: its.map(({ place }) => place) }));
}

function append(texts: Map<string, readonly string[]>, place: string, text: string): void {
  const known = texts.get(place) ?? [];
  if (!known.includes(text)) texts.set(place, [...known, text]);
}

function membersOf(value: unknown): readonly (readonly [string | number, unknown])[] {
  if (Array.isArray(value)) return value.map((item, index) => [index, item]);
  return isMap(value) ? Object.entries(value) : [];
}

/** An empty value says nothing that could be lost. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return (Array.isArray(value) || isMap(value)) && membersOf(value).every(([, member]) => isEmpty(member));
}

export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

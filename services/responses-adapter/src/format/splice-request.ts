import type { JsonBody, NamedJsonMember, PiecedBytes } from '@gateway/json';

/**
 * The client's body as the provider gets it: `model` is the given one, `stream` is true, `store` is false, and
 * `max_output_tokens` and `client_metadata` are gone, however often and however escaped they were written. All other
 * bytes are the client's. In pieces, none of which is a copy of the client's.
 * @see spec "POST /v1/responses"
 */
export function spliceRequest({ source, memberList }: JsonBody, model: string): readonly Buffer[] {
  const fixed = new Map([
    ['model', JSON.stringify(model)],
    ['stream', 'true'],
    ['store', 'false'],
  ]);
  const splice = new Splice(source);
  let keptBefore = false;
  memberList.forEach((member, index) => {
    const value = fixed.get(member.key);
    if (removedKeys.has(member.key)) removeMember(splice, memberList, index, keptBefore);
    else if (value !== undefined) splice.replace(member.valueStart, member.valueEnd, value);
    keptBefore ||= !removedKeys.has(member.key);
  });
  const present = new Set(memberList.map((member) => member.key));
  const added = [...fixed].filter(([key]) => !present.has(key)).map(([key, value]) => `"${key}":${value}`);
  const end = memberList.at(-1)?.valueEnd ?? source.indexOf(openBrace, 0) + 1;
  if (added.length > 0) splice.replace(end, end, (keptBefore ? ',' : '') + added.join(','));
  return splice.result();
}

const openBrace = 0x7b;

const removedKeys: ReadonlySet<string> = new Set(['max_output_tokens', 'client_metadata']);

/** Takes a member out with one comma: the one before it, or the one after it when nothing is left before it. */
function removeMember(splice: Splice, members: readonly NamedJsonMember[], index: number, keptBefore: boolean): void {
  const member = members[index];
  if (member === undefined) return;
  const { keyStart, valueEnd } = member;
  if (keptBefore) splice.replace(members[index - 1]?.valueEnd ?? keyStart, valueEnd, '');
  else splice.replace(keyStart, members[index + 1]?.keyStart ?? valueEnd, '');
}

/** Bytes with some ranges replaced. Ranges are given in order and don't overlap. */
class Splice {
  readonly #source: PiecedBytes;
  readonly #pieces: Buffer[] = [];
  #copied = 0;

  constructor(source: PiecedBytes) {
    this.#source = source;
  }

  replace(start: number, end: number, text: string): void {
    this.#pieces.push(...this.#source.views(this.#copied, start), Buffer.from(text));
    this.#copied = end;
  }

  result(): readonly Buffer[] {
    return [...this.#pieces, ...this.#source.views(this.#copied, this.#source.length)];
  }
}

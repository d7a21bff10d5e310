import { GatewayError } from '@gateway/errors';
import { type JsonMember, JsonSkimmer } from './json-skimmer.ts';
import { PiecedBytes } from './pieced-bytes.ts';

/** A member of the top-level object by its key, as JSON.parse would give it, and where it stands. */
export interface NamedJsonMember extends JsonMember {
  readonly key: string;
}

/** What a skimmer has found of a text. */
export interface SkimmedJson {
  readonly topLevelIsObject: boolean;
  readonly members: readonly JsonMember[];
  /** See `JsonSkimmer`; absent when no key was noted. */
  readonly notedKeyEnds?: readonly number[];
}

/**
 * A JSON object with its top-level members found: by `members`, when somebody who skimmed the same bytes passes them on,
 * else by looking. Throws `invalid_json`, or `invalid_request` when the value is no object.
 */
export function readJsonBody(body: Uint8Array | PiecedBytes, members: readonly JsonMember[] = []): JsonBody {
  const bytes = body instanceof PiecedBytes ? body : new PiecedBytes([body]);
  return new JsonBody(bytes, members.length > 0 ? { topLevelIsObject: true, members } : skim(bytes));
}

function skim({ pieces }: PiecedBytes): SkimmedJson {
  const skimmer = new JsonSkimmer();
  for (const piece of pieces) skimmer.push(piece);
  skimmer.end();
  return skimmer;
}

/** A JSON object as bytes, known to be well-formed, with its top-level members found but not parsed. */
export class JsonBody {
  readonly source: PiecedBytes;
  /** Where the top-level members stand, in the order of the text; a repeated key as often as it was written. */
  readonly members: readonly JsonMember[];
  /** Where the key ends that whoever read the text asked for, at any depth. */
  readonly notedKeyEnds: readonly number[];
  #memberList: readonly NamedJsonMember[] | undefined;

  /** Throws `invalid_request` when the value is not an object. */
  constructor(source: PiecedBytes, skimmed: SkimmedJson) {
    if (!skimmed.topLevelIsObject) throw new GatewayError('invalid_request', 'The body must be a JSON object.');
    this.source = source;
    this.members = skimmed.members;
    this.notedKeyEnds = skimmed.notedKeyEnds ?? [];
  }

  /** All of the text; a copy when it came in pieces. */
  get bytes(): Buffer {
    return this.source.whole();
  }

  /** The members with their keys, for who needs them all. */
  get memberList(): readonly NamedJsonMember[] {
    this.#memberList ??= this.members.map(({ keyStart, keyEnd, valueStart, valueEnd }) => ({
      key: keyOf(this.source.text(keyStart, keyEnd)),
      keyStart,
      keyEnd,
      valueStart,
      valueEnd,
    }));
    return this.#memberList;
  }

  /** Where a top-level member stands. The key is of ASCII characters. */
  member(key: string): JsonMember | undefined {
    // Of a repeated key the last one counts, as in JSON.parse. Bodies have a handful: a table would cost more than it saves.
    for (let index = this.members.length - 1; index >= 0; index -= 1) {
      const member = this.members[index];
      if (member !== undefined && this.#hasKey(member, key)) return member;
    }
    return undefined;
  }

  /** A top-level value, parsed. Undefined when absent. For small values only. */
  value(key: string): unknown {
    const member = this.member(key);
    return member === undefined ? undefined : JSON.parse(this.source.text(member.valueStart, member.valueEnd));
  }

  /** Compares bytes: a text is made only of a key that is written with escapes, which has more bytes than characters. */
  #hasKey({ keyStart, keyEnd }: JsonMember, key: string): boolean {
    const writtenBytes = keyEnd - keyStart - 2;
    if (writtenBytes === key.length) return standsIn(this.source, keyStart + 1, key);
    if (writtenBytes < key.length || writtenBytes > longestEscape * key.length) return false;
    return hasEscape(this.source, keyStart, keyEnd) && keyOf(this.source.text(keyStart, keyEnd)) === key;
  }
}

/** Whether a text of ASCII characters stands there. */
function standsIn(bytes: PiecedBytes, start: number, text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (bytes.at(start + at) !== text.charCodeAt(at)) return false;
  return true;
}

/** Bytes of the longest way to write an ASCII character: `\u0061`. */
const longestEscape = 6;

function hasEscape(bytes: PiecedBytes, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (bytes.at(at) === backslash) return true;
  return false;
}

function keyOf(quoted: string): string {
  return quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
}

const backslash = 0x5c;

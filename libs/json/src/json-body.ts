import { GatewayError } from '@gateway/errors';
import { PiecedBytes } from './buffer-list.ts';
import { type JsonMember, JsonSkimmer } from './json-scanner.ts';

/** A member of the top-level object with its key, as JSON.parse would give it. */
export interface NamedJsonMember extends JsonMember {
  readonly key: string;
}

/** What a scan has found in a text. */
export interface SkimmedJson {
  readonly topLevelIsObject: boolean;
  readonly members: readonly JsonMember[];
  /** See `JsonSkimmer`; absent when no key was tracked. */
  readonly notedKeyEnds?: readonly number[];
}

/**
 * A JSON object with its top-level members: the given ones, which an earlier scan of the same bytes has found, else by a scan.
 * Throws `invalid_json`, or `invalid_request` when the value is no object.
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

/** A JSON object as bytes, known to be well-formed, whose top-level members are found but not parsed. */
export class JsonBody {
  readonly source: PiecedBytes;
  /** The top-level members in the order of the text; a repeated key as often as it was written. */
  readonly members: readonly JsonMember[];
  /** The offsets at which the tracked key ends, at any depth. */
  readonly notedKeyEnds: readonly number[];
  #memberList: readonly NamedJsonMember[] | undefined;

  /** Throws `invalid_request` when the value is not an object. */
  constructor(source: PiecedBytes, { topLevelIsObject, members, notedKeyEnds = [] }: SkimmedJson) {
    if (!topLevelIsObject) throw new GatewayError('invalid_request', 'The body must be a JSON object.');
    this.source = source;
    this.members = members;
    this.notedKeyEnds = notedKeyEnds;
  }

  /** All of the text; a copy when it came in several chunks. */
  get bytes(): Buffer {
    return this.source.whole();
  }

  /** The members with their keys. */
  get memberList(): readonly NamedJsonMember[] {
    this.#memberList ??= this.members.map(({ keyStart, keyEnd, valueStart, valueEnd }) => {
      const key = String(JSON.parse(this.source.text(keyStart, keyEnd)));
      return { key, keyStart, keyEnd, valueStart, valueEnd };
    });
    return this.#memberList;
  }

  /** A top-level member; of a repeated key the last one, as in JSON.parse. */
  member(key: string): NamedJsonMember | undefined {
    return this.memberList.findLast((member) => member.key === key);
  }

  /** A top-level value, parsed. Undefined when absent. For small values only. */
  value(key: string): unknown {
    const member = this.member(key);
    return member === undefined ? undefined : JSON.parse(this.source.text(member.valueStart, member.valueEnd));
  }
}

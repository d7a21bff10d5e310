import { GatewayError } from '@gateway/errors';
import { BufferList } from './buffer-list.ts';
import { type JsonMember, JsonScanner, type ScannerOptions } from './json-scanner.ts';

/** A member of the top-level object with its key decoded, as JSON.parse would return it. */
export interface NamedJsonMember extends JsonMember {
  readonly key: string;
}

/** The result of scanning a text. */
export interface ScannedJson {
  readonly topLevelIsObject: boolean;
  readonly members: readonly JsonMember[];
  /** See `JsonScanner`; absent when no key was tracked. */
  readonly trackedKeyEnds?: readonly number[];
}

/**
 * A JSON object with its top-level members: those that an earlier scan of the same bytes found, or
 * else the result of a new scan. Throws `invalid_json`, or `invalid_request` when the value is not
 * an object.
 */
export function readJsonBody(
  body: Uint8Array | BufferList,
  members: readonly JsonMember[] = [],
  options?: ScannerOptions,
): JsonBody {
  const bytes = body instanceof BufferList ? body : new BufferList([body]);
  return new JsonBody(bytes, members.length > 0 ? { topLevelIsObject: true, members } : scan(bytes, options));
}

function scan({ chunks }: BufferList, options?: ScannerOptions): JsonScanner {
  const scanner = new JsonScanner(options);
  for (const chunk of chunks) scanner.push(chunk);
  scanner.end();
  return scanner;
}

/** A well-formed JSON object as bytes. Its top-level members are located but not parsed. */
export class JsonBody {
  readonly source: BufferList;
  /**
   * The top-level members in the order of the text; a repeated key appears as often as it was
   * written.
   */
  readonly members: readonly JsonMember[];
  /** The offsets at which the tracked key ends, at any depth. */
  readonly trackedKeyEnds: readonly number[];
  #namedMembers: readonly NamedJsonMember[] | undefined;

  /** Throws `invalid_request` when the value is not an object. */
  constructor(source: BufferList, { topLevelIsObject, members, trackedKeyEnds = [] }: ScannedJson) {
    if (!topLevelIsObject) throw new GatewayError('invalid_request', 'The body must be a JSON object.');
    this.source = source;
    this.members = members;
    this.trackedKeyEnds = trackedKeyEnds;
  }

  /** The whole text; copies when it arrived in several chunks. */
  get bytes(): Buffer {
    return this.source.whole();
  }

  /** The members with their keys. */
  get namedMembers(): readonly NamedJsonMember[] {
    this.#namedMembers ??= this.members.map(({ keyStart, keyEnd, valueStart, valueEnd }) => {
      const key = textOf(this.source.text(keyStart, keyEnd));
      return { key, keyStart, keyEnd, valueStart, valueEnd };
    });
    return this.#namedMembers;
  }

  /** Finds a top-level member; for a repeated key the last one, as in JSON.parse. */
  member(key: string): NamedJsonMember | undefined {
    return this.namedMembers.findLast((member) => member.key === key);
  }

  /** Parses a top-level value. Undefined when absent. For small values only. */
  value(key: string): unknown {
    const member = this.member(key);
    return member === undefined ? undefined : JSON.parse(this.source.text(member.valueStart, member.valueEnd));
  }
}

/** Decodes a JSON string. */
function textOf(quoted: string): string {
  return quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
}

/**
 * The elements of an array, each as a view of the array's bytes; empty for any other value. Throws
 * `invalid_json`.
 */
export function jsonElements(array: Buffer): readonly Buffer[] {
  const unbounded = Number.POSITIVE_INFINITY;
  const bounds = { maxDepth: unbounded, maxTokens: unbounded, maxMembers: unbounded };
  const { members } = scan(new BufferList([array]), { ...bounds, ofArray: true });
  return members.map(({ valueStart, valueEnd }) => array.subarray(valueStart, valueEnd));
}

import { GatewayError } from '@gateway/errors';
import { EventLoopYield } from '@gateway/time';
import { BufferList } from './buffer-list.ts';
import type { JsonMember } from './json-member.ts';
import { JsonScanner, type ScannerOptions } from './json-scanner.ts';
import type { ByteRange } from './tracked-string.ts';

/** A member of the top-level object with its key decoded, as JSON.parse would return it. */
export interface NamedJsonMember extends JsonMember {
  readonly key: string;
}

/** The result of scanning a text. */
export interface ScannedJson {
  readonly topLevelIsObject: boolean;
  readonly members: readonly JsonMember[];
  /** See `JsonScanner`. */
  readonly trackedString?: ByteRange | undefined;
  /** See `JsonScanner`; absent when it is unknown. */
  readonly tokens?: number;
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
  readonly trackedString: ByteRange | undefined;
  /** The number of values and keys in the text; 0 when it is unknown. */
  readonly tokens: number;
  #namedMembers: readonly NamedJsonMember[] | undefined;

  /** Throws `invalid_request` when the value is not an object. */
  constructor(source: BufferList, { topLevelIsObject, members, trackedString, tokens = 0 }: ScannedJson) {
    if (!topLevelIsObject) throw new GatewayError('invalid_request', 'The body must be a JSON object.');
    this.source = source;
    this.members = members;
    this.trackedString = trackedString;
    this.tokens = tokens;
  }

  /** The whole text; copies when it arrived in several chunks. */
  get bytes(): Buffer {
    return this.source.whole();
  }

  /** The members with their keys. A key that is longer than any known one is empty. */
  get namedMembers(): readonly NamedJsonMember[] {
    this.#namedMembers ??= this.members.map(({ keyStart, keyEnd, valueStart, valueEnd }) => {
      const key = keyEnd - keyStart > maxKeyBytes ? '' : textOf(this.source.text(keyStart, keyEnd));
      return { key, keyStart, keyEnd, valueStart, valueEnd };
    });
    return this.#namedMembers;
  }

  /** Finds a top-level member; for a repeated key the last one, as in JSON.parse. */
  member(key: string): NamedJsonMember | undefined {
    return this.namedMembers.findLast((member) => member.key === key);
  }

  /**
   * Parses a top-level value. Undefined when absent; of no JSON type when it is larger than any
   * value that the gateway reads.
   */
  value(key: string): unknown {
    const { valueStart, valueEnd } = this.member(key) ?? {};
    if (valueStart === undefined || valueEnd === undefined) return undefined;
    return valueEnd - valueStart > maxValueBytes ? tooLarge : JSON.parse(this.source.text(valueStart, valueEnd));
  }
}

/** Six times the longest key that the gateway reads, because every character may be an escape. */
const maxKeyBytes = 256;
/** Takes about a millisecond to parse. */
const maxValueBytes = 64 * 1024;
const tooLarge = Symbol('a value that is too large to be read');

/** Decodes a JSON string. */
function textOf(quoted: string): string {
  return quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
}

/**
 * Scans a text of any size, and yields to the event loop while it does. Throws what the scanner
 * throws.
 */
export async function scanInTurns(chunks: Iterable<Uint8Array>, options?: ScannerOptions): Promise<JsonScanner> {
  const scanner = new JsonScanner(options);
  const yields = new EventLoopYield();
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += bytesPerTurn) {
      const piece = chunk.subarray(at, at + bytesPerTurn);
      scanner.push(piece);
      await yields.spend(piece.length);
    }
  }
  scanner.end();
  return scanner;
}

const bytesPerTurn = 64 * 1024;

/** No limits, for a text whose size and grammar are already known. */
export const unlimited = {
  maxDepth: Number.POSITIVE_INFINITY,
  maxTokens: Number.POSITIVE_INFINITY,
  maxMembers: Number.POSITIVE_INFINITY,
} as const satisfies ScannerOptions;

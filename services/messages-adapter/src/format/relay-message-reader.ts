import {
  type AnswerReader,
  type AnswerResult,
  type AttemptFailure,
  answerTooLarge,
  brokenStream,
  type UpstreamHead,
} from '@gateway/adapter-kit';
import type { FinishReason, ReportedUsage } from '@gateway/chat';
import { reasoningAt, reasoningStrings } from '@gateway/encrypted-reasoning';
import {
  asArray,
  asObject,
  asString,
  BufferList,
  type ByteRange,
  type JsonObject,
  JsonScanner,
  parseJson,
} from '@gateway/json';
import { mapFinishReason } from './answer-writer.ts';
import { mapStreamError } from './map-upstream-error.ts';
import { ThinkingBlocks } from './read-reasoning.ts';
import { isToolCall, lostReasoning, writtenByBlock } from './relay-answer-reader.ts';
import { UsageReports } from './usage-reports.ts';

/**
 * Relays a whole message byte for byte, once it is known to be one. It is scanned as it arrives,
 * and a small one is parsed, only for its id and usage. Up to a bound it is buffered until it is
 * complete, so that another account can be tried; a larger one is passed on as it arrives.
 * @see spec "Messages object (response of `/v1/messages`)"
 */
export class RelayMessageReader implements AnswerReader {
  readonly #maxBufferedBytes: number;
  readonly #usage = new UsageReports();
  readonly #members = new MessageMembers();
  #head: UpstreamHead = { status: 200, headers: {} };
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #isPassedOn = false;
  answerId: string | undefined;
  answeringModel: string | undefined;
  finishReason: FinishReason | undefined;
  encryptedReasoning: string | undefined;
  result: AnswerResult | undefined;
  producedCharacters = 0;
  affinityMissed = false;

  constructor(maxBufferedBytes: number) {
    this.#maxBufferedBytes = maxBufferedBytes;
  }

  onHead(head: UpstreamHead): void {
    this.#head = head;
  }

  get head(): AnswerReader['head'] {
    const { status, headers } = this.#head;
    return { status, headers: { 'content-type': headers['content-type'] ?? 'application/json' } };
  }

  get reportedUsage(): ReportedUsage | undefined {
    return this.#usage.reported;
  }

  get hasContent(): boolean {
    return this.#isPassedOn || this.result?.kind === 'finished';
  }

  push(bytes: Uint8Array): void {
    if (this.result !== undefined) return;
    this.#chunks.push(bytes);
    this.#bytes += bytes.length;
    if (!this.#members.push(bytes)) return this.#fail(brokenStream());
    // The number of characters is about the number of bytes.
    if (this.#isPassedOn) this.producedCharacters = this.#bytes;
    else if (this.#bytes > this.#maxBufferedBytes) this.#beginToPassOn();
  }

  end(): void {
    if (this.result !== undefined) return;
    if (!this.#members.end()) return this.#fail(brokenStream());
    if (this.#isPassedOn) this.#finishLarge();
    else this.#endBuffered();
  }

  take(): Uint8Array {
    if (!this.hasContent) return nothing;
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks = [];
    return bytes;
  }

  #endBuffered(): void {
    const message = this.#bytes <= maxParsedBytes ? parseJson(Buffer.concat(this.#chunks).toString()) : undefined;
    const { type, error, id } = asObject(message) ?? this.#members.values('type', 'error', 'id');
    if (type === 'error') return this.#fail(mapStreamError({ type, error }));
    if (type !== 'message') return this.#fail(brokenStream());
    this.#readStart(id);
    if (message === undefined) this.#finishLarge();
    else this.#finishSmall(asObject(message) ?? {});
  }

  #finishSmall(message: JsonObject): void {
    this.affinityMissed = lostReasoning(message.input_transformations);
    const content = asArray(message.content);
    this.#readEnd(message, content.some(isToolCall));
    this.producedCharacters = producedBy(content);
    this.result = { kind: 'finished' };
  }

  /**
   * The type precedes the content: an answer that has not proved to be a message by then is too
   * large to buffer.
   */
  #beginToPassOn(): void {
    const { type, id } = this.#members.values('type', 'id');
    if (type !== 'message') return this.#fail(answerTooLarge());
    this.#readStart(id);
    this.#isPassedOn = true;
  }

  /** Reads what is known of the bytes that are still here. */
  #readStart(id: unknown): void {
    this.answerId = asString(id);
    this.encryptedReasoning = reasoningAt(new BufferList(this.#chunks), this.#members.signature);
    this.producedCharacters = this.#bytes;
  }

  /** The content of such a message is not parsed. */
  #finishLarge(): void {
    const end = this.#members.values('model', 'stop_reason', 'usage');
    this.#readEnd(end, end.stop_reason === 'tool_use');
    this.result = { kind: 'finished' };
  }

  /** Reads how the message was produced. */
  #readEnd({ model, stop_reason, usage }: JsonObject, hasToolCalls: boolean): void {
    const stopReason = asString(stop_reason);
    this.answeringModel = asString(model);
    this.finishReason = stopReason === undefined ? undefined : mapFinishReason(stopReason, hasToolCalls);
    this.#usage.add(usage);
  }

  #fail(failure: AttemptFailure): void {
    this.result = { kind: 'failed', failure };
  }
}

const nothing = new Uint8Array();

/** Characters that the model wrote and thought in these blocks. */
function producedBy(blocks: readonly unknown[]): number {
  const thinking = new ThinkingBlocks();
  thinking.readWhole(blocks);
  return blocks.reduce<number>((sum, block) => sum + writtenByBlock(block), thinking.producedCharacters);
}

/** The small top-level members of a JSON object, read as it arrives. */
class MessageMembers {
  readonly #scanner = new JsonScanner({
    tracked: reasoningStrings('signature'),
    maxDepth: 1_024,
    maxTokens: Number.POSITIVE_INFINITY,
  });
  readonly #values = new Map<string, unknown>();
  /** The last bytes, and the offset at which they start. */
  #tail: Uint8Array[] = [];
  #tailStart = 0;
  #tailBytes = 0;
  #membersRead = 0;

  /** False when the bytes are not JSON. */
  push(bytes: Uint8Array): boolean {
    try {
      this.#scanner.push(bytes);
    } catch {
      return false;
    }
    this.#tail.push(bytes);
    this.#tailBytes += bytes.length;
    if (this.#tailBytes > maxParsedBytes) {
      this.#readMembers();
      this.#forgetOldBytes();
    }
    return true;
  }

  /** False when the object is incomplete. */
  end(): boolean {
    try {
      this.#scanner.end();
    } catch {
      return false;
    }
    return this.#scanner.topLevelIsObject;
  }

  get signature(): ByteRange | undefined {
    return this.#scanner.trackedString;
  }

  /**
   * The members with these keys that have arrived and are small. A repeated member has its last
   * value.
   */
  values(...keys: readonly string[]): JsonObject {
    this.#readMembers();
    return Object.fromEntries(keys.map((key) => [key, this.#values.get(key)]));
  }

  #forgetOldBytes(): void {
    for (let [oldest] = this.#tail; oldest !== undefined; [oldest] = this.#tail) {
      if (this.#tailBytes - oldest.length < maxMemberBytes) return;
      this.#tail.shift();
      this.#tailBytes -= oldest.length;
      this.#tailStart += oldest.length;
    }
  }

  #readMembers(): void {
    if (this.#scanner.members.length === this.#membersRead) return;
    const bytes = Buffer.concat(this.#tail);
    for (const { keyStart, keyEnd, valueStart, valueEnd } of this.#scanner.members.slice(this.#membersRead)) {
      this.#membersRead += 1;
      if (valueEnd - keyStart > maxMemberBytes) continue;
      const parse = (start: number, end: number) =>
        parseJson(bytes.toString('utf8', start - this.#tailStart, end - this.#tailStart));
      this.#values.set(String(parse(keyStart, keyEnd)), parse(valueStart, valueEnd));
    }
  }
}

/** Takes some milliseconds to parse. A usage may list many passes. */
const maxMemberBytes = 256 * 1024;
/** Takes a few milliseconds to parse. */
const maxParsedBytes = 256 * 1024;

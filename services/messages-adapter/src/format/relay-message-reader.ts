import {
  type AnswerEnding,
  type AnswerReader,
  answerTooLarge,
  brokenStream,
  type UpstreamFailure,
  type UpstreamHead,
} from '@gateway/adapter-kit';
import type { ReportedUsage } from '@gateway/chat';
import { asArray, asObject, asString, type JsonObject, parseJson } from '@gateway/json';
import { lastSealedReasoning } from '@gateway/sealed-reasoning';
import { convertUsage, readReportedCounts } from './convert-usage.ts';
import { mapStreamError } from './map-stream-error.ts';
import { PassedMessage } from './passed-message.ts';
import { producedByBlock } from './produced-characters.ts';

/**
 * Relays a message that comes whole, byte for byte, once it has proved to be one. It is read only for its id and usage. Up to
 * a bound it is held until it is whole, so that another account can be tried; a larger one is passed on as it comes.
 * @see spec "Messages object (response of `/v1/messages`)"
 */
export class RelayMessageReader implements AnswerReader {
  readonly #maxHeldBytes: number;
  #head: UpstreamHead = { status: 200, headers: {} };
  #pieces: Uint8Array[] = [];
  #heldBytes = 0;
  /** Of a message that is larger than what is held. */
  #passed: PassedMessage | undefined;
  answerId: string | undefined;
  sealedReasoning: string | undefined;
  ending: AnswerEnding | undefined;
  reportedUsage: ReportedUsage | undefined;
  producedCharacters = 0;

  constructor(maxHeldBytes: number) {
    this.#maxHeldBytes = maxHeldBytes;
  }

  onHead(head: UpstreamHead): void {
    this.#head = head;
  }

  get head(): AnswerReader['head'] {
    const { status, headers } = this.#head;
    return { status, headers: { 'content-type': headers['content-type'] ?? 'application/json' } };
  }

  get hasContent(): boolean {
    return this.#passed !== undefined || this.ending?.kind === 'finished';
  }

  push(bytes: Uint8Array): void {
    if (this.ending !== undefined) return;
    this.#pieces.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#passed !== undefined) this.#pass(this.#passed, bytes);
    else if (this.#heldBytes > this.#maxHeldBytes) this.#beginToPass(joined(this.#pieces));
  }

  end(): void {
    if (this.ending !== undefined) return;
    if (this.#passed !== undefined) return this.#endPassed(this.#passed);
    const whole = joined(this.#pieces);
    this.#pieces = [whole];
    const message = asObject(parseJson(whole.toString()));
    if (message?.type === 'message') this.#finish(message, whole);
    else this.#fail(message?.type === 'error' ? mapStreamError(message) : brokenStream());
  }

  take(): Uint8Array {
    if (!this.hasContent || this.#pieces.length === 0) return nothing;
    const bytes = joined(this.#pieces);
    this.#pieces = [];
    return bytes;
  }

  #finish(message: JsonObject, bytes: Buffer): void {
    this.answerId = asString(message.id);
    this.sealedReasoning = lastSealedReasoning(bytes, 'signature');
    this.reportedUsage = convertUsage(readReportedCounts(message.usage));
    this.producedCharacters = asArray(message.content).reduce<number>((sum, block) => sum + producedByBlock(block), 0);
    this.ending = { kind: 'finished' };
  }

  /** Its type comes before its content: what has not proved to be a message by then is too large to wait for. */
  #beginToPass(held: Buffer): void {
    this.#pieces = [held];
    const passed = new PassedMessage();
    if (!passed.push(held)) return this.#fail(brokenStream());
    if (passed.value('type') !== 'message') return this.#fail(answerTooLarge());
    this.answerId = asString(passed.value('id'));
    this.sealedReasoning = lastSealedReasoning(held, 'signature');
    this.producedCharacters = held.length;
    this.#passed = passed;
  }

  /** About as many characters as bytes were written. */
  #pass(passed: PassedMessage, bytes: Uint8Array): void {
    this.producedCharacters += bytes.length;
    if (!passed.push(bytes)) this.#fail(brokenStream());
  }

  #endPassed(passed: PassedMessage): void {
    if (!passed.end()) return this.#fail(brokenStream());
    this.reportedUsage = convertUsage(readReportedCounts(passed.value('usage')));
    this.ending = { kind: 'finished' };
  }

  #fail(failure: UpstreamFailure): void {
    this.ending = { kind: 'failed', failure };
  }
}

const nothing = new Uint8Array();

/** Most messages come in one read, and need no copy. */
function joined([first, ...rest]: readonly Uint8Array[]): Buffer {
  if (first === undefined || rest.length > 0) return Buffer.concat(first === undefined ? [] : [first, ...rest]);
  return Buffer.isBuffer(first) ? first : Buffer.from(first.buffer, first.byteOffset, first.byteLength);
}

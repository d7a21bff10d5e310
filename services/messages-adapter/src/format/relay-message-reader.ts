import { type AnswerEnding, type AnswerReader, brokenStream, type UpstreamHead } from '@gateway/adapter-kit';
import type { ReportedUsage } from '@gateway/chat';
import { asArray, asObject, asString, type JsonObject, parseJson } from '@gateway/json';
import { lastSealedReasoning } from '@gateway/sealed-reasoning';
import { convertUsage, readReportedCounts } from './convert-usage.ts';
import { mapStreamError } from './map-stream-error.ts';
import { producedByBlock } from './produced-characters.ts';

/**
 * Relays a message that comes whole, byte for byte, once it has proved to be one. It is read only for its id and usage.
 * @see spec "Messages object (response of `/v1/messages`)"
 */
export class RelayMessageReader implements AnswerReader {
  #head: UpstreamHead = { status: 200, headers: {} };
  #pieces: Uint8Array[] = [];
  answerId: string | undefined;
  sealedReasoning: string | undefined;
  ending: AnswerEnding | undefined;
  reportedUsage: ReportedUsage | undefined;
  producedCharacters = 0;

  onHead(head: UpstreamHead): void {
    this.#head = head;
  }

  get head(): AnswerReader['head'] {
    const { status, headers } = this.#head;
    return { status, headers: { 'content-type': headers['content-type'] ?? 'application/json' } };
  }

  get hasContent(): boolean {
    return this.ending?.kind === 'finished';
  }

  push(bytes: Uint8Array): void {
    if (this.ending === undefined) this.#pieces.push(bytes);
  }

  end(): void {
    if (this.ending !== undefined) return;
    const whole = joined(this.#pieces);
    this.#pieces = [whole];
    const message = asObject(parseJson(whole.toString()));
    if (message?.type === 'message') this.#finish(message, whole);
    else this.#fail(message);
  }

  take(): Uint8Array {
    const [whole] = this.#pieces;
    if (!this.hasContent || whole === undefined) return nothing;
    this.#pieces = [];
    return whole;
  }

  #finish(message: JsonObject, bytes: Buffer): void {
    this.answerId = asString(message.id);
    this.sealedReasoning = lastSealedReasoning(bytes, 'signature');
    this.reportedUsage = convertUsage(readReportedCounts(message.usage));
    this.producedCharacters = asArray(message.content).reduce<number>((sum, block) => sum + producedByBlock(block), 0);
    this.ending = { kind: 'finished' };
  }

  #fail(answer: JsonObject | undefined): void {
    const failure = answer?.type === 'error' ? mapStreamError(answer) : brokenStream();
    this.ending = { kind: 'failed', failure };
  }
}

const nothing = new Uint8Array();

/** Most messages come in one read, and need no copy. */
function joined([first, ...rest]: readonly Uint8Array[]): Buffer {
  if (first === undefined || rest.length > 0) return Buffer.concat(first === undefined ? [] : [first, ...rest]);
  return Buffer.isBuffer(first) ? first : Buffer.from(first.buffer, first.byteOffset, first.byteLength);
}

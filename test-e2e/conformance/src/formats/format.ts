import type { Scene } from '../check.ts';
import type { ProviderDouble } from '../double/provider-double.ts';
import type { Answer, Ask } from '../target/gateway-client.ts';
import type { ServerSentEvent, StreamedAnswer } from '../target/streamed-answer.ts';
import { must, NotApplicable } from '../verdict.ts';
import { Found } from './found.ts';

/** A conversation to send, independent of formats. */
export interface Prompt {
  readonly text: string;
  readonly system?: string;
  /** Turns before the text, alternating between user and assistant, beginning with the user. */
  readonly before?: readonly string[];
  readonly images?: readonly string[];
  readonly tools?: readonly Tool[];
  /**
   * Earlier calls of the model, each with its result. The question comes first, the results last.
   */
  readonly toolResults?: readonly ToolResult[];
  readonly maxTokens?: number;
  /** Turns or items after the text, in the format itself. */
  readonly turnsAfter?: readonly unknown[];
  /** Additional fields of the format in the request. */
  readonly more?: Readonly<Record<string, unknown>> | undefined;
}

/** A prompt that live models answer in a few words, too. They may think before. */
export const hello: Prompt = { text: 'Say hello.', maxTokens: 4_096 };

/** The role of an earlier turn. */
export function turnsBefore({
  before = [],
}: Prompt): readonly { readonly role: 'user' | 'assistant'; readonly text: string }[] {
  return before.map((text, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', text }));
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly schema: object;
}

export interface ToolResult {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  readonly result: string;
}

/** An answer as a client reads it, independent of formats. */
export interface Reply {
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  /**
   * `stop`, `length`, `tool-calls` or `content-filter` for the format's own words; otherwise the
   * word itself.
   */
  readonly finish: string;
  readonly usage: ReplyUsage | undefined;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

/** `input` includes `cached`. Undefined if the answer does not have it. */
export interface ReplyUsage {
  readonly input: number;
  readonly cached: number | undefined;
  readonly output: number;
  readonly reasoning: number | undefined;
  /** The sum, if the answer has it. */
  readonly total: number | undefined;
}

export type ReplyEndpoint = 'chat' | 'messages' | 'responses';

/** Requests and answers of one endpoint. */
export interface Format {
  readonly endpoint: ReplyEndpoint;
  request(model: string, prompt: Prompt): Readonly<Record<string, unknown>>;
  /** The fields that request usage in a stream, if the format needs them. */
  readonly asksForUsage: Readonly<Record<string, unknown>>;
  readReply(answer: Found): Reply;
  readUsage(usage: Found): ReplyUsage | undefined;
  readStream(events: readonly ServerSentEvent[]): Reply;
}

export type Way = 'whole' | 'stream';

/** Sends a request and reads the answer as an SDK would. */
export async function converse(scene: Scene, format: Format, way: Way, prompt: Prompt): Promise<Reply> {
  return way === 'whole'
    ? format.readReply(await wholeAnswer(scene, format, prompt))
    : format.readStream(await streamOf(scene, format, prompt));
}

/** Sends the prompt and returns the answer, whatever it is. */
export async function ask(scene: Scene, format: Format, prompt: Prompt, more: Omit<Ask, 'body'> = {}): Promise<Answer> {
  const body = format.request(scene.modelOf(format.endpoint), prompt);
  return await scene.gateway.ask(format.endpoint, { ...more, body });
}

/** The same for a streamed answer. */
export async function askStream(
  scene: Scene,
  format: Format,
  prompt: Prompt,
  more: Omit<Ask, 'body'> = {},
): Promise<StreamedAnswer> {
  const body = { ...format.request(scene.modelOf(format.endpoint), prompt), stream: true };
  return await scene.gateway.stream(format.endpoint, { ...more, body });
}

/** The JSON of an answer that is not streamed. */
export async function wholeAnswer(scene: Scene, format: Format, prompt: Prompt): Promise<Found> {
  const answer = await askWhole(scene, format, prompt);
  return new Found(answer.json(), 'answer');
}

export async function askWhole(scene: Scene, format: Format, prompt: Prompt): Promise<Answer> {
  const answer = await ask(scene, format, { ...prompt, more: { ...prompt.more, stream: false } });
  mustBeOk(answer.status, answer.text);
  if (answer.headers['content-type']?.startsWith('text/event-stream') && format.endpoint === 'responses')
    throw new NotApplicable('the gateway answers Responses as streams only');
  return answer;
}

/** The events of a stream that came to its end. */
export async function streamOf(scene: Scene, format: Format, prompt: Prompt): Promise<readonly ServerSentEvent[]> {
  const stream = await openStream(scene, format, prompt);
  const { events, end } = await stream.all();
  must(end === 'whole', `the stream should end by itself; the connection was cut after ${events.length} events`);
  must(events.length > 0, 'the stream should have events; it was empty');
  return events;
}

export async function openStream(
  scene: Scene,
  format: Format,
  prompt: Prompt,
  headers: Readonly<Record<string, string>> = {},
) {
  const stream = await askStream(scene, format, prompt, { headers });
  if (stream.status !== 200) {
    const { events } = await stream.all();
    mustBeOk(stream.status, events.map(({ data }) => data).join('\n'));
  }
  return stream;
}

/**
 * @throws NotApplicable without a double. Checks that script the provider have `needs: ['double']`.
 */
export function doubleOf(scene: Scene): ProviderDouble {
  if (scene.double === undefined) throw new NotApplicable('the provider cannot be scripted');
  return scene.double;
}

function mustBeOk(status: number, text: string): void {
  must(status === 200, `a good request should be answered with 200, not ${status}: ${text.slice(0, 300)}`);
}

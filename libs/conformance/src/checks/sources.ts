import type { ReplyEndpoint } from '../formats/format.ts';

const openai = 'https://platform.openai.com/docs';
const openaiNode = 'https://github.com/openai/openai-node/blob/main/src';
const claude = 'https://docs.claude.com/en';
const anthropicSdk = 'https://github.com/anthropics/anthropic-sdk-typescript/blob/main/src';
const rfc = 'https://www.rfc-editor.org/rfc';

type OfEach = Readonly<Record<ReplyEndpoint, string>>;

/** Where the rules stand: documentation, or the source of an SDK that relies on them. */
export const sources = {
  answer: {
    chat: `${openai}/api-reference/chat/object`,
    messages: `${claude}/api/messages`,
    responses: `${openai}/api-reference/responses/object`,
  },
  request: {
    chat: `${openai}/api-reference/chat/create`,
    messages: `${claude}/api/messages`,
    responses: `${openai}/api-reference/responses/create`,
  },
  stream: {
    chat: `${openai}/api-reference/chat-streaming/streaming`,
    messages: `${claude}/docs/build-with-claude/streaming`,
    responses: `${openai}/api-reference/responses-streaming`,
  },
  tools: {
    chat: `${openai}/guides/function-calling`,
    messages: `${claude}/docs/agents-and-tools/tool-use/implement-tool-use`,
    responses: `${openai}/guides/function-calling`,
  },
  images: {
    chat: `${openai}/guides/images-vision`,
    messages: `${claude}/docs/build-with-claude/vision`,
    responses: `${openai}/guides/images-vision`,
  },
  structured: {
    chat: `${openai}/guides/structured-outputs`,
    messages: `${claude}/docs/build-with-claude/structured-outputs`,
    responses: `${openai}/guides/structured-outputs`,
  },
  errors: {
    chat: `${openai}/guides/error-codes`,
    messages: `${claude}/api/errors`,
    responses: `${openai}/guides/error-codes`,
  },
  /** How the SDKs read streams, and what makes them throw. */
  sdkStream: {
    chat: `${openaiNode}/core/streaming.ts`,
    messages: `${anthropicSdk}/core/streaming.ts`,
    responses: `${openaiNode}/core/streaming.ts`,
  },
  /** How the SDKs put streams together. */
  sdkHelper: {
    chat: `${openaiNode}/lib/ChatCompletionStream.ts`,
    messages: `${anthropicSdk}/lib/MessageStream.ts`,
    responses: `${openaiNode}/lib/responses/ResponseStream.ts`,
  },
  sdkErrors: {
    chat: `${openaiNode}/core/error.ts`,
    messages: `${anthropicSdk}/core/error.ts`,
    responses: `${openaiNode}/core/error.ts`,
  },
  sdkClient: {
    chat: `${openaiNode}/client.ts`,
    messages: `${anthropicSdk}/client.ts`,
    responses: `${openaiNode}/client.ts`,
  },
  accumulator: `${openaiNode}/internal/responses/response-accumulator.ts`,
  betas: `${claude}/api/beta-headers`,
  countTokens: `${claude}/api/messages-count-tokens`,
  models: `${openai}/api-reference/models/list`,
  reasoning: {
    chat: `${openai}/guides/reasoning`,
    messages: `${claude}/docs/build-with-claude/extended-thinking`,
    responses: `${openai}/guides/reasoning`,
  },
  promptCaching: `${openai}/guides/prompt-caching`,
  eventStream: 'https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream',
  json: `${rfc}/rfc8259#section-4`,
  chunked: `${rfc}/rfc9112#section-7.1`,
  contentCoding: `${rfc}/rfc9110#section-8.4`,
  acceptEncoding: `${rfc}/rfc9110#section-12.5.3`,
  hopByHop: `${rfc}/rfc9110#section-7.6.1`,
  methods: `${rfc}/rfc9110#section-15.5.6`,
  notFound: `${rfc}/rfc9110#section-15.5.5`,
} satisfies Record<string, string | OfEach>;

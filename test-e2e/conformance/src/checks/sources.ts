import type { ReplyEndpoint } from '../formats/format.ts';

const openai = 'https://platform.openai.com/docs';
const openaiNode = 'https://github.com/openai/openai-node/blob/main/src';
const claude = 'https://docs.claude.com/en';
const anthropicSdk = 'https://github.com/anthropics/anthropic-sdk-typescript/blob/main/src';
const rfc = 'https://www.rfc-editor.org/rfc';

type OfEach = Readonly<Record<ReplyEndpoint, string>>;

const ofSdks = (ofOpenai: string, ofClaude: string): OfEach => ({
  chat: ofOpenai,
  messages: ofClaude,
  responses: ofOpenai,
});

/** The sources of the rules: documentation, or the source of an SDK that relies on them. */
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
  tools: ofSdks(`${openai}/guides/function-calling`, `${claude}/docs/agents-and-tools/tool-use/implement-tool-use`),
  images: ofSdks(`${openai}/guides/images-vision`, `${claude}/docs/build-with-claude/vision`),
  structured: ofSdks(`${openai}/guides/structured-outputs`, `${claude}/docs/build-with-claude/structured-outputs`),
  errors: ofSdks(`${openai}/guides/error-codes`, `${claude}/api/errors`),
  /** How the SDKs read streams, and what makes them throw. */
  sdkStream: ofSdks(`${openaiNode}/core/streaming.ts`, `${anthropicSdk}/core/streaming.ts`),
  /** How the SDKs assemble streams. */
  sdkHelper: {
    chat: `${openaiNode}/lib/ChatCompletionStream.ts`,
    messages: `${anthropicSdk}/lib/MessageStream.ts`,
    responses: `${openaiNode}/lib/responses/ResponseStream.ts`,
  },
  sdkErrors: ofSdks(`${openaiNode}/core/error.ts`, `${anthropicSdk}/core/error.ts`),
  sdkClient: ofSdks(`${openaiNode}/client.ts`, `${anthropicSdk}/client.ts`),
  accumulator: `${openaiNode}/internal/responses/response-accumulator.ts`,
  betas: `${claude}/api/beta-headers`,
  countTokens: `${claude}/api/messages-count-tokens`,
  models: `${openai}/api-reference/models/list`,
  reasoning: ofSdks(`${openai}/guides/reasoning`, `${claude}/docs/build-with-claude/extended-thinking`),
  eventStream: 'https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream',
  json: `${rfc}/rfc8259#section-4`,
  chunked: `${rfc}/rfc9112#section-7.1`,
  contentCoding: `${rfc}/rfc9110#section-8.4`,
  acceptEncoding: `${rfc}/rfc9110#section-12.5.3`,
  hopByHop: `${rfc}/rfc9110#section-7.6.1`,
  methods: `${rfc}/rfc9110#section-15.5.6`,
  notFound: `${rfc}/rfc9110#section-15.5.5`,
} satisfies Record<string, string | OfEach>;

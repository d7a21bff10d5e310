/** A provider by the prefix of its models in LiteLLM: `anthropic/claude-sonnet-5`. */
export interface Provider {
  readonly format: 'responses' | 'messages';
  /** Absent: the file must say it. */
  readonly baseUrl?: string;
  /** Where LiteLLM looks for the key if the file has none. Absent: the provider needs no key. */
  readonly keyVariable?: string;
  /** The path that LiteLLM adds to `api_base` by itself. */
  readonly path?: string;
  /** Whether the provider's list of models lacks the names that requests use. */
  readonly listsOtherNames?: true;
  /** What a person should check. */
  readonly check?: string;
}

const openAiModels = /^(gpt-|chatgpt-|o[1-9]|codex-|ft:)/;

/** Models that LiteLLM knows without a prefix. Undefined: it needs one. */
export function providerOfBareModel(model: string): string | undefined {
  if (/^claude-/.test(model)) return 'anthropic';
  return openAiModels.test(model) ? 'openai' : undefined;
}

/**
 * Whether the adapter knows which reasoning efforts a model of the Responses format supports. Other
 * models may support none.
 */
export function hasKnownEfforts(model: string): boolean {
  return openAiModels.test(model);
}

const compatible =
  'Check that the server answers POST /responses: the gateway does not call chat completions of providers.';
const compatibleMessages = 'Check that the provider answers POST /messages at this address.';

export const providers: Readonly<Record<string, Provider>> = {
  openai: { format: 'responses', baseUrl: 'https://api.openai.com/v1', keyVariable: 'OPENAI_API_KEY' },
  anthropic: {
    format: 'messages',
    baseUrl: 'https://api.anthropic.com/v1',
    keyVariable: 'ANTHROPIC_API_KEY',
    path: '/v1',
  },
  azure: {
    format: 'responses',
    keyVariable: 'AZURE_API_KEY',
    path: '/openai/v1',
    listsOtherNames: true,
    check: 'Check that the deployment answers POST /openai/v1/responses, the v1 API of Azure.',
  },
  azure_ai: {
    format: 'messages',
    keyVariable: 'AZURE_AI_API_KEY',
    path: '/anthropic/v1',
    listsOtherNames: true,
    check: compatibleMessages,
  },
  openrouter: {
    format: 'responses',
    baseUrl: 'https://openrouter.ai/api/v1',
    keyVariable: 'OPENROUTER_API_KEY',
    check: compatible,
  },
  groq: {
    format: 'responses',
    baseUrl: 'https://api.groq.com/openai/v1',
    keyVariable: 'GROQ_API_KEY',
    check: compatible,
  },
  xai: { format: 'responses', baseUrl: 'https://api.x.ai/v1', keyVariable: 'XAI_API_KEY', check: compatible },
  deepseek: {
    format: 'messages',
    baseUrl: 'https://api.deepseek.com/anthropic/v1',
    keyVariable: 'DEEPSEEK_API_KEY',
    path: '/anthropic/v1',
    check: compatibleMessages,
  },
  hosted_vllm: { format: 'responses', check: compatible },
  lm_studio: { format: 'responses', check: compatible },
  litellm_proxy: { format: 'responses', keyVariable: 'LITELLM_PROXY_API_KEY', check: compatible },
  ollama: { format: 'responses', baseUrl: 'http://localhost:11434/v1', path: '/v1', check: compatible },
  ollama_chat: { format: 'responses', baseUrl: 'http://localhost:11434/v1', path: '/v1', check: compatible },
};

/** What is said of a server that is not OpenAI's own but speaks its API. */
export const checkOfCompatible = compatible;

const noApi = 'has neither a Responses nor a Messages API that the gateway could call';

/** Why the models of a provider can't be taken. */
export function reasonAgainst(provider: string): string {
  const known = new Map(
    Object.entries({
      bedrock: 'needs requests that are signed with AWS credentials',
      bedrock_converse: 'needs requests that are signed with AWS credentials',
      sagemaker: 'needs requests that are signed with AWS credentials',
      sagemaker_chat: 'needs requests that are signed with AWS credentials',
      vertex_ai: 'needs tokens of Google Cloud',
      vertex_ai_beta: 'needs tokens of Google Cloud',
      gemini: noApi,
      'text-completion-openai': 'is the API of completions, which the gateway does not have',
    }),
  );
  return `The provider ${provider} ${known.get(provider) ?? `is not known to the importer. If it answers POST /responses or POST /messages, add a pool for it`}.`;
}

/** Models of these modes answer no conversations. */
export function isConversation(mode: string | undefined, model: string): boolean {
  if (mode !== undefined) return mode === 'chat' || mode === 'responses';
  return !/(^|[/-])(embed|embedding|embeddings|rerank|whisper|tts|dall-e|gpt-image|transcribe|moderation|realtime)([-/]|$)/i.test(
    model,
  );
}

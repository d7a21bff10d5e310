/** What a model of the Messages provider accepts. */
export interface ModelTraits {
  readonly maximumTokens: number;
  readonly adaptiveThinking: boolean;
  /** Accepts `thinking.type: "enabled"` with a budget. */
  readonly budgetThinking: boolean;
  readonly thinkingCanBeDisabled: boolean;
  /** Empty: the model does not accept an effort. */
  readonly efforts: readonly string[];
  /** Accepts `tool_choice` of type `any` or `tool`. */
  readonly forcedTools: boolean;
  /** Accepts a conversation that ends with an assistant message. */
  readonly prefill: boolean;
  /** Accepts `temperature`, `top_p` and `top_k`. */
  readonly sampling: boolean;
  /** Accepts messages with role `system`. */
  readonly systemMessages: boolean;
}

/**
 * The traits of a model, by the family and version in its id; an id of another form counts as the
 * newest model.
 *
 * @see https://docs.claude.com/en/docs/about-claude/models/overview
 */
export function traitsOf(model: string): ModelTraits {
  const { family, version } = familyAndVersion(model);
  const alwaysThinks = family === 'fable' || family === 'mythos' || (version >= 505 && family !== 'haiku');
  return {
    maximumTokens: maximumTokensOf(version),
    adaptiveThinking: version >= 406,
    budgetThinking: version <= 406,
    thinkingCanBeDisabled: !alwaysThinks,
    efforts: effortsOf(family, version),
    forcedTools: !(alwaysThinks && version > 500),
    prefill: version < 406,
    sampling: version < 407,
    systemMessages: version >= 408,
  };
}

function familyAndVersion(model: string): { family: string; version: number } {
  const match = /^claude-([a-z]+)-(\d+)(?:-(\d{1,2}))?(?!\d)/.exec(model);
  if (match === null) return { family: 'opus', version: 500 };
  return { family: match[1] ?? '', version: Number(match[2]) * 100 + Number(match[3] ?? 0) };
}

function maximumTokensOf(version: number): number {
  if (version >= 406) return 128_000;
  return version > 401 ? 64_000 : 32_000;
}

function effortsOf(family: string, version: number): readonly string[] {
  if (version >= 407) return ['low', 'medium', 'high', 'xhigh', 'max'];
  if (version === 406) return ['low', 'medium', 'high', 'max'];
  return family === 'opus' && version === 405 ? ['low', 'medium', 'high'] : [];
}

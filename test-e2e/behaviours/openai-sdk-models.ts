/**
 * Model ids that a Responses provider answers on chat: a class with such a first candidate, and a
 * direct model.
 */
export const responsesChatModels = ['gateway/sterk', 'gpt-5.5-mini'] as const;

/** The same for a Messages provider. */
export const messagesChatModels = ['gateway/claude', 'claude-opus-4-8'] as const;

export const chatModels = [...responsesChatModels, ...messagesChatModels] as const;

import type { JsonObject } from '@gateway/json';
import { z } from 'zod';
import type { FormatName } from './provider-request.ts';

export const defaultModels: Readonly<Record<FormatName, readonly string[]>> = {
  responses: ['gpt-5.5', 'gpt-5.5-mini', 'gpt-6'],
  messages: ['claude-opus-4-8', 'claude-sonnet-5', 'claude-haiku-4-5', 'claude-haiku-4-5-20251001'],
};

/** A change to the models; omitted members stay as they are. */
export const modelsChangeSchema = z.strictObject({
  responses: z.array(z.string()).readonly().optional(),
  messages: z.array(z.string()).readonly().optional(),
  /** The formats whose list can't be read: the connection is reset. Their models still answer. */
  unreachable: z
    .array(z.enum(['responses', 'messages']))
    .readonly()
    .optional(),
});

type ModelsChange = z.infer<typeof modelsChangeSchema>;
type ModelsState = { readonly [name in keyof ModelsChange]-?: NonNullable<ModelsChange[name]> };

/** The models that each provider currently offers. */
export class Models {
  readonly #initial: ModelsState;
  #state: ModelsState;

  constructor({ responses, messages }: Pick<ModelsChange, FormatName>) {
    this.#initial = {
      responses: responses ?? defaultModels.responses,
      messages: messages ?? defaultModels.messages,
      unreachable: [],
    };
    this.#state = this.#initial;
  }

  get(): ModelsState {
    return this.#state;
  }

  set(change: ModelsChange): void {
    const given = Object.entries(change).filter(([, value]) => value !== undefined);
    this.#state = { ...this.#state, ...Object.fromEntries(given) };
  }

  reset(): void {
    this.#state = this.#initial;
  }
}

const created = 1_767_225_600;

/**
 * The list in the format of the provider.
 *
 * @see https://platform.openai.com/docs/api-reference/models/list
 * @see https://docs.claude.com/en/api/models-list
 */
export function modelList(format: FormatName, ids: readonly string[]): JsonObject {
  if (format === 'responses') {
    return { object: 'list', data: ids.map((id) => ({ id, object: 'model', created, owned_by: 'system' })) };
  }
  const created_at = new Date(created * 1000).toISOString();
  const data = ids.map((id) => ({ type: 'model', id, display_name: displayName(id), created_at }));
  return { data, has_more: false, first_id: ids[0] ?? null, last_id: ids.at(-1) ?? null };
}

/** For example "Claude Haiku 4.5". */
function displayName(id: string): string {
  const undated = id.replace(/-\d{8}$/, '').replace(/(\d)-(\d)/, '$1.$2');
  return undated
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ');
}

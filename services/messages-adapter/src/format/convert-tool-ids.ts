import { createHash } from 'node:crypto';

/**
 * A tool call's id in the alphabet and length that the Messages format takes. Ids that fit stay as they are; others keep
 * a readable beginning and get a digest of the whole, so that two ids never become one. Same id in, same id out.
 */
export function convertToolId(id: string): string {
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(id)) return id;
  const digest = createHash('sha256').update(id).digest('hex').slice(0, 16);
  return `${id.slice(0, 47).replace(/[^a-zA-Z0-9_-]/g, '_')}_${digest}`;
}

/**
 * The ids of one conversation. Calls must have ids of their own throughout a Messages conversation, while chat clients
 * may number them anew in every turn: an id that returns gets a new one, and so does its result.
 */
export class ConversationToolIds {
  readonly #taken = new Set<string>();
  readonly #callsOf = new Map<string, Calls>();
  #unanswered = 0;

  /** The id for a call. */
  call(clientId: string): string {
    const calls = this.#callsOf.get(clientId) ?? { ids: [], answered: 0 };
    const id = this.#unusedId(clientId, calls.ids.length);
    this.#taken.add(id);
    calls.ids.push(id);
    this.#callsOf.set(clientId, calls);
    this.#unanswered += 1;
    return id;
  }

  /** The id for a call's result: that of the first call with this id that has none. Undefined when there is no such call. */
  result(clientId: string): string | undefined {
    const calls = this.#callsOf.get(clientId);
    const id = calls?.ids[calls.answered];
    if (calls === undefined || id === undefined) return undefined;
    calls.answered += 1;
    this.#unanswered -= 1;
    return id;
  }

  get hasUnanswered(): boolean {
    return this.#unanswered > 0;
  }

  #unusedId(clientId: string, usesBefore: number): string {
    let uses = usesBefore;
    let id = uses === 0 ? convertToolId(clientId) : convertToolId(`${clientId}#${uses}`);
    while (this.#taken.has(id)) id = convertToolId(`${clientId}#${++uses}`);
    return id;
  }
}

interface Calls {
  /** Provider ids in the order of the calls. */
  readonly ids: string[];
  answered: number;
}

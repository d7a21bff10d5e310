import type { AccountConfig } from './gateway-config.ts';
import { accountSchema } from './gateway-schema.ts';
import { schemaProblems } from './schema-problems.ts';

/** An account that an operator gives, by the names of the file. */
export interface AccountInput {
  readonly pool: string;
  readonly name: string;
  /** Undefined: all of the pool. */
  readonly models?: readonly string[] | undefined;
  /** Undefined: no cap. */
  readonly max_concurrency?: number | undefined;
  readonly credential: object | undefined;
}

/**
 * An account by the rules of `gateway.yaml`, or what is wrong with it, by the places of the file: `credential.oauth.token_url`.
 * No problem repeats a secret.
 */
export function readAccount(
  input: AccountInput,
): { readonly account: AccountConfig } | { readonly problems: Readonly<Record<string, string>> } {
  const parsed = accountSchema.safeParse(input);
  if (parsed.success) return { account: parsed.data };
  const problems = schemaProblems(parsed.error.issues, new Map()).map(({ place, text }) => [place, text] as const);
  return { problems: Object.fromEntries(problems) };
}

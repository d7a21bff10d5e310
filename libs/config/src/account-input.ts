import type { AccountConfig } from './gateway-config.ts';
import { accountSchema } from './gateway-schema.ts';
import { schemaProblems } from './schema-problems.ts';

/** An account as an operator enters it, with the names of the file. */
export interface AccountInput {
  readonly pool: string;
  readonly name: string;
  /** Undefined: all models of the pool. */
  readonly models?: readonly string[] | undefined;
  /** Undefined: no cap. */
  readonly max_concurrency?: number | undefined;
  /** Undefined: none. */
  readonly labels?: readonly string[] | undefined;
  readonly credential: object | undefined;
}

/**
 * Checks an account by the rules of `gateway.yaml`. Problems are given by their paths in the file,
 * such as `credential.oauth.token_url`, and never repeat a secret.
 */
export function readAccount(
  input: AccountInput,
): { readonly account: AccountConfig } | { readonly problems: Readonly<Record<string, string>> } {
  const parsed = accountSchema.safeParse(input);
  if (parsed.success) return { account: parsed.data };
  const problems = schemaProblems(parsed.error.issues, new Map()).map(({ place, text }) => [place, text] as const);
  return { problems: Object.fromEntries(problems) };
}

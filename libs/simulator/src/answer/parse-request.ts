import { z } from 'zod';

export type RequestIssue = z.core.$ZodIssue;
export type IssueText = z.core.$ZodErrorMap;

/** Parses a request by its schema. Otherwise returns the first problem in the provider's words. */
export function parseRequest<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  text: IssueText,
): { readonly request: z.output<Schema> } | { readonly issue: RequestIssue } {
  const { data, error } = schema.safeParse(value, { error: text, reportInput: true });
  const issue = error?.issues[0];
  return issue === undefined ? { request: data as z.output<Schema> } : { issue: innermost(issue) };
}

/** Members that are known but not validated. */
export function unchecked(...names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, z.unknown().optional()]));
}

/** For a union, the issue of the alternative that matches deepest. */
function innermost(issue: RequestIssue): RequestIssue {
  if (issue.code !== 'invalid_union') return issue;
  const [deepest] = issue.errors.flatMap(([first]) => first ?? []).toSorted((a, b) => b.path.length - a.path.length);
  return deepest === undefined ? issue : innermost({ ...deepest, path: [...issue.path, ...deepest.path] });
}

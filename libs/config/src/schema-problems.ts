import type { z } from 'zod';
import { pathText } from './env-references.ts';

export interface PlacedProblem {
  /** Empty for the whole file. */
  readonly place: string;
  readonly text: string;
  /**
   * Whether the problem stands for every text, whatever a reference resolves to: the place takes no
   * string, or no such key exists.
   */
  readonly isOfAnyText: boolean;
}

/**
 * Describes what does not match a schema, in readable messages that never repeat a value. Paths in
 * `known` already have a reported problem.
 */
export function schemaProblems(
  issues: readonly z.core.$ZodIssue[],
  known: ReadonlyMap<string, string>,
): readonly PlacedProblem[] {
  return issues.flatMap((issue) => {
    const place = pathText(issue.path);
    // A reference that could not be resolved already has a reported problem; a union fails because
    // of a part of it.
    if (known.has(place)) return [];
    if (issue.code === 'invalid_union' && [...known.keys()].some((path) => path.startsWith(`${place}.`))) return [];
    if (issue.code === 'invalid_union') {
      const meant = meantOption(issue);
      if (meant !== undefined) return schemaProblems(meant, known);
    }
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        place: pathText([...issue.path, key]),
        text: 'this key does not exist',
        isOfAnyText: true,
      }));
    }
    const isOfAnyText = issue.code === 'invalid_type' || issue.code === 'invalid_union';
    return [{ place, text: issueText(issue), isOfAnyText }];
  });
}

/** The problems of the one option whose keys the value has, at their paths in the file. */
function meantOption({ errors, path }: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] | undefined {
  const options = errors.filter((issues) => issues.every((issue) => issue.path.length > 0));
  return options.length === 1 ? options[0]?.map((issue) => ({ ...issue, path: [...path, ...issue.path] })) : undefined;
}

function issueText(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.message.endsWith('received undefined') ? 'is missing' : `must be a value of type ${issue.expected}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'invalid_key':
      return issue.issues[0]?.message ?? issue.message;
    default:
      return issue.message.charAt(0).toLowerCase() + issue.message.slice(1);
  }
}

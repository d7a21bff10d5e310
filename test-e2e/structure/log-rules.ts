import { isTest, type SourceTree, type Violation } from './source-tree.ts';

// Operators search logs by field: every field has one spelling, snake_case, in every service.

/**
 * Fields of log lines that are not in snake_case, and calls of a logger whose fields cannot be
 * checked.
 */
export function logFieldsInOtherCases(tree: SourceTree): readonly Violation[] {
  return [...tree].flatMap(([file, text]) => {
    if (isTest(file) || !file.endsWith('.ts') || !/^(libs|services)\//.test(file) || isTool(file)) return [];
    return [...loggedFields(text), ...describedFields(text)].map((problem) => ({ file, problem }));
  });
}

/** A program for developers, and code of browsers. */
function isTool(file: string): boolean {
  return /^(libs\/testkit|libs\/conformance|services\/admin\/console)\//.test(file);
}

/** The first argument of a call is the object with the fields, or the message. */
function loggedFields(text: string): readonly string[] {
  return [...text.matchAll(loggerCall)].flatMap(({ index, 0: call }) => {
    const argument = text.slice(index + call.length);
    if (/^\s*\{/.test(argument)) return camelCaseKeys(objectText(argument)).map((key) => `logs the field ${key}`);
    return /^\s*['`]/.test(argument) || /^\s*(fields|keptInMemory|unreachableText|toLogFields)\b/.test(argument)
      ? []
      : [`logs fields that are no object literal: ${argument.slice(0, 30).split('\n')[0]}`];
  });
}

const loggerCall = /\blogger(?:\?)?(?:\.(?:debug|info|warn|error|fatal)|\[level\])\(|\bwarn\(\w+, /g;

/** Objects that are named as fields of a log line, and functions that make them. */
function describedFields(text: string): readonly string[] {
  return [...text.matchAll(/\bconst fields = (?=\{)|\bfunction (?:toLogFields|attemptFields)\b[\s\S]*?return (?=\{)/g)]
    .flatMap(({ index, 0: before }) => camelCaseKeys(objectText(text.slice(index + before.length))))
    .map((key) => `logs the field ${key}`);
}

/** The text of the object that begins here, up to its closing brace. */
function objectText(text: string): string {
  let depth = 0;
  for (const [index, character] of [...text].entries()) {
    if (character === '{') depth++;
    if (character === '}' && --depth === 0) return text.slice(0, index + 1);
  }
  return text;
}

/** Keys with a value, and shorthand keys. */
function camelCaseKeys(object: string): readonly string[] {
  const keys = [...object.matchAll(/[{,]\s*([A-Za-z_$][\w$]*)\s*(?=[:,}])/g)].map(([, key = '']) => key);
  return keys.filter((key) => /[A-Z]/.test(key));
}

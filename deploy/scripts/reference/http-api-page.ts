import { wrapText } from '@gateway/presentation';
import { anchorOf } from '../docs/anchors.ts';
import { code, fenced, pageHead, paragraphs, table } from './markdown.ts';
import { type Content, nameOf, type OpenApi, type Operation, type Response, type Schema } from './openapi.ts';
import { fieldsOf, typeOf } from './schema-fields.ts';

/** docs/reference/http-api.md: the requests and answers of the HTTP API. */
export function httpApiPage(api: OpenApi): string {
  const operations = Object.entries(api.paths).flatMap(([path, { get, post }]) => [
    ...(get === undefined ? [] : [{ name: `GET ${path}`, operation: get }]),
    ...(post === undefined ? [] : [{ name: `POST ${path}`, operation: post }]),
  ]);
  const overview = operations.map(({ name, operation }) => [
    `[${code(name)}](#${anchorOf(name)})`,
    `${operation.summary}.`,
  ]);
  return `${paragraphs(
    pageHead({ order: 20, title: 'HTTP API', source: 'docs/openapi.yaml' }),
    '[openapi.yaml](../openapi.yaml) is the same for tools. [Errors](errors.md) explains the codes, and how to react to them.',
    table(['endpoint', 'does'], overview),
    wrapText(api.info.description),
    ...operations.map(({ name, operation }) => operationSection(name, operation, api)),
    '## Headers',
    table(
      ['header', 'meaning'],
      headersOf(api).map(([name, { description }]) => [code(name), description]),
    ),
    '## Schemas',
    ...Object.entries(api.components.schemas).map(([name, schema]) => schemaSection(name, schema)),
  )}\n`;
}

function operationSection(name: string, operation: Operation, { components }: OpenApi): string {
  const { summary, description, security, parameters = [], requestBody } = operation;
  const responses = Object.entries(operation.responses).map(
    ([status, { $ref }]) => [status, only(components.responses, $ref)] as const,
  );
  const tokens = security
    .flatMap((scheme) => Object.keys(scheme))
    .map((scheme) => components.securitySchemes[scheme]?.description);
  const headers = parameters.map(({ $ref }) => only(components.parameters, $ref));
  return paragraphs(
    `## ${name}`,
    `${summary}.`,
    wrapText(description),
    `Token: ${tokens.join(' or ')}.`,
    table(
      ['request header', 'value', 'meaning'],
      headers.map((header) => [code(header.name), typeOf(header.schema), header.description]),
    ),
    requestBody === undefined ? '' : wrapText(`**Body:** ${bodyOf(requestBody.content)}. ${requestBody.description}`),
    requestBody === undefined ? '' : examplesOf(requestBody.content),
    table(
      ['status', 'answer', 'body'],
      responses.map(([status, response]) => [
        status === 'default' ? 'others' : status,
        response.description,
        response.content === undefined ? '' : bodyOf(response.content),
      ]),
    ),
    table(['header', 'with status'], headerRows(responses)),
    ...responses.filter(([status]) => status === '200').map(([, { content = {} }]) => answerOf(content)),
  );
}

/**
 * The type of a body: "[ChatCompletion](#chatcompletion), or events of
 * [ChatStreamEvent](#chatstreamevent)".
 */
function bodyOf(content: Content): string {
  const bodies = Object.entries(content).map(([, { schema, 'x-event-schema': event }]) => {
    if (event !== undefined) return `events of ${typeOf(event as Schema)}`;
    const named = [schema, ...(schema.allOf ?? []), ...(schema.anyOf ?? [])].filter(({ $ref }) => $ref !== undefined);
    return named.map(typeOf).join(' or ');
  });
  return bodies.filter((text) => text !== '').join(', or ');
}

function answerOf(content: Content): string {
  const events = Object.values(content).flatMap(({ 'x-event-schema': event, schema }) =>
    event === undefined ? [] : [schema],
  );
  return paragraphs(
    ...events.map(({ description = '' }) => wrapText(`**Stream:** ${description}`)),
    examplesOf(content),
  );
}

function examplesOf(content: Content): string {
  const examples = Object.values(content).flatMap(({ examples = {} }) => Object.values(examples));
  return paragraphs(
    ...examples.flatMap(({ summary, value }) => [
      summary === undefined ? '' : `${summary}:`,
      typeof value === 'string' ? fenced('text', value) : fenced('json', JSON.stringify(value, undefined, 2)),
    ]),
  );
}

/** Each header of an operation's answers, with the statuses that have it. */
function headerRows(responses: readonly (readonly [string, Response])[]): readonly (readonly string[])[] {
  const names = [...new Set(responses.flatMap(([, { headers = {} }]) => Object.keys(headers)))];
  return names.map((name) => {
    const [having, lacking] = [true, false].map((has) =>
      responses
        .filter(([, { headers = {} }]) => name in headers === has)
        .map(([status]) => (status === 'default' ? 'others' : status)),
    ) as [string[], string[]];
    if (lacking.length === 0) return [code(name), 'all'];
    return [code(name), lacking.length < having.length ? `all but ${lacking.join(', ')}` : having.join(', ')];
  });
}

/** All headers of answers by name. */
function headersOf({ components }: OpenApi) {
  const named = Object.values(components.responses).flatMap(({ headers = {} }) => Object.entries(headers));
  return [...new Map(named)].map(([name, { $ref }]) => [name, only(components.headers, $ref)] as const);
}

function schemaSection(name: string, schema: Schema): string {
  const fields = fieldsOf(schema);
  return paragraphs(
    `### ${name}`,
    wrapText(schema.description ?? ''),
    fields.length === 0 || schema.type === undefined ? wrapText(`${capitalised(typeOf(schema))}.`) : '',
    table(
      ['field', 'value', 'meaning'],
      fields.map(({ path, isRequired, type, description }) => [
        `${code(path)}${isRequired ? ', required' : ''}`,
        type,
        description,
      ]),
    ),
  );
}

function only<T>(components: Readonly<Record<string, T>>, $ref: string): T {
  const found = components[nameOf($ref)];
  if (found === undefined) throw new Error(`docs/openapi.yaml has nothing at ${$ref}`);
  return found;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

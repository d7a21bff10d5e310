import {
  type AnyDesc,
  type DescEnum,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  type DescService,
  ScalarType,
} from '@bufbuild/protobuf';
import { getComments } from '@bufbuild/protoplugin';
import { wrapText } from '@gateway/presentation';
import { anchorOf } from '../docs/anchors.ts';
import type { AdminContracts } from './admin-contracts.ts';
import { code, fenced, pageHead, paragraphs, table } from './markdown.ts';

/** docs/reference/admin-api.md: the API of the console and gatewayctl, for other programs. */
export function adminApiPage({ services, types }: AdminContracts): string {
  return `${paragraphs(
    pageHead({ order: 40, title: 'Admin API', source: 'proto/gateway/admin/v1' }),
    introduction,
    table(
      ['service', 'does'],
      services.map((service) => [`[${service.name}](#${anchorOf(service.name)})`, commentOf(service)]),
    ),
    ...services.map(serviceSection),
    '## Messages',
    ...types.map((type) => (type.kind === 'enum' ? enumSection(type) : messageSection(type))),
  )}\n`;
}

const introduction = `The console and \`gatewayctl\` call this API, and your own programs can too. A call is
\`POST /gateway.admin.v1.<service>/<method>\` with JSON, at the [admin port](../operate/ports.md), with the token of an
[operator](../operate/operators.md):

${fenced(
  'sh',
  `curl -H "authorization: Bearer $GATEWAY_ADMIN_TOKEN" -H 'content-type: application/json' -d '{}' \\
  127.0.0.1:9090/gateway.admin.v1.SessionService/GetSession`,
)}

An error has an HTTP status and a body such as \`{"code":"permission_denied","message":"…"}\`. With
\`invalid_argument\`, the detail [InvalidFields](#invalidfields) lists the problems by field. The protocol is
[Connect](https://connectrpc.com/docs/protocol), and you can generate clients from the
[contracts](../../proto/gateway/admin/v1). Methods that stream answers need such a client.

An absent field has its default: an empty text, 0, false or an empty list. In JSON, 64-bit integers are strings.`;

function serviceSection(service: DescService): string {
  return paragraphs(
    `## ${service.name}`,
    wrapText(commentOf(service)),
    ...service.methods.map((method) => methodSection(service, method)),
  );
}

function methodSection({ typeName }: DescService, method: DescMethod): string {
  const answer = method.methodKind === 'server_streaming' ? 'Each answer' : 'Answer';
  return paragraphs(
    `### ${method.name}`,
    wrapText(commentOf(method)),
    code(`POST /${typeName}/${method.name}`),
    fieldTable('Request', method.input),
    fieldTable(answer, method.output),
  );
}

function fieldTable(title: string, message: DescMessage): string {
  if (message.fields.length === 0) return `${title}: no fields.`;
  return table([`${title} field`, 'value', 'meaning'], message.fields.map(fieldRow));
}

function messageSection(message: DescMessage): string {
  return paragraphs(
    `### ${shortName(message)}`,
    wrapText(commentOf(message)),
    message.fields.length === 0 ? 'No fields.' : table(['field', 'value', 'meaning'], message.fields.map(fieldRow)),
  );
}

function enumSection(description: DescEnum): string {
  const values = description.values.filter(({ number }) => number !== 0);
  return paragraphs(
    `### ${shortName(description)}`,
    wrapText(commentOf(description)),
    table(
      ['value', 'meaning'],
      values.map((value) => [code(value.name), commentOf(value)]),
    ),
  );
}

function fieldRow(field: DescField): readonly string[] {
  const oneOf = field.oneof === undefined ? '' : `One of ${code(field.oneof.name)}.`;
  return [code(field.jsonName), typeOf(field), `${oneOf} ${commentOf(field)}`];
}

function typeOf(field: DescField): string {
  if (field.fieldKind === 'list') return `list of ${valueType(field)}`;
  if (field.fieldKind === 'map') return `object: ${valueType(field)} by text`;
  return valueType(field);
}

function valueType({ message, enum: words, scalar }: DescField): string {
  const named = message ?? words;
  if (named !== undefined) return wellKnown[named.typeName] ?? `[${shortName(named)}](#${anchorOf(shortName(named))})`;
  return scalar === undefined ? '' : (scalars[scalar] ?? 'whole number');
}

const wellKnown: Readonly<Record<string, string>> = {
  'google.protobuf.Timestamp': 'moment, `2026-11-20T12:00:00Z`',
  'google.protobuf.Duration': 'duration, `1.5s`',
};

const scalars: Partial<Readonly<Record<ScalarType, string>>> = {
  [ScalarType.STRING]: 'text',
  [ScalarType.BOOL]: 'true or false',
  [ScalarType.DOUBLE]: 'number',
  [ScalarType.FLOAT]: 'number',
  [ScalarType.BYTES]: 'base64',
  [ScalarType.INT64]: 'whole number, as text',
  [ScalarType.UINT64]: 'whole number, as text',
};

/** "TokenListing" of the admin API, "identity.v1.Token" of another service. */
function shortName({ typeName }: DescMessage | DescEnum): string {
  return typeName.replace(/^gateway\.(admin\.v1\.)?/, '');
}

/** The comment above it, or on its line. */
function commentOf(description: Exclude<AnyDesc, DescFile>): string {
  const { leading = '', trailing = '' } = getComments(description);
  return escaped(
    `${leading} ${trailing}`
      .split('\n')
      .map((line) => line.trim())
      .join('\n')
      .trim(),
  );
}

/** Escapes text that Markdown would read as markup: names such as `<pool>`. */
function escaped(text: string): string {
  return text
    .replaceAll('<', '\\<')
    .replaceAll(/\b([A-Za-z]+(?:_[A-Za-z]+)+)\b/g, '`$1`')
    .replaceAll(/\{\{/g, '&#123;&#123;');
}

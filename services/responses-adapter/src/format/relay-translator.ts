import {
  type AttemptFailure,
  type ClientRequest,
  choosesTier,
  type PreparedCall,
  type Translator,
} from '@gateway/adapter-kit';
import {
  asString,
  BufferList,
  type ByteRange,
  JsonBody,
  type JsonMember,
  type NamedJsonMember,
  type Replacement,
  readJsonBody,
  scanInTurns,
  unlimited,
} from '@gateway/json';
import { EventLoopYield } from '@gateway/time';
import { RelayAnswerReader } from './relay-answer-reader.ts';

/**
 * Relays Responses requests to a Responses provider: bytes in both directions, and the provider's
 * own errors.
 * @see spec "POST /v1/responses"
 */
export const relayTranslator: Translator = {
  prepare(request: ClientRequest): PreparedCall {
    const body = readJsonBody(request.body, request.members);
    return { ...callWith(body, request), amend: (failure) => amend(failure, body, request) };
  },
  passesErrorsOn: true,
};

function callWith(body: JsonBody, { lease, forwardHeaders, nowMs, maxEventBytes }: ClientRequest): PreparedCall {
  return {
    path: '/responses',
    headers: forwardHeaders,
    body: spliceRequest(body, lease.model),
    answer: new RelayAnswerReader({ nowMs, maxEventBytes }),
    choosesTier: choosesTier(body, ownTiers),
  };
}

/** With these the account's own limits apply. */
const ownTiers = { service_tier: [null, 'auto', 'default'] } as const;

/**
 * A conversation that has moved to another account contains reasoning that this account can't read.
 */
async function amend(
  { meaning }: AttemptFailure,
  body: JsonBody,
  request: ClientRequest,
): Promise<PreparedCall | undefined> {
  const readable = meaning === 'unreadable_reasoning' ? await withoutEncryptedReasoning(body) : undefined;
  return readable && callWith(readable, request);
}

/**
 * The client's body for the provider: `model` is replaced, `stream` is true, `store` is false, and
 * `max_output_tokens` and `client_metadata` are removed, however often and however escaped they
 * were written. All other bytes are the client's, in chunks that share the client's memory.
 * @see spec "POST /v1/responses"
 */
export function spliceRequest({ source, namedMembers }: JsonBody, model: string): readonly Buffer[] {
  const fixed = new Map([
    ['model', JSON.stringify(model)],
    ['stream', 'true'],
    ['store', 'false'],
  ]);
  let keptBefore = false;
  const replacements = namedMembers.flatMap((member, index): readonly Replacement[] => {
    if (removedKeys.has(member.key)) return [removalOf(namedMembers, index, keptBefore)];
    keptBefore = true;
    const text = fixed.get(member.key);
    return text === undefined ? [] : [{ start: member.valueStart, end: member.valueEnd, text }];
  });
  const present = new Set(namedMembers.map((member) => member.key));
  const added = [...fixed].filter(([key]) => !present.has(key)).map(([key, value]) => `"${key}":${value}`);
  const end = namedMembers.at(-1)?.valueEnd ?? source.indexOf(openBrace, 0) + 1;
  const addition = { start: end, end, text: (keptBefore ? ',' : '') + added.join(',') };
  return source.spliced(added.length === 0 ? replacements : [...replacements, addition]);
}

const openBrace = 0x7b;

const removedKeys: ReadonlySet<string> = new Set(['max_output_tokens', 'client_metadata']);

/**
 * Removes a member with one comma: the one before it, or the one after it when nothing remains
 * before it.
 */
function removalOf(members: readonly NamedJsonMember[], index: number, keptBefore: boolean): Replacement {
  const [before, member, after] = [members[index - 1], members[index], members[index + 1]];
  const { keyStart = 0, valueEnd = 0 } = member ?? {};
  return keptBefore
    ? { start: before?.valueEnd ?? keyStart, end: valueEnd, text: '' }
    : { start: keyStart, end: after?.keyStart ?? valueEnd, text: '' };
}

/**
 * The client's body without the reasoning in its `input` that only the account that created it can
 * read; undefined when there is none. Calls and messages lose their ids too, because an id binds an
 * item to the reasoning before it. All other bytes are the client's.
 *
 * A compaction stays: it represents everything that was said before, and a model without it would
 * continue as if nothing had been said.
 */
export async function withoutEncryptedReasoning(body: JsonBody): Promise<JsonBody | undefined> {
  const { source, members } = body;
  const input = body.member('input');
  if (input === undefined) return undefined;
  const { valueStart, valueEnd } = input;
  const items = await scanInTurns(source.views(valueStart, valueEnd), { ...unlimited, ofArray: true });
  const yields = new EventLoopYield();
  const kept: (readonly Buffer[])[] = [];
  for (const member of items.members) {
    const item = await readableItem(source, {
      start: valueStart + member.valueStart,
      end: valueStart + member.valueEnd,
    });
    if (item !== undefined) kept.push(item);
    await yields.spend(bytesPerItem);
  }
  if (kept.length === items.members.length) return undefined;
  const array = inBrackets('[', kept, ']');
  const grown = array.reduce((sum, { length }) => sum + length, 0) - (valueEnd - valueStart);
  const pieces = [...source.views(0, valueStart), ...array, ...source.views(valueEnd, source.length)];
  return new JsonBody(new BufferList(pieces), {
    topLevelIsObject: true,
    members: members.map((member) => (member.valueEnd < valueEnd ? member : moved(member, valueStart, grown))),
  });
}

/** What an item costs besides its bytes. */
const bytesPerItem = 512;

/** A member that ends with the changed value, or starts after it. */
function moved({ keyStart, keyEnd, valueStart, valueEnd }: JsonMember, changedAt: number, by: number): JsonMember {
  if (valueStart <= changedAt) return { keyStart, keyEnd, valueStart, valueEnd: valueEnd + by };
  return { keyStart: keyStart + by, keyEnd: keyEnd + by, valueStart: valueStart + by, valueEnd: valueEnd + by };
}

/**
 * The item in the client's bytes, without its id if the provider does not need it. Undefined for
 * encrypted reasoning. What is not an object is refused by the provider anyway.
 */
async function readableItem(source: BufferList, { start, end }: ByteRange): Promise<readonly Buffer[] | undefined> {
  const views = source.views(start, end);
  if (source.at(start) !== openBrace) return views;
  const item = new JsonBody(new BufferList(views), await scanInTurns(views, unlimited));
  const type = typeOf(item);
  if (type === 'reasoning' && item.member('encrypted_content') !== undefined) return undefined;
  if (item.member('id') === undefined || !typesBoundById.has(type)) return views;
  const kept = item.namedMembers.filter(({ key }) => key !== 'id');
  return inBrackets(
    '{',
    kept.map(({ keyStart, valueEnd }) => item.source.views(keyStart, valueEnd)),
    '}',
  );
}

/**
 * Items whose id the provider does not need. The provider's own tools are identified only by their
 * ids.
 */
const typesBoundById: ReadonlySet<string | undefined> = new Set(['message', 'function_call', 'custom_tool_call']);

/** An item without a type is a message. */
function typeOf(json: JsonBody): string | undefined {
  return json.member('type') === undefined ? 'message' : asString(json.value('type'));
}

function inBrackets(open: string, parts: readonly (readonly Buffer[])[], close: string): readonly Buffer[] {
  const separated = parts.flatMap((part, index) => (index === 0 ? part : [comma, ...part]));
  return [Buffer.from(open), ...separated, Buffer.from(close)];
}

const comma = Buffer.from(',');

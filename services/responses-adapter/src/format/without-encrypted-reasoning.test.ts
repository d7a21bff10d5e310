import { readJsonBody } from '@gateway/json';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withoutEncryptedReasoning } from './relay-translator.ts';

const strip = async (body: string) => {
  const stripped = await withoutEncryptedReasoning(readJsonBody(Buffer.from(body)));
  if (stripped === undefined) return undefined;
  const text = stripped.bytes.toString();
  // The members are where a scan would find them.
  expect(stripped.members).toEqual(readJsonBody(stripped.bytes).members);
  return text;
};
const stripped = async (input: readonly unknown[]) => {
  const text = await strip(JSON.stringify({ model: 'm', input }));
  return text === undefined ? undefined : JSON.parse(text).input;
};

const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAAAsealed' };

describe('a request without its encrypted reasoning', () => {
  it('has none of it, and no ids that were bound to it', async () => {
    expect(
      await stripped([
        { role: 'user', content: 'Hi' },
        reasoning,
        { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}' },
        { type: 'function_call_output', id: 'fco_1', call_id: 'call_1', output: 'x' },
        reasoning,
        { id: 'msg_1', type: 'message', role: 'assistant', content: [], phase: 'final_answer' },
        { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_2', name: 'g', input: '' },
      ]),
    ).toEqual([
      { role: 'user', content: 'Hi' },
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', id: 'fco_1', call_id: 'call_1', output: 'x' },
      { type: 'message', role: 'assistant', content: [], phase: 'final_answer' },
      { type: 'custom_tool_call', call_id: 'call_2', name: 'g', input: '' },
    ]);
  });

  it('keeps the ids of the provider’s own tools, and reasoning that anyone can read', async () => {
    const items = [
      { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      { type: 'reasoning', id: 'rs_2', summary: [] },
    ];
    expect(await stripped([...items, reasoning])).toEqual(items);
  });

  it('keeps a compaction, without which the model would have forgotten everything', async () => {
    const compaction = { type: 'compaction', encrypted_content: 'gAAAAAsealed' };
    expect(await stripped([compaction, reasoning])).toEqual([compaction]);
    expect(await stripped([compaction])).toBeUndefined();
  });

  it('keeps every other byte', async () => {
    const body =
      '{ "a" : 12345678901234567890, "input": [ {"role":"user", "content":"h\\u0069, [x]"} , {"encrypted_content":"s","type":"reas\\u006fning"}, 7 ],"z":1e400 }';
    expect(await strip(body)).toBe(
      '{ "a" : 12345678901234567890, "input": [{"role":"user", "content":"h\\u0069, [x]"},7],"z":1e400 }',
    );
  });

  it.each(['{}', '{"input":[]}', '{"input":[{"type":"message","id":"msg_1"}]}', '{"input":["reasoning",null]}'])(
    'is not there for %s',
    async (body) => {
      expect(await strip(body)).toBeUndefined();
    },
  );

  it('may be empty', async () => {
    expect(await stripped([reasoning])).toEqual([]);
  });

  it('is the rest of any input', async () => {
    const item = fc.oneof(fc.constant(reasoning), fc.dictionary(fc.string(), fc.jsonValue()));
    await fc.assert(
      fc.asyncProperty(fc.array(item, { maxLength: 8 }), async (items) => {
        const rest = JSON.parse(JSON.stringify(items.filter((one) => one !== reasoning)));
        const expected = rest.length === items.length ? undefined : rest.map(withoutBoundId);
        expect(await stripped(items)).toEqual(expected);
      }),
    );
  });
});

function withoutBoundId(item: Record<string, unknown>) {
  const { id: _, ...rest } = item;
  return item.type === undefined ? rest : item;
}

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { post, postMessages, readEvents, readJson } from '../__fixtures__/test-requests.ts';
import { type Simulator, startSimulator } from '../simulator.ts';

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});

afterAll(async () => simulator[Symbol.asyncDispose]());

const user = (content: unknown) => ({ role: 'user', content });

/** The blocks of an answer with thinking from this account. */
async function blocksOf(account: string, text = '#reason 5 Hi', fields: object = {}) {
  const { content } = await readJson(
    postMessages(simulator, { stream: false, messages: [user(text)], ...fields }, { account }),
  );
  return content;
}

/** The next turn of a conversation, with these blocks as the previous answer. */
const nextTurn = (blocks: readonly unknown[]) => [user('Hi'), { role: 'assistant', content: blocks }, user('And now?')];

async function sendBack(account: string, blocks: readonly unknown[]) {
  const answer = await postMessages(simulator, { stream: false, messages: nextTurn(blocks) }, { account });
  return { status: answer.status, error: answer.status === 200 ? undefined : (await readJson(answer)).error };
}

const refused = (message: string) => ({ status: 400, error: { type: 'invalid_request_error', message } });
const invalidSignature = refused('messages.1.content.0: Invalid `signature` in `thinking` block');

describe('the thinking of a message', () => {
  it('is signed, differently in every answer', async () => {
    const [[one], [other]] = [await blocksOf('a'), await blocksOf('a')];
    expect(one.signature).toMatch(/^gAAAAA[\w-]{300,}$/);
    expect(other.signature).not.toBe(one.signature);
  });

  it.each([
    ['shown', {}],
    ['hidden', { model: 'claude-sonnet-5', thinking: { type: 'adaptive', display: 'omitted' } }],
  ])('can be sent back by any account, %s or not', async (_how, fields) => {
    const blocks = await blocksOf('a', '#reason 5 Hi', fields);
    expect(await sendBack('a', blocks)).toEqual({ status: 200, error: undefined });
    expect(await sendBack('b', blocks)).toEqual({ status: 200, error: undefined });
  });

  it('is signed in a stream as in a whole message', async () => {
    const events = (await readEvents(postMessages(simulator, { messages: [user('#reason 5 Hi')] }))).map(({ data }) =>
      JSON.parse(data),
    );
    const deltas = events.flatMap(({ index, delta }) => (index === 0 && delta !== undefined ? [delta] : []));
    const thinking = deltas.map((delta) => delta.thinking ?? '').join('');
    const signature = deltas.find(({ type }) => type === 'signature_delta')?.signature;
    expect(await sendBack('a', [{ type: 'thinking', thinking, signature }])).toMatchObject({ status: 200 });
    expect(await sendBack('a', [{ type: 'thinking', thinking: 'Hm', signature }])).toEqual(invalidSignature);
  });

  it('is not taken back with another text, or with a damaged signature', async () => {
    const [block] = await blocksOf('a');
    expect(await sendBack('a', [{ ...block, thinking: `${block.thinking} ` }])).toEqual(invalidSignature);
    expect(await sendBack('a', [{ ...block, signature: block.signature.slice(0, -1) }])).toEqual(invalidSignature);
  });

  it.each(['opaque', 'ErUBCkYIBxgCIkD'])('passes with the signature %j, which cannot be judged', async (signature) => {
    expect(await sendBack('a', [{ type: 'thinking', thinking: 'Hm', signature }])).toMatchObject({ status: 200 });
  });

  it('is named by its place in the request', async () => {
    const [thinking, text] = await blocksOf('a');
    expect(await sendBack('a', [text, { ...thinking, thinking: 'Hm' }])).toEqual(
      refused('messages.1.content.1: Invalid `signature` in `thinking` block'),
    );
  });

  it('is verified before its tokens are counted, too', async () => {
    const [thinking] = await blocksOf('a');
    const count = async (block: unknown) => {
      const body = { model: 'claude-haiku-4-5', messages: nextTurn([block]) };
      return (await post(`${simulator.url}/v1/messages/count_tokens`, body, { account: 'a' })).status;
    };
    expect([await count(thinking), await count({ ...thinking, thinking: 'Hm' })]).toEqual([200, 400]);
  });
});

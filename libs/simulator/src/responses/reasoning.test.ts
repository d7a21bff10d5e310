import OpenAI from 'openai';
import type { ResponseOutputItem } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postResponses, readEvents, readJson } from '../__fixtures__/test-requests.ts';
import { type Simulator, startSimulator } from '../simulator.ts';

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});

afterAll(async () => simulator[Symbol.asyncDispose]());

const weather = { type: 'function' as const, name: 'weather', strict: false, parameters: { type: 'object' } };
const ask = '#reason 5 #tool weather {"city":"Delft"}';

/** An account's answer that reasons and then calls a tool. */
async function answerTo(account: string, input = ask) {
  const client = new OpenAI({ apiKey: account, baseURL: `${simulator.url}/v1`, maxRetries: 0 });
  const { output } = await client.responses.create({ model: 'gpt-5.5', input, tools: [weather] });
  const [reasoning, second] = output;
  if (reasoning?.type !== 'reasoning' || second === undefined) throw new Error('The answer has no reasoning.');
  return { output, reasoning, second, encrypted: reasoning.encrypted_content ?? '' };
}

/**
 * The next turn of a conversation: the question, the parts of the answer that are sent back, and
 * the outputs of its calls.
 */
function nextTurn(sentBack: readonly ResponseOutputItem[]) {
  const outputs = sentBack.flatMap((item) =>
    item.type === 'function_call'
      ? [{ type: 'function_call_output', call_id: item.call_id, output: '18 degrees' }]
      : [],
  );
  return [{ role: 'user', content: ask }, ...sentBack, ...outputs, { role: 'user', content: 'And now?' }];
}

async function refusalOf(account: string, input: unknown) {
  const answer = await postResponses(simulator, { input }, { account });
  return { status: answer.status, error: answer.status === 200 ? undefined : (await readJson(answer)).error };
}

const ofAnotherAccount = {
  message:
    'The encrypted content gAAA... could not be verified. Reason: Encrypted content organization_id did not match the target organization.',
  type: 'invalid_request_error',
  param: null,
  code: 'invalid_encrypted_content',
};
const damaged = {
  ...ofAnotherAccount,
  message:
    'The encrypted content gAAA... could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
};

describe('the reasoning of a response', () => {
  it('is encrypted, differently in every answer', async () => {
    const [one, other] = [await answerTo('a'), await answerTo('a')];
    expect(one.encrypted).toMatch(/^gAAAAA[\w-]{300,}$/);
    expect(other.encrypted).not.toBe(one.encrypted);
  });

  it('has the same encrypted content in every event that shows it', async () => {
    const events = (await readEvents(postResponses(simulator, { input: ask }))).map(({ data }) => JSON.parse(data));
    const items = events.flatMap(({ item, response }) => [item ?? [], response?.output ?? []].flat());
    const contents = items.filter(({ type }) => type === 'reasoning').map((item) => item.encrypted_content);
    expect(contents).toHaveLength(3);
    expect(new Set(contents).size).toBe(1);
  });

  it('may be of several items', async () => {
    const { output } = await answerTo('a', '#reason 2 #reason 3 Hi');
    expect(output.map(({ type }) => type)).toEqual(['reasoning', 'reasoning', 'message']);
  });

  it('can be sent back by the account that got it', async () => {
    const { output } = await answerTo('a');
    const next = await readJson(postResponses(simulator, { stream: false, input: nextTurn(output) }));
    expect(next.output[0].content[0].text).toBe('weather returned: 18 degrees\necho: And now?');
  });

  it('can be sent back to a simulator that was started later', async () => {
    const { output } = await answerTo('a');
    await using later = await startSimulator();
    expect((await postResponses(later, { input: nextTurn(output) })).status).toBe(200);
    expect((await postResponses(later, { input: nextTurn(output) }, { account: 'b' })).status).toBe(400);
  });
});

describe('encrypted content that comes back', () => {
  it('is not read for another account', async () => {
    const { output } = await answerTo('a');
    expect(await refusalOf('b', nextTurn(output))).toEqual({ status: 400, error: ofAnotherAccount });
  });

  it.each(['reasoning', 'compaction'])('is verified in an item of type %s', async (type) => {
    const { encrypted } = await answerTo('a');
    const input = (encrypted_content: string) => [
      { type, id: 'item_1', summary: [], encrypted_content },
      { role: 'user', content: 'Hi' },
    ];
    expect(await refusalOf('a', input(encrypted))).toEqual({ status: 200, error: undefined });
    expect(await refusalOf('b', input(encrypted))).toEqual({ status: 400, error: ofAnotherAccount });
    expect(await refusalOf('a', input(`${encrypted.slice(0, -1)}!`))).toEqual({ status: 400, error: damaged });
    expect(await refusalOf('a', input('gAAAAABnot-one-of-ours'))).toEqual({ status: 400, error: damaged });
  });

  it.each(['opaque', '', null])('passes when it is %j, which only the one who made it could judge', async (content) => {
    const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: content };
    expect(await refusalOf('a', [item, { role: 'user', content: 'Hi' }])).toMatchObject({ status: 200 });
  });

  it('is no matter where nothing is encrypted', async () => {
    const { encrypted } = await answerTo('a');
    expect(await refusalOf('b', [{ role: 'user', content: encrypted }])).toMatchObject({ status: 200 });
  });
});

describe('an item that came right after reasoning', () => {
  const withoutReasoning = (id: string, type: string, reasoningId: string) => ({
    status: 400,
    error: {
      message: `Item '${id}' of type '${type}' was provided without its required 'reasoning' item: '${reasoningId}'.`,
      type: 'invalid_request_error',
      param: 'input',
      code: null,
    },
  });

  it.each([
    ['function_call', ask],
    ['message', '#reason 5 Hi'],
  ])('is refused without it: a %s', async (type, input) => {
    const { output, reasoning, second } = await answerTo('a', input);
    expect(second.type).toBe(type);
    expect(await refusalOf('a', nextTurn(output.slice(1)))).toEqual(
      withoutReasoning(second.id ?? '', type, reasoning.id),
    );
  });

  it('needs the reasoning of its own answer, and of that the item right before it', async () => {
    const [one, other] = [await answerTo('a'), await answerTo('a')];
    expect(await refusalOf('a', nextTurn([other.reasoning, one.second]))).toEqual(
      withoutReasoning(one.second.id ?? '', 'function_call', one.reasoning.id),
    );
    const { output } = await answerTo('a', '#reason 1 #reason 2 Hi');
    expect(await refusalOf('a', nextTurn(output.slice(1)))).toMatchObject({ status: 200 });
    expect(await refusalOf('a', nextTurn([...output.slice(0, 1), ...output.slice(2)]))).toMatchObject({ status: 400 });
  });

  it('passes without its id', async () => {
    const { second } = await answerTo('a');
    const [user, call, ...rest] = nextTurn([second]);
    expect(await refusalOf('a', [user, { ...call, id: undefined }, ...rest])).toMatchObject({ status: 200 });
  });

  it('passes with reasoning that has lost its id, but not its encrypted content', async () => {
    const { encrypted, second, reasoning } = await answerTo('a');
    const other = await answerTo('a');
    const [user, call, ...rest] = nextTurn([second]);
    const itemOf = (encrypted_content: string) => ({ type: 'reasoning', summary: [], encrypted_content });
    expect(await refusalOf('a', [user, itemOf(encrypted), call, ...rest])).toMatchObject({ status: 200 });
    expect(await refusalOf('a', [user, itemOf(other.encrypted), call, ...rest])).toEqual(
      withoutReasoning(second.id ?? '', 'function_call', reasoning.id),
    );
  });
});

describe('an item that came after something else', () => {
  it('passes alone, whichever account got it', async () => {
    const { output } = await answerTo('a', `Hi ${ask}`);
    expect(output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call']);
    expect(await refusalOf('a', nextTurn(output.slice(2)))).toMatchObject({ status: 200 });
    const { output: plain } = await readJson(postResponses(simulator, { stream: false }));
    const elsewhere = { type: 'message', id: 'msg_1', role: 'assistant', content: 'Hi' };
    expect(await refusalOf('a', [...plain, elsewhere, { role: 'user', content: 'Go on' }])).toMatchObject({
      status: 200,
    });
  });
});

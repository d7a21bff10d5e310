import { createChatAnswer } from '@gateway/chat';
import { describeGoldenAnswers } from '@gateway/testkit/adapters';
import { describe, expect, it } from 'vitest';
import { answerCases } from './__fixtures__/golden-cases.ts';
import { replayedAtMs } from './__fixtures__/replay.ts';
import { sdkEvents } from './__fixtures__/sdk-unions.ts';
import { EventReader } from './event-reader.ts';

describe('a Responses answer to a chat client', () => {
  describeGoldenAnswers(answerCases, ({ stream, wantsJson }) => {
    const answer = createChatAnswer({ id: 'request-1', created: 1, model: 'gpt-5.5', stream, includeUsage: true });
    return new EventReader(answer, {
      wantsJson,
      nowMs: replayedAtMs,
      maxAnswerBytes: 1_000_000,
      maxEventBytes: 1_000_000,
    });
  });

  it('is known in many shapes, of which the trickiest are cut everywhere', () => {
    expect(new Set(answerCases.map(({ name }) => name)).size).toBe(answerCases.length);
    expect(answerCases.length).toBeGreaterThanOrEqual(150);
    const cutEverywhere = answerCases.filter(({ everySplit }) => everySplit);
    expect(cutEverywhere.length).toBeGreaterThanOrEqual(20);
    for (const { name, stream } of cutEverywhere) expect(stream.length, name).toBeLessThan(4_096);
  });

  it.each(Object.keys(sdkEvents))('is known with events of the type %s', (type) => {
    expect(answerCases.some(({ stream }) => stream.includes(`"type":"${type}"`))).toBe(true);
  });

  it.each(['stop', 'length', 'tool_calls', 'content_filter'])('is known to end with %s', (reason) => {
    expect(answerCases.some(({ ending }) => ending === reason)).toBe(true);
  });
});

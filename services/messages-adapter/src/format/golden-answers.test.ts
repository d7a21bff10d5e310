import { createChatAnswer } from '@gateway/chat';
import { describeGoldenAnswers } from '@gateway/testkit/adapters';
import { describe, expect, it } from 'vitest';
import { answerCases } from './__fixtures__/golden-cases.ts';
import { readerOptions } from './__fixtures__/replay.ts';
import { EventReader } from './event-reader.ts';

describe('a Messages answer to a chat client', () => {
  describeGoldenAnswers(answerCases, ({ stream }) => {
    const identity = { id: 'request-1', created: 1, model: 'claude-opus-4-8' };
    return new EventReader(createChatAnswer({ ...identity, stream, includeUsage: true }), readerOptions);
  });

  it('is known in many shapes, of which the trickiest are cut everywhere', () => {
    expect(new Set(answerCases.map(({ name }) => name)).size).toBe(answerCases.length);
    expect(new Set(answerCases.map(({ stream }) => stream.toString())).size).toBe(answerCases.length);
    expect(answerCases.length).toBeGreaterThanOrEqual(250);
    expect(answerCases.filter(({ everySplit }) => everySplit).length).toBeGreaterThanOrEqual(40);
  });
});

import { readdirSync } from 'node:fs';
import { createChatAnswer } from '@gateway/chat';
import { describeCutAnswers } from '@gateway/testkit/adapters';
import { describe } from 'vitest';
import { answerCases } from './__fixtures__/golden-cases.ts';
import { newRelayReader, readFixture, replayedAtMs } from './__fixtures__/replay.ts';
import { EventReader } from './event-reader.ts';

describe('any recorded or known Responses answer', () => {
  const names = readdirSync(new URL('__fixtures__/recordings', import.meta.url)).map((file) => file.slice(0, -4));
  const recorded = names.map((name) => ({ name, stream: readFixture(name) }));
  describeCutAnswers([...recorded, ...answerCases], {
    openReader: ({ stream, wantsJson }) => {
      const answer = createChatAnswer({ id: 'request-1', created: 1, model: 'gpt-5.5', stream, includeUsage: true });
      const bounds = { maxAnswerBytes: 1_000_000, maxEventBytes: 1_000_000 };
      return new EventReader(answer, { wantsJson, nowMs: replayedAtMs, ...bounds });
    },
    openRelay: newRelayReader,
    ping: 'event: keepalive\ndata: {"type":"keepalive","sequence_number":0}\n\n',
    ends: ['response.completed', 'response.incomplete'],
    failures: ['response.failed', 'response.cancelled', 'error'],
    // An empty output is filled with the items that came before.
    isChanged: (stream) => /"output"\s*:\s*(?:\[\s*\]|null)/.test(stream.toString()),
  });
});

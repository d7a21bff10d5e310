import { createChatAnswer } from '@gateway/chat';
import { describeCutAnswers } from '@gateway/testkit/adapters';
import { describe } from 'vitest';
import { answerCases } from './__fixtures__/golden-cases.ts';
import { fixtureNames, newRelayReader, readerOptions, readFixture } from './__fixtures__/replay.ts';
import { EventReader } from './event-reader.ts';

describe('any recorded or known Messages answer', () => {
  const recorded = fixtureNames.map((name) => ({ name, stream: readFixture(name) }));
  describeCutAnswers([...recorded, ...answerCases], {
    openReader: ({ stream }) => {
      const identity = { id: 'request-1', created: 1, model: 'claude-opus-4-8' };
      return new EventReader(createChatAnswer({ ...identity, stream, includeUsage: true }), readerOptions);
    },
    openRelay: newRelayReader,
    ping: 'event: ping\ndata: {"type": "ping"}\n\n',
    ends: ['message_stop'],
    failures: ['error'],
  });
});

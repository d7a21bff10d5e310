import type { ReportedUsage } from '@gateway/chat';
import { text } from '@gateway/testkit/adapters';
import { errorEvent, type ResponsesAnswer, textDelta } from './events.ts';
import { completed, created, failed, incomplete, inProgress, response, usageReport } from './responses.ts';
import { altered } from './unusual-frames.ts';

const events = (report: unknown) => [
  created(),
  textDelta('Hi.'),
  altered(completed(), { response: { ...response({ status: 'completed' }), usage: report } }),
];

/** An answer with this report, in whatever shape it is. */
function reported(name: string, report: unknown, usage: ReportedUsage | undefined): ResponsesAnswer {
  return { name: `usage ${name}`, events: events(report), deltas: [text('Hi.')], ending: 'stop', usage };
}

const whole: ReportedUsage = { inputTokens: 81, cachedTokens: 64, outputTokens: 23, reasoningTokens: 7 };
const wholeReport = usageReport({ input: 81, cached: 64, output: 23, reasoning: 7 });

const shapes: readonly ResponsesAnswer[] = [
  reported('with cached input and reasoning', wholeReport, whole),
  reported('of nothing: it was not counted', usageReport({ input: 0, output: 0 }), undefined),
  reported('with an input of nothing', usageReport({ input: 0, output: 23 }), tokens({ outputTokens: 23 })),
  reported(
    'with an output of nothing, of an answer that says something',
    usageReport({ input: 81, output: 0 }),
    tokens({ inputTokens: 81, outputTokens: 0 }),
  ),
  reported('that is null', null, undefined),
  reported('that is absent', undefined, undefined),
  reported('that is an empty object', {}, undefined),
  reported('that is a list', [81, 23], undefined),
  reported('that is a text', '104', undefined),
  reported('without details', { input_tokens: 81, output_tokens: 23 }, tokens({ inputTokens: 81, outputTokens: 23 })),
  reported(
    'with null for details',
    { input_tokens: 81, input_tokens_details: null, output_tokens: 23, output_tokens_details: null },
    tokens({ inputTokens: 81, outputTokens: 23 }),
  ),
  reported('of the input only', { input_tokens: 81 }, tokens({ inputTokens: 81 })),
  reported('of the output only', { output_tokens: 23 }, tokens({ outputTokens: 23 })),
  reported('of nothing but a total', { total_tokens: 104 }, undefined),
  reported('whose total contradicts its parts', { ...wholeReport, total_tokens: 1 }, whole),
  reported(
    'with tokens written to the cache, which are part of the input',
    { ...wholeReport, input_tokens_details: { cached_tokens: 64, cache_write_tokens: 17 } },
    whole,
  ),
  reported(
    'with more cached than input',
    usageReport({ input: 10, cached: 12, output: 3 }),
    tokens({ inputTokens: 10, cachedTokens: 10, outputTokens: 3 }),
  ),
  reported(
    'with more reasoning than output',
    usageReport({ input: 10, output: 3, reasoning: 5 }),
    tokens({ inputTokens: 10, outputTokens: 3, reasoningTokens: 3 }),
  ),
  reported(
    'with a negative input',
    usageReport({ input: -5, cached: 3, output: 3 }),
    tokens({ cachedTokens: 3, outputTokens: 3 }),
  ),
  reported('with nothing but negative counts', usageReport({ input: -5, output: -3 }), undefined),
  reported(
    'with negative details',
    usageReport({ input: 5, cached: -1, output: 3, reasoning: -2 }),
    tokens({ inputTokens: 5, outputTokens: 3 }),
  ),
  reported('in texts instead of numbers', { input_tokens: '81', output_tokens: 23 }, tokens({ outputTokens: 23 })),
  reported('in fractions', { input_tokens: 80.6, output_tokens: 23.4 }, undefined),
  reported('beyond belief', { input_tokens: 81, output_tokens: 1e15 }, tokens({ inputTokens: 81 })),
  reported(
    'of a million tokens',
    usageReport({ input: 1_000_000, cached: 999_936, output: 128_000, reasoning: 127_999 }),
    { inputTokens: 1_000_000, cachedTokens: 999_936, outputTokens: 128_000, reasoningTokens: 127_999 },
  ),
];

const moments: readonly ResponsesAnswer[] = [
  {
    name: 'usage in every event of the response, which is counted once',
    everySplit: true,
    events: [
      created({ usage: usageReport({ input: 81, cached: 64, output: 1 }) }),
      inProgress({ usage: usageReport({ input: 81, cached: 64, output: 1 }) }),
      textDelta('Hi.'),
      completed({ usage: wholeReport }),
    ],
    deltas: [text('Hi.')],
    ending: 'stop',
    usage: whole,
  },
  {
    name: 'usage of an incomplete response',
    events: [created(), textDelta('Hi'), incomplete('max_output_tokens', { usage: wholeReport })],
    deltas: [text('Hi')],
    ending: 'length',
    usage: whole,
  },
  {
    name: 'usage of a response that failed after its first content',
    events: [created(), textDelta('Hi'), failed('server_error', { usage: wholeReport })],
    deltas: [text('Hi')],
    ending: { failed: 'SERVER_ERROR', code: 'providers_unavailable' },
    usage: whole,
  },
  {
    name: 'usage of a response that failed before its first content',
    events: [created(), failed('invalid_prompt', { usage: wholeReport })],
    deltas: [],
    ending: { failed: 'REJECTED', code: 'upstream_rejected' },
    usage: whole,
  },
  {
    name: 'usage that an error event cannot show',
    events: [created(), textDelta('Hi'), errorEvent('server_error')],
    deltas: [text('Hi')],
    ending: { failed: 'SERVER_ERROR', code: 'providers_unavailable' },
  },
];

export const usageCases: readonly ResponsesAnswer[] = [...shapes, ...moments];

function tokens(counts: Partial<ReportedUsage>): ReportedUsage {
  return { inputTokens: undefined, cachedTokens: 0, outputTokens: undefined, reasoningTokens: 0, ...counts };
}

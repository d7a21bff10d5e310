import { refusal, text } from '@gateway/testkit/adapters';
import { messageEvents, type ResponsesAnswer, refusalEvents } from './events.ts';
import { completed, created } from './responses.ts';
import { json } from './unusual-frames.ts';

/** A text that reaches the client as it is. */
function kept(name: string, deltas: readonly string[], everySplit?: true): ResponsesAnswer {
  return {
    name: `text ${name}`,
    everySplit,
    events: [created(), ...messageEvents(deltas), completed()],
    deltas: deltas.map((delta) => text(delta)),
    ending: 'stop',
  };
}

/** A delta as it stands in the JSON of the provider, and what it says. */
function written(name: string, inJson: string, says: string, everySplit?: true): ResponsesAnswer {
  return {
    name: `text written with ${name}`,
    everySplit,
    events: [created(), json(`{"type":"response.output_text.delta","delta":"${inJson}"}`), completed()],
    deltas: [text(says)],
    ending: 'stop',
  };
}

export const unicodeCases: readonly ResponsesAnswer[] = [
  kept('with characters of two, three and four bytes', ['Grüße aus ', '東京 ', '🗼.'], true),
  kept('with a family of joined characters', ['👩‍👩‍👧‍👦 ', '🏳️‍🌈'], true),
  kept('with combining marks', ['Zalgo: Z̴a̸l', '̷g', '̶o'], true),
  kept('from right to left', ['שלום, ', 'مرحبا', '\u202etxt'], true),
  kept('whose deltas cut a character in two', ['A \ud83d', '\ude00 B'], true),
  kept('with half a character that has no other half', ['A \ud83d', ' B']),
  kept('with control characters', ['\u0000', '\u0001\u001b[31m', '\u007f\u0080'], true),
  kept('with the line ends of Unicode', ['a\u2028b\u2029c\u0085d'], true),
  kept('with a byte order mark in it', ['\ufeffa\ufeff'], true),
  kept('with characters that are none', ['\ufffe\uffff\ufffd\u{10ffff}']),
  kept('with line breaks of all kinds', ['a\nb\r\nc\rd\n\n', '\n\ne'], true),
  kept('with quotes and backslashes', ['"', '\\', '\\"', '\\\\n', '\\u0041'], true),
  kept('that looks like the end of a stream', ['[DONE]', 'data:[DONE]\n\n', '\n\nevent:error\n\n']),
  kept('that looks like an event', ['{"type":"response.completed"}', '{"error":{"code":"server_error"}}']),
  kept('that looks like HTML', ['</script><!-- ', '&amp; -->']),
  written('escapes for everything', '\\u0048\\u00E9\\u4e1c\\ud83d\\ude00', 'Hé东😀', true),
  written('short escapes', '\\"\\\\\\/\\b\\f\\n\\r\\t', '"\\/\b\f\n\r\t', true),
  written('an escaped solidus', 'a\\/b', 'a/b'),
  written('half a character as an escape', 'a\\ud83d', 'a\ud83d'),
  written('unescaped line ends of Unicode', 'a\u2028b', 'a\u2028b'),
  {
    name: 'a refusal with characters of several bytes',
    everySplit: true,
    events: [created(), ...refusalEvents(['Das kann ich nicht: «', '🚫»']), completed()],
    deltas: [refusal('Das kann ich nicht: «'), refusal('🚫»')],
    ending: 'stop',
  },
];

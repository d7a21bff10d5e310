import { standsAt } from '@gateway/json';
import { countCharacters } from './count-characters.ts';
import { deltaKey } from './produced-characters.ts';

/**
 * How many characters an event brings, `[start, end)` of a text with one character per byte, if it is a delta of a known
 * type written as providers write them: its name, and one line of data that begins with the same type. Undefined for
 * everything else.
 */
export function plainDeltaCharacters(text: string, start: number, end: number): number | undefined {
  const opening = openings.find((each) => standsAt(text, start, each));
  if (opening === undefined) return undefined;
  const members = start + opening.length;
  const hasOneLine = text.indexOf('\n', members) === end - 2;
  return hasOneLine ? countCharacters(text, deltaKey, members) : undefined;
}

const openings: readonly string[] = [
  'response.output_text.delta',
  'response.function_call_arguments.delta',
  'response.reasoning_summary_text.delta',
  'response.reasoning_text.delta',
  'response.custom_tool_call_input.delta',
].map((type) => `event: ${type}\ndata: {"type":"${type}",`);

import { calling, result, toolCall } from './client-messages.ts';
import { callItem, outputItem } from './input-items.ts';
import type { ResponsesRequestCase } from './provider-members.ts';

const x64 = 'x'.repeat(64);

/** Ids of calls, and what a call and its result go by at the provider, which takes 64 characters of any kind. */
const ids: readonly { readonly what: string; readonly id: string; readonly sent?: string }[] = [
  { what: 'as a Responses provider makes them', id: 'call_9pCkbdNSUCyPkMFXXqUo5tXs' },
  { what: 'as a Messages provider makes them', id: 'toolu_01A09q90qw90lq917835lq9' },
  { what: 'with a colon and a dot', id: 'functions.get_weather:0' },
  { what: 'with white space and slashes', id: 'call 1/of 2' },
  { what: 'of another script', id: 'aanroep-é-呼び出し-🗼' },
  { what: 'of digits', id: '0' },
  { what: 'of an item', id: 'fc_68a1b2c3' },
  { what: 'of 64 characters', id: x64 },
  {
    what: 'of 65 characters',
    id: `call_${'x'.repeat(60)}`,
    sent: 'call_b8823c91081544cac30c56e1c49715052c518485be25884a534679bbe34',
  },
  {
    what: 'of 69 characters',
    id: `call_${x64}`,
    sent: 'call_527a01cc2951f40229598fced9a7de5b8014e80040e392623d757f4dacd',
  },
  {
    what: 'long and odd',
    id: 'functions.get_weather:0|'.repeat(3),
    sent: 'call_ff2c677d50a64610f15d6620b5032e964080578bb823620a24a5bc5933c',
  },
  {
    what: 'long and of another script',
    id: 'ö'.repeat(65),
    sent: 'call_5e8a74c76526956960335d2749836146f8879caf67d02e04bf87d2b8b83',
  },
];

export const toolIdCases: readonly ResponsesRequestCase[] = [
  ...ids.map(({ what, id, sent = id }) => ({
    name: `a call id ${what}`,
    request: { messages: [calling(toolCall(id)), result(id)] },
    becomes: { input: [callItem(sent, 'weather', '{"city":"Delft"}'), outputItem(sent, '12 °C')] },
  })),
  {
    name: 'long call ids that differ in their last character',
    request: {
      messages: [
        calling(toolCall(`call_${x64}a`, 'f', '{}'), toolCall(`call_${x64}b`, 'g', '{}')),
        result(`call_${x64}b`, 'of b'),
        result(`call_${x64}a`, 'of a'),
      ],
    },
    becomes: {
      input: [
        callItem('call_f39432b6d69a7070e759624effdc3f5393051de7f8a9a9cfbd70b1a7109', 'f', '{}'),
        callItem('call_b5a9fb290cc5f64210664340f60946ec9a5acb5f46a477b9c16d233ceed', 'g', '{}'),
        outputItem('call_b5a9fb290cc5f64210664340f60946ec9a5acb5f46a477b9c16d233ceed', 'of b'),
        outputItem('call_f39432b6d69a7070e759624effdc3f5393051de7f8a9a9cfbd70b1a7109', 'of a'),
      ],
    },
  },
  {
    name: 'an empty call id',
    request: { messages: [calling(toolCall('')), result('')] },
    becomes: { refused: 'invalid_request', field: 'messages[0].tool_calls[0].id' },
  },
];

import { ConfigError } from '@gateway/config';
import { describe, expect, it } from 'vitest';
import { readRequests, requestLines, withModel } from './requests.ts';
import { sampleRequests } from './sample-requests.ts';

describe('a recording of requests', () => {
  it('is read line by line', () => {
    const text = [
      '{"name":"one","method":"POST","path":"/v1/messages","headers":{"anthropic-beta":"b"},"body":{"model":"m"}}',
      '',
      '{"path":"/v1/models"}\r',
      '{"path":"/v1/responses","body":{}}',
    ].join('\n');
    expect(readRequests(text, 'r.jsonl')).toEqual([
      { name: 'one', method: 'POST', path: '/v1/messages', headers: { 'anthropic-beta': 'b' }, body: { model: 'm' } },
      { name: 'line 3', method: 'GET', path: '/v1/models', headers: {}, body: undefined },
      { name: 'line 4', method: 'POST', path: '/v1/responses', headers: {}, body: {} },
    ]);
  });

  it('is written as it is read', () => {
    expect(readRequests(requestLines(sampleRequests), 'r.jsonl')).toEqual(sampleRequests);
    expect(sampleRequests).toHaveLength(10);
  });

  it.each([
    ['is no JSON', '{"path": "/v1/models"', 'must be a JSON object'],
    [
      'has a key in a header',
      '{"path":"/","headers":{"Authorization":"Bearer sk-secret"}}',
      'must not be in a recording',
    ],
    ['has a key of another header', '{"path":"/","headers":{"X-Api-Key":"sk-secret"}}', 'must not be in a recording'],
    ['has a header of two lines', '{"path":"/","headers":{"a":"sk-secret\\r\\nb: c"}}', 'must be visible ASCII'],
    ['names another host', '{"path":"//evil.example/v1"}', 'must be a path'],
    ['names an address', '{"path":"https://evil.example/v1"}', 'must be a path'],
    ['has another method', '{"path":"/","method":"DELETE"}', 'must be GET or POST'],
    ['has an unknown member', '{"path":"/","heads":{}}', 'heads'],
  ])('that %s is refused with its line, and without its values', (_what, line, reason) => {
    const read = () => readRequests(`{"path":"/v1/models"}\n${line}\n`, 'r.jsonl');
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(/^r\.jsonl:2: /);
    expect(read).toThrow(reason);
    expect(read).not.toThrow(/sk-secret/);
  });

  it('without a request is refused', () => {
    expect(() => readRequests('\n\n', 'r.jsonl')).toThrow('r.jsonl: it has no requests.');
  });
});

it('a request gets the name that its model has at the other gateway', () => {
  const [request] = readRequests('{"path":"/v1/messages","body":{"model":"strong","n":1}}', 'r.jsonl');
  if (request === undefined) throw new Error('no request');
  const names = new Map([['strong', 'gateway/strong']]);
  expect(withModel(request, names).body).toEqual({ model: 'gateway/strong', n: 1 });
  expect(withModel(request, new Map())).toBe(request);
});

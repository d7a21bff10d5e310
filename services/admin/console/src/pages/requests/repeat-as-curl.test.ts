import { describe, expect, it } from 'vitest';
import { asCurl, repeatAsCurl } from './repeat-as-curl.ts';

describe('a request as curl', () => {
  it('asks the same endpoint and model with a token of its own', () => {
    expect(repeatAsCurl({ endpoint: '/v1/messages', model: 'gateway/claude' }, 'https://gateway')).toBe(
      [
        "curl -N 'https://gateway/v1/messages' \\",
        '  -H "x-api-key: $GATEWAY_TOKEN" \\',
        "  -H 'content-type: application/json' \\",
        `  -d '{"model":"gateway/claude","max_tokens":1024,"messages":[{"role":"user","content":"…"}],"stream":true}'`,
      ].join('\n'),
    );
    expect(repeatAsCurl({ endpoint: '/v1/responses', model: 'm' }, 'https://gateway')).toContain(
      'authorization: Bearer $GATEWAY_TOKEN',
    );
  });

  it('asks for a stream if the request did', () => {
    const repeated = (endpoint: string, streamed?: boolean) => repeatAsCurl({ endpoint, model: 'm', streamed }, '');
    expect(repeated('/v1/chat/completions', true)).toMatch(/^curl -N .*"stream":true/s);
    expect(repeated('/v1/chat/completions', false)).toMatch(/^curl '(?!.*"stream")/s);
    expect(repeated('/v1/messages/count_tokens', false)).not.toContain('stream');
    // The log of an older edge does not know.
    expect(repeated('/v1/messages')).toContain('"stream":true');
  });

  it('sends a body as it is, and never a file', () => {
    const sent = (body: string) => asCurl({ endpoint: '/v1/responses', body, streamed: false }, '');
    expect(sent('{"a":1}')).toContain(`-d '{"a":1}'`);
    expect(sent('@/etc/passwd')).toContain(`--data-raw '@/etc/passwd'`);
  });

  it('runs nothing that a client hid in the name of a model', () => {
    expect(repeatAsCurl({ endpoint: '/v1/responses', model: "'; rm -rf ~; '" }, 'https://gateway')).toContain(
      `"'\\''; rm -rf ~; '\\''"`,
    );
  });
});

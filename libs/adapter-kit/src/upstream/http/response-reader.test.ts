import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecordedResponse } from '../../__fixtures__/recorded-response.ts';
import { UpstreamError } from '../upstream-error.ts';
import { ResponseReader } from './response-reader.ts';

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;

describe('a response', () => {
  it('is told with its status, its headers in lower case, and its body', () => {
    const told = read([`HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nX-One:  a b \r\nEMPTY:\r\n\r\nhi`]);
    expect(told).toEqual({
      status: 404,
      headers: { 'content-length': '2', 'x-one': 'a b', empty: '' },
      body: 'hi',
      end: 'whole',
      keepsOpen: true,
    });
  });

  it('joins the values of a header that is repeated, whatever it is named', () => {
    const told = read([`${ok}a: 1\r\n__proto__: x\r\nA: 2\r\nconstructor: y\r\ncontent-length: 0\r\n\r\n`]);
    expect(Object.entries(told.headers)).toEqual([
      ['a', '1, 2'],
      ['__proto__', 'x'],
      ['constructor', 'y'],
      ['content-length', '0'],
    ]);
  });

  it('tells what one read has brought of its chunks at once', () => {
    const response = new RecordedResponse();
    const reader = new ResponseReader();
    reader.begin(response);
    expect(reader.read(Buffer.from(`${chunked}3\r\nabc\r\n2\r\nde\r\n4\r\nfg`))).toBe(false);
    expect(reader.read(Buffer.from('hi\r\n0\r\n\r\n'))).toBe(true);
    expect(response.pieces.map(String)).toEqual(['abcdefg', 'hi']);
  });

  it.each([
    ['of HTTP/1.1', `${ok}content-length: 0\r\n\r\n`, true],
    ['in chunks', `${chunked}1\r\na\r\n0\r\n\r\n`, true],
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n', false],
    ['of HTTP/1.0 that says so', 'HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\ncontent-length: 0\r\n\r\n', true],
    ['that announces to close', `${ok}connection: x, Close\r\ncontent-length: 0\r\n\r\n`, false],
    ['with bytes behind its end', `${ok}content-length: 1\r\n\r\nab`, false],
    ['with bytes behind its last chunk', `${chunked}0\r\n\r\nH`, false],
    ['with bytes behind a head alone', 'HTTP/1.1 204 No Content\r\n\r\nx', false],
    ['without a body', 'HTTP/1.1 204 No Content\r\n\r\n', true],
    ['that announces a body where none may be', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n', false],
  ])('%s leaves its connection usable, or does not', (_case, text, keepsOpen) => {
    expect(read([text])).toMatchObject({ end: 'whole', keepsOpen });
  });

  it('ends with its connection when it does not say where', () => {
    expect(read([`${ok}\r\nsome`, 'thing'])).toMatchObject({ body: 'something', end: 'open' });
    expect(read([`${ok}\r\nsome`, 'thing'], { thenEnds: true })).toMatchObject({ end: 'whole', keepsOpen: false });
  });

  it.each([
    ['within its head', ok],
    ['within its length', `${ok}content-length: 3\r\n\r\nab`],
    ['within a chunk', `${chunked}3\r\nab`],
    ['before the last chunk', `${chunked}2\r\nab\r\n`],
    ['within the trailers', `${chunked}0\r\nx: y\r\n`],
    ['before it', ''],
  ])('that ends %s with its connection is broken off', (_where, text) => {
    expect(read([text], { thenEnds: true }).end).toBe('network');
  });

  it('comes after heads that say it is still to come', () => {
    const interim = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';
    const told = read([`${interim}${ok}content-length: 1\r\n\r\na`]);
    expect(told).toMatchObject({ status: 200, headers: { 'content-length': '1' }, body: 'a', keepsOpen: true });
  });

  it('passes over extensions and trailers, so many as are allowed', () => {
    const text = `${chunked}3;name="a;b"\r\nabc\r\n00;x\r\nx-sum: 1\r\ny:\r\n\r\n`;
    expect(read([text])).toMatchObject({ body: 'abc', headers: { 'transfer-encoding': 'chunked' }, end: 'whole' });
    expect(read([`${chunked}0\r\n${'x: yyyyyyyyyyyy\r\n'.repeat(2_000)}\r\n`]).end).toBe('network');
    expect(read([`${chunked}${'1;xxxxxxxxxxxxx\r\na\r\n'.repeat(2_000)}`]).end).toBe('network');
    expect(read([`${chunked}${'1\r\na\r\n'.repeat(20_000)}0\r\n\r\n`])).toMatchObject({ end: 'whole' });
  });
});

describe('a response that two readers could understand differently', () => {
  it.each([
    ['an upgrade', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n'],
    ['interim heads without end', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(200)],
    ['another protocol', 'HTTP/2 200 OK\r\n\r\n'],
    ['another version', 'HTTP/1.2 200 OK\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['a status that is none', 'HTTP/1.1 099 OK\r\n\r\n'],
    ['two blanks before the status', 'HTTP/1.1  200 OK\r\n\r\n'],
    ['an empty line first', `\r\n${ok}\r\n`],
    ['no HTTP', '220 mail.example.com ESMTP\r\n\r\n'],
    ['a header without a colon', `${ok}nothing\r\n\r\n`],
    ['a header without a name', `${ok}: x\r\n\r\n`],
    ['a blank before the colon', `${ok}content-length : 2\r\n\r\nab`],
    ['a blank before the name', `${ok} content-length: 2\r\n\r\nab`],
    ['a folded line', `${ok}x: a\r\n b\r\n\r\n`],
    ['a folded line with a colon', `${ok}x: a\r\n\tb: c\r\n\r\n`],
    ['a name of other characters', `${ok}x(y): a\r\n\r\n`],
    ['a name of several lines', `${ok}x\r\ny: a\r\n\r\n`],
    ['a bare line feed between headers', `${ok}x: a\ny: b\r\n\r\n`],
    ['a bare line feed before the length', `${ok}x: a\ncontent-length: 2\r\n\r\nab`],
    ['a bare carriage return', `${ok}x: a\ry: b\r\n\r\n`],
    ['a bare line feed behind the status', `HTTP/1.1 200 OK\nx: y\r\n\r\n`],
    ['a zero byte', `${ok}x: a\0b\r\n\r\n`],
    ['a control character', `${ok}x: a\x1bb\r\n\r\n`],
    ['a negative length', `${ok}content-length: -1\r\n\r\n`],
    ['a length with a sign', `${ok}content-length: +2\r\n\r\nab`],
    ['a length in hex', `${ok}content-length: 0x2\r\n\r\nab`],
    ['an empty length', `${ok}content-length:\r\n\r\n`],
    ['a length that is not counted exactly', `${ok}content-length: 99999999999999999999\r\n\r\n`],
    ['two lengths', `${ok}content-length: 2\r\ncontent-length: 3\r\n\r\nabc`],
    ['the same length twice', `${ok}content-length: 2\r\ncontent-length: 2\r\n\r\nab`],
    ['two lengths in one', `${ok}content-length: 2, 3\r\n\r\nabc`],
    ['a length and chunks', `${ok}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a coding before chunks', `${ok}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['chunks within chunks', `${ok}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a coding that is none', `${ok}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['an empty coding', `${ok}transfer-encoding:\r\n\r\n`],
    ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['too many headers', `${ok}${'x: y\r\n'.repeat(300)}\r\n`],
    ['a head that is too large', `${ok}x: ${'y'.repeat(40_000)}\r\n\r\n`],
    ['a head without end', `${ok}x: ${'y'.repeat(40_000)}`],
    ['a chunk without a size', `${chunked}\r\n\r\n`],
    ['a chunk with an extension alone', `${chunked};x\r\n\r\n`],
    ['a negative chunk', `${chunked}-1\r\n\r\n`],
    ['a chunk in 0x', `${chunked}0x2\r\nab\r\n0\r\n\r\n`],
    ['a blank before a size', `${chunked} 2\r\nab\r\n0\r\n\r\n`],
    ['a blank behind a size', `${chunked}2 \r\nab\r\n0\r\n\r\n`],
    ['a chunk whose size overflows', `${chunked}FFFFFFFFFFFFFFFF1\r\na\r\n0\r\n\r\n`],
    ['a size with many zeros', `${chunked}${'0'.repeat(30)}1\r\na\r\n0\r\n\r\n`],
    ['a bare line feed behind a size', `${chunked}2\nab\r\n0\r\n\r\n`],
    ['a bare line feed behind an extension', `${chunked}2;x\nab\r\n0\r\n\r\n`],
    ['a bare carriage return in an extension', `${chunked}2;x\rab\r\n0\r\n\r\n`],
    ['a chunk that is longer than it says', `${chunked}2\r\nabc\r\n0\r\n\r\n`],
    ['a chunk that is shorter than it says', `${chunked}4\r\nab\r\n0\r\n\r\n`],
    ['a bare line feed behind a chunk', `${chunked}2\r\nab\n0\r\n\r\n`],
    ['a bare line feed among trailers', `${chunked}0\r\nx: y\n\r\n`],
    ['a bare line feed at the end', `${chunked}0\r\n\n`],
  ])('is refused: %s', (_what, text) => {
    expect(read([text]).end).toBe('network');
    expect(read(Array.from(text)).end).toBe('network');
  });
});

describe('a response in pieces', () => {
  it('is told the same wherever it is cut', () => {
    fc.assert(
      fc.property(responses, fc.array(fc.nat(), { maxLength: 12 }), ({ text }, cuts) => {
        expect(read(cut(text, cuts))).toEqual(read([text]));
      }),
      { numRuns: 500 },
    );
  });

  it('is told the same byte by byte', () => {
    fc.assert(
      fc.property(responses, ({ text }) => {
        expect(read(Array.from(text))).toEqual(read([text]));
      }),
    );
  });

  it('is told with the body that was put in', () => {
    fc.assert(
      fc.property(responses, ({ text, status, body, headers }) => {
        expect(read([text])).toMatchObject({ status, body, headers, end: 'whole', keepsOpen: true });
      }),
    );
  });

  it('tells the same before it turns out to be broken', () => {
    const broken = fc.tuple(responses, fc.nat(), fc.constantFrom('\0', '\n', '\r', 'x', ' '));
    fc.assert(
      fc.property(broken, fc.array(fc.nat(), { maxLength: 12 }), ([{ text }, place, character], cuts) => {
        const at = place % text.length;
        const changed = text.slice(0, at) + character + text.slice(at + 1);
        const whole = read([changed]);
        // That more follows is seen only where it comes in the same piece.
        const isWhole = whole.end === 'whole' && !whole.keepsOpen;
        const inPieces = read(cut(changed, cuts));
        expect({ ...inPieces, end: isWhole && inPieces.end !== 'network' ? whole.end : inPieces.end }).toEqual(whole);
      }),
      { numRuns: 1_000 },
    );
  });
});

/** What a reader tells of a response. `end`: how it ended; `open` when it did not. */
interface Told {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly end: string;
  readonly keepsOpen: boolean;
}

function read(pieces: readonly string[], { thenEnds = false } = {}): Told {
  const response = new RecordedResponse();
  const reader = new ResponseReader();
  reader.begin(response);
  const end = endOf(reader, pieces, thenEnds);
  const { status, headers, body, isOutOfOrder } = response;
  expect(isOutOfOrder).toBe(false);
  return { status, headers: { ...headers }, body, end, keepsOpen: end === 'whole' && reader.keepsOpen };
}

function endOf(reader: ResponseReader, pieces: readonly string[], thenEnds: boolean): string {
  try {
    for (const [index, piece] of pieces.entries()) {
      // Bytes that come in a later read are for the connection to see.
      if (reader.read(Buffer.from(piece, 'latin1'))) return index === pieces.length - 1 ? 'whole' : 'whole, and more';
    }
    return thenEnds && reader.end() ? 'whole' : 'open';
  } catch (thrown) {
    if (!(thrown instanceof UpstreamError)) throw thrown;
    return thrown.kind;
  }
}

function cut(text: string, places: readonly number[]): readonly string[] {
  const cuts = [0, ...places.map((place) => place % text.length).sort((a, b) => a - b), text.length];
  return cuts.slice(1).flatMap((end, index) => (end > (cuts[index] ?? 0) ? [text.slice(cuts[index], end)] : []));
}

const token = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/).map((name) => `x-${name}`);
const value = fc.stringMatching(/^([!-~]([ -~]{0,10}[!-~])?)?$/);
const extension = fc.constantFrom('', ';a', ';a=b', ';a="b c"');
const bodyPiece = fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('latin1'));

/** Responses in both framings, as they are sent. */
const responses = fc
  .record({
    status: fc.constantFrom(200, 201, 400, 429, 529),
    headers: fc.uniqueArray(fc.tuple(token, value), { selector: ([name]) => name, maxLength: 6 }),
    interim: fc.constantFrom('', 'HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n'),
    pieces: fc.array(fc.tuple(bodyPiece, extension), { maxLength: 6 }),
    trailers: fc.constantFrom('', 'x-sum: 1\r\n', 'a: b\r\nc:\r\n'),
    isChunked: fc.boolean(),
  })
  .map(({ status, headers, interim, pieces, trailers, isChunked }) => {
    const body = pieces.map(([piece]) => piece).join('');
    const framing = isChunked ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', String(body.length)];
    const lines = [...headers, framing].map(([name, text]) => `${name}: ${text}\r\n`).join('');
    const chunks = pieces.map(([piece, name]) => `${piece.length.toString(16)}${name}\r\n${piece}\r\n`).join('');
    const coded = isChunked ? `${chunks}0\r\n${trailers}\r\n` : body;
    const text = `${interim}HTTP/1.1 ${status} Some Reason\r\n${lines}\r\n${coded}`;
    return { text, status, body, headers: Object.fromEntries(headers) };
  });

import { createHmac, timingSafeEqual } from 'node:crypto';
import { tokenTextFrom } from '@gateway/tokens';
import type { HashKey } from '../hashing/hash-key.ts';

/** What the tokens of a session are derived from. */
export interface SessionSeed {
  /** A UUID. */
  readonly sessionId: string;
  /** 32 random bytes in base64url: the texts can't be derived from the key alone. */
  readonly seed: string;
}

/** A refresh token as its holder presents it. Whether it is genuine is not known yet. */
export interface RefreshToken {
  readonly sessionId: string;
  readonly generation: number;
  readonly tag: Buffer;
}

/**
 * The tokens of one generation of a session. They are derived, so that two clients that refresh at
 * the same time get the same tokens, and the database has nothing that could be presented.
 */
export function sessionTexts(key: HashKey, session: SessionSeed, generation: number) {
  const number = Buffer.alloc(4);
  number.writeUInt32BE(generation);
  const signed = Buffer.concat([bytesOfId(session.sessionId), number, refreshTag(key, session, generation)]);
  const refresh = Buffer.concat([signed, macOf(key, signed)]);
  return {
    accessToken: tokenTextFrom('personal', derive(key, session, generation, 'access')),
    refreshToken: `${refreshPrefix}${refresh.toString('base64url')}`,
  };
}

/**
 * Undefined if the text can't be a refresh token. One that was made up without a key has another
 * MAC, so that it costs no lookup.
 */
export function parseRefreshToken(text: string, keys: readonly HashKey[]): RefreshToken | undefined {
  if (!refreshForm.test(text)) return undefined;
  const all = Buffer.from(text.slice(refreshPrefix.length), 'base64url');
  const [bytes, mac] = [all.subarray(0, -macBytes), all.subarray(-macBytes)];
  if (!keys.some((key) => timingSafeEqual(macOf(key, bytes), mac))) return undefined;
  const id = bytes.toString('hex', 0, 16);
  return {
    sessionId: id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
    generation: bytes.readUInt32BE(16),
    tag: bytes.subarray(20),
  };
}

/** Whether the session has issued this refresh token, in any generation. */
export function isGenuine(key: HashKey, session: SessionSeed, { generation, tag }: RefreshToken): boolean {
  const expected = refreshTag(key, session, generation);
  return tag.length === expected.length && timingSafeEqual(tag, expected);
}

const refreshPrefix = 'gw_r_';
const tagBytes = 24;
const macBytes = 10;
/** 54 bytes in base64url: the id, the generation, the tag and the MAC. */
const refreshForm = /^gw_r_[\w-]{72}$/;

/** What can be checked without the session. */
function macOf({ secret }: HashKey, bytes: Buffer): Buffer {
  return createHmac('sha256', secret).update('refresh token\n').update(bytes).digest().subarray(0, macBytes);
}

function refreshTag(key: HashKey, session: SessionSeed, generation: number): Buffer {
  return derive(key, session, generation, 'refresh').subarray(0, tagBytes);
}

function derive({ secret }: HashKey, { sessionId, seed }: SessionSeed, generation: number, purpose: string): Buffer {
  return createHmac('sha256', secret).update(`session ${purpose}\n${sessionId}\n${seed}\n${generation}`).digest();
}

function bytesOfId(sessionId: string): Buffer {
  return Buffer.from(sessionId.replaceAll('-', ''), 'hex');
}

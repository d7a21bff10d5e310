import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A Lua script with the digest that Redis knows it by. */
export interface RedisScript {
  readonly lua: string;
  readonly sha1: string;
}

/** Reads a script from its file in this folder, with what all scripts share before it. */
export function readRedisScript(file: `${string}.lua`): RedisScript {
  const lua = ['key-facts.lua', file].map((name) => readFileSync(new URL(name, import.meta.url), 'utf8')).join('\n');
  return { lua, sha1: createHash('sha1').update(lua).digest('hex') };
}

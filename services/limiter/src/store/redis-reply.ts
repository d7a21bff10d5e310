export function readNumbers(reply: unknown): readonly number[] {
  if (Array.isArray(reply) && reply.every(isNumber)) return reply;
  throw new Error('a script answered something else than numbers');
}

export function readTexts(reply: unknown): readonly string[] {
  if (Array.isArray(reply) && reply.every(isBuffer)) return reply.map((text) => text.toString());
  throw new Error('a script answered something else than texts');
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function isBuffer(value: unknown): value is Buffer {
  return Buffer.isBuffer(value);
}

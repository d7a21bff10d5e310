export function readNumbers(reply: unknown): readonly number[] {
  if (Array.isArray(reply) && reply.every((value): value is number => typeof value === 'number')) return reply;
  throw new Error('a script answered something else than numbers');
}

export function readTexts(reply: unknown): readonly string[] {
  if (Array.isArray(reply) && reply.every((value): value is string => typeof value === 'string')) return reply;
  throw new Error('a script answered something else than texts');
}

const efforts = {
  original: ['minimal', 'low', 'medium', 'high'],
  withNone: ['none', 'low', 'medium', 'high'],
  extended: ['none', 'low', 'medium', 'high', 'xhigh'],
  current: ['low', 'medium', 'high', 'xhigh', 'max'],
} as const;

/** The reasoning efforts that a model takes, by its generation; an id of another form takes all of them. */
export function effortsOf(model: string): readonly string[] {
  const version = /^gpt-(\d+)(?:\.(\d+))?/.exec(model);
  if (version === null) return allEfforts;
  const [major, minor] = [Number(version[1]), Number(version[2] ?? 0)];
  if (major >= 6 || (major === 5 && minor >= 6)) return efforts.current;
  if (major === 5 && minor >= 2) return efforts.extended;
  return major === 5 && minor === 1 ? efforts.withNone : efforts.original;
}

export const allEfforts: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

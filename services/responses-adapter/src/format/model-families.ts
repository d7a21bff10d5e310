import type { ModelTraits } from '@gateway/proto/pool/v1/account_pb.js';
import type { WireEffort } from './provider-request.ts';

/**
 * The efforts that a model accepts: those in its configured traits, otherwise those of its family.
 */
export function effortsOf(model: string, traits?: ModelTraits): readonly string[] {
  const family = families.find(({ models }) => models.test(model));
  return traits?.efforts?.levels ?? family?.efforts ?? commonEfforts;
}

interface ModelFamily {
  readonly models: RegExp;
  readonly efforts: readonly WireEffort[];
}

/**
 * The efforts of each family; the first match applies. Models without reasoning accept no effort at
 * all.
 */
const families: readonly ModelFamily[] = [
  { models: /^(gpt-[34]|chatgpt-)/, efforts: [] },
  { models: /^gpt-5\.6-(sol|terra|luna)\b/, efforts: ['low', 'medium', 'high', 'xhigh', 'max'] },
  { models: /^gpt-5\.6\b/, efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] },
  { models: /^gpt-5\.[2-5]\b/, efforts: ['none', 'low', 'medium', 'high', 'xhigh'] },
  { models: /^gpt-5\.1\b/, efforts: ['none', 'low', 'medium', 'high'] },
  { models: /^gpt-5(?![.\d])/, efforts: ['minimal', 'low', 'medium', 'high'] },
  { models: /^gpt-(5\.|[6-9]|\d\d)/, efforts: ['low', 'medium', 'high', 'xhigh', 'max'] },
];

/** For a model that matches no family: the levels that every reasoning model accepts. */
const commonEfforts: readonly WireEffort[] = ['low', 'medium', 'high'];

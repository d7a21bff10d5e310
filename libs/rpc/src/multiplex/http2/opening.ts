import { clientPreface, frameHeadBytes, frameType, settingBytes } from './protocol.ts';
import { readSettings } from './settings.ts';

/** What a connection is for. */
export type Owner = 'stream of calls' | 'gRPC';

/**
 * What a connection is for, by the bytes that it begins with: for a stream of calls when the client's first settings say
 * that it opens one and nothing else, for gRPC otherwise. Undefined while too little has come.
 */
export function readOpening(bytes: Buffer): Owner | undefined {
  const common = Math.min(bytes.length, clientPreface.length);
  if (clientPreface.compare(bytes, 0, common, 0, common) !== 0) return 'gRPC';
  const head = clientPreface.length;
  if (bytes.length < head + frameHeadBytes) return undefined;
  const length = bytes.readUIntBE(head, 3);
  if (bytes[head + 3] !== frameType.settings || bytes[head + 4] !== 0) return 'gRPC';
  // Whatever is odd here is for gRPC to judge.
  if (length > mostSettings * settingBytes || length % settingBytes !== 0) return 'gRPC';
  const end = head + frameHeadBytes + length;
  if (bytes.length < end) return undefined;
  return saysStreamOfCalls(bytes.subarray(head + frameHeadBytes, end)) ? 'stream of calls' : 'gRPC';
}

function saysStreamOfCalls(settings: Buffer): boolean {
  try {
    return readSettings(settings).isOnlyStreamOfCalls;
  } catch {
    return false;
  }
}

/** Far more than anybody sends. */
const mostSettings = 64;

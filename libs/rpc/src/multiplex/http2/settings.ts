import {
  ConnectionError,
  defaultMaxFrameBytes,
  errorCode,
  largestFrameBytes,
  largestWindowBytes,
  setting,
  settingBytes,
} from './protocol.ts';

/** What the peer has set, of what matters to one stream. */
export interface Settings {
  readonly initialWindowBytes?: number;
  readonly maxFrameBytes?: number;
  /** It says that there will be one stream, and that of calls. */
  readonly isOnlyStreamOfCalls: boolean;
}

/** Reads the payload of a frame of settings. Those that are not known are ignored. @throws ConnectionError */
export function readSettings(payload: Buffer): Settings {
  if (payload.length % settingBytes !== 0) {
    throw new ConnectionError(errorCode.frameSizeError, 'a frame of settings ends within a setting');
  }
  const values = new Map<number, number>();
  for (let offset = 0; offset < payload.length; offset += settingBytes) {
    values.set(payload.readUInt16BE(offset), payload.readUInt32BE(offset + 2));
  }
  const initialWindowBytes = values.get(setting.initialWindowSize);
  const maxFrameBytes = values.get(setting.maxFrameSize);
  if (initialWindowBytes !== undefined && initialWindowBytes > largestWindowBytes) {
    throw new ConnectionError(errorCode.flowControlError, 'a window is larger than any may be');
  }
  if (maxFrameBytes !== undefined && (maxFrameBytes < defaultMaxFrameBytes || maxFrameBytes > largestFrameBytes)) {
    throw new ConnectionError(errorCode.protocolError, 'frames of that size may not be asked for');
  }
  return {
    ...(initialWindowBytes === undefined ? {} : { initialWindowBytes }),
    ...(maxFrameBytes === undefined ? {} : { maxFrameBytes }),
    isOnlyStreamOfCalls: values.get(setting.onlyStreamOfCalls) === 1,
  };
}

export { type OtlpAnswer, OtlpReceiver, type ReceivedSpan } from '@gateway/telemetry/testing';

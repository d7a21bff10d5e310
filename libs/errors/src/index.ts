export { fromErrorDetail, toErrorDetail } from './error-detail.ts';
export type { GatewayErrorCode, GatewayErrorDetails, LimitName } from './gateway-error.ts';
export { GatewayError, gatewayErrorCodes, isGatewayErrorCode, toGatewayError } from './gateway-error.ts';

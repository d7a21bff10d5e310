import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Frame, FrameSchema } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';

type Content = NonNullable<Exclude<MessageInitShape<typeof FrameSchema>, Frame>['content']>;

/** One frame of a call. `isLast`: no message follows from this side. */
export function frameOf(callId: number, content: Content, isLast = false): Frame {
  return create(FrameSchema, { callId, content, isLast });
}

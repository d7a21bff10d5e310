import { createServer, type Socket } from 'node:net';
import { msBetweenPacedEvents, msBetweenSlowEvents, type Pace, paceIn } from '../wire/bench-models.ts';
import { HttpReader } from '../wire/http-reader.ts';
import { FastStreams } from './fast-streams.ts';
import { type AnswerShape, fixedAnswers, modelList } from './fixed-answers.ts';
import { PacedStreams } from './paced-streams.ts';

// Both providers, with answers of fixed bytes. The simulator checks every request and counts its
// tokens, as a provider would: it would be the bottleneck here.

const answers: Readonly<Record<Pace, ReturnType<typeof fixedAnswers>>> = {
  short: fixedAnswers('short'),
  fast: fixedAnswers('fast'),
  paced: fixedAnswers('paced'),
  slow: fixedAnswers('slow'),
};
const models = modelList();
const fastStreams = new FastStreams();
const pacedStreams = new PacedStreams(msBetweenPacedEvents);
const slowStreams = new PacedStreams(msBetweenSlowEvents);

const server = createServer({ noDelay: true }, serve);
server.listen(0, '127.0.0.1', 8_192, () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.send?.({ port: address.port });
});
process.once('disconnect', () => process.exit(0));

function serve(socket: Socket): void {
  const reader = new HttpReader({ keepBody: true });
  socket.on('error', () => undefined);
  socket.on('data', (bytes: Buffer) => {
    if (!reader.read(bytes)) return;
    answer(socket, reader);
    reader.reset();
  });
}

function answer(socket: Socket, { head, body }: HttpReader): void {
  if (head.startsWith('GET ')) {
    socket.write(models);
    return;
  }
  const pace = paceIn(body);
  const fixed = answers[pace][shapeOf(head)];
  if (!body.includes('"stream":true')) socket.write(fixed.whole);
  else if (pace === 'paced') pacedStreams.begin(socket, fixed, { endless: false });
  else if (pace === 'slow') slowStreams.begin(socket, fixed, { endless: true });
  else if (pace === 'short') socket.write(Buffer.concat([fixed.streamHead, ...fixed.events, fixed.streamEnd]));
  else fastStreams.begin(socket, fixed);
}

function shapeOf(head: string): AnswerShape {
  const path = head.slice(0, head.indexOf('\r\n'));
  if (path.includes('/chat/completions')) return 'chat';
  return path.includes('/messages') ? 'messages' : 'responses';
}

import { Client, type Dispatcher } from 'undici';

/** What a connection tells the requests on it. */
export interface ServedConnection {
  /** How many answers have ended on it. */
  served: number;
}

/** A handler that needs the connection of its request. */
export interface ConnectionHandler extends Dispatcher.DispatchHandler {
  /** Called before the request starts on the connection. */
  onConnection(connection: ServedConnection): void;
}

/** A client with one connection at a time, which counts the answers on it. */
export class Connection extends Client implements ServedConnection {
  served = 0;

  constructor(origin: URL | string, options: Client.Options) {
    super(origin, options);
    this.on('connect', () => {
      this.served = 0;
    });
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (wantsConnection(handler)) handler.onConnection(this);
    return super.dispatch(options, handler);
  }
}

function wantsConnection(handler: Dispatcher.DispatchHandler): handler is ConnectionHandler {
  return 'onConnection' in handler;
}

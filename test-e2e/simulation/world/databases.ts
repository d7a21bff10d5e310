import { DatabaseSync, type SQLTagStore, StatementSync } from 'node:sqlite';
import { currentProcess } from './world.ts';

/** Decides how a statement of a database ends: it runs it, or throws what the database answers. */
type Around = <T>(statement: Statement, run: () => T) => T;

export interface Statement {
  readonly database: DatabaseSync;
  /** The process that opened the database. */
  readonly owner: string | undefined;
  readonly sql: string;
}

/** Every statement of every database passes through this from now on. */
export function interceptStatements(next: Around): void {
  around = next;
}

let around: Around = (_statement, run) => run();

/** A killed process reaches no database any more. The server rolls its transactions back. */
function alive<T>(statement: Statement, run: () => T): T {
  const isDead = currentProcess()?.state === 'killed' && !/^rollback/i.test(statement.sql);
  if (isDead) throw new Error('the process was killed');
  return around(statement, run);
}

/**
 * The classes themselves can't be replaced: their module keeps its exports. A database of a killed
 * process is closed, as a kernel does. Every user of SQLite first executes something.
 */
export function replaceDatabases(): void {
  const { prototype } = DatabaseSync;
  const { exec, prepare, createTagStore } = prototype;
  const owners = new WeakMap<DatabaseSync, string | undefined>();
  const texts = new WeakMap<StatementSync, Statement>();
  const statement = (database: DatabaseSync, sql: string) => ({ database, owner: owners.get(database), sql });
  prototype.exec = function execute(this: DatabaseSync, sql: string) {
    const process = currentProcess();
    if (!owners.has(this)) process?.onKilled.push(() => this.isOpen && this.close());
    if (!owners.has(this)) owners.set(this, process?.name);
    return alive(statement(this, sql), () => exec.call(this, sql));
  };
  prototype.prepare = function prepared(this: DatabaseSync, ...given) {
    const made = prepare.apply(this, given);
    texts.set(made, statement(this, given[0]));
    return made;
  };
  for (const name of ['all', 'run'] as const) {
    const original = StatementSync.prototype[name] as (...given: unknown[]) => unknown;
    const replaced = function replaced(this: StatementSync, ...given: unknown[]): unknown {
      const known = texts.get(this);
      const run = () => original.apply(this, given);
      return known === undefined ? run() : alive(known, run);
    };
    Object.assign(StatementSync.prototype, { [name]: replaced });
  }
  prototype.createTagStore = function tagStore(this: DatabaseSync, ...given) {
    const store = createTagStore.apply(this, given);
    const ask =
      (name: 'all' | 'get' | 'run') =>
      (texts: TemplateStringsArray, ...values: never[]) =>
        alive(statement(this, texts.join('?')), () => store[name](texts, ...values));
    return { all: ask('all'), get: ask('get'), run: ask('run') } as SQLTagStore;
  };
}

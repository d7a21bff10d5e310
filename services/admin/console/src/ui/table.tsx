import { memo, type ReactNode } from 'react';
import { Fence } from './fence.tsx';

export interface Column<T> {
  readonly label: string;
  readonly render: (row: T) => ReactNode;
  /** Figures are aligned to the right. */
  readonly align?: 'end';
  /**
   * Whether this cell names the row: it is the row's header, and the head of its card on narrow
   * screens.
   */
  readonly names?: boolean;
  /** Whether the heading is only for screen readers, for example of a column of buttons. */
  readonly labelHidden?: boolean;
  /** On narrow screens, a row of a table with such columns takes two lines, without the others. */
  readonly line?: 'first' | 'second';
}

interface TableProps<T> {
  /** A description of the table, for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** Shown if there are no rows. */
  readonly empty?: ReactNode;
}

/**
 * A table; on narrow screens, each row is a card. The roles are explicit because browsers do not
 * treat cards as a table.
 */
export function Table<T>({ caption, columns, rows, keyOf, empty }: TableProps<T>) {
  if (rows.length === 0 && empty !== undefined) return empty;
  return (
    <div className="table-wrap">
      {/* biome-ignore lint/a11y/noRedundantRoles: see above. */}
      <table role="table" className={columns.some(({ line }) => line) ? 'two-lines' : undefined}>
        <caption className="hidden">{caption}</caption>
        {/* biome-ignore lint/a11y/noRedundantRoles: see above. */}
        <thead role="rowgroup">
          {/* biome-ignore lint/a11y/noRedundantRoles: see above. */}
          <tr role="row">
            {columns.map((column) => (
              // biome-ignore lint/a11y/noRedundantRoles: see above.
              <th key={column.label} scope="col" role="columnheader" data-align={column.align}>
                <span className={column.labelHidden ? 'hidden' : undefined}>{column.label}</span>
              </th>
            ))}
          </tr>
        </thead>
        {/* biome-ignore lint/a11y/noRedundantRoles: see above. */}
        <tbody role="rowgroup">
          {rows.map((row) => (
            <FencedRow key={keyOf(row)} columns={columns} row={row} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A row that can't be rendered says why: it hides no other. */
function FencedRow<T>({ columns, row }: RowProps<T>) {
  const instead = (why: string) => (
    // biome-ignore lint/a11y/noRedundantRoles: cards are no table to the browser.
    <tr role="row">
      {/* biome-ignore lint/a11y/noRedundantRoles: see above. */}
      <td role="cell" colSpan={columns.length}>
        <span className="faint">This row can't be shown. {why}</span>
      </td>
    </tr>
  );
  return (
    <Fence of={row} instead={instead}>
      <Row columns={columns} row={row} />
    </Fence>
  );
}

interface RowProps<T> extends Pick<TableProps<T>, 'columns'> {
  readonly row: T;
}

/**
 * Rendered again only if its row or the columns change: fast growing lists have hundreds of rows.
 */
const Row = memo(function Row<T>({ columns, row }: RowProps<T>) {
  return (
    // biome-ignore lint/a11y/noRedundantRoles: cards are no table to the browser.
    <tr role="row">
      {columns.map((column) => (
        <Cell key={column.label} column={column} row={row} />
      ))}
    </tr>
  );
}) as <T>(props: RowProps<T>) => ReactNode;

function Cell<T>({ column, row }: { readonly column: Column<T>; readonly row: T }) {
  const Tag = column.names ? 'th' : 'td';
  return (
    <Tag
      role={column.names ? 'rowheader' : 'cell'}
      scope={column.names ? 'row' : undefined}
      data-align={column.align}
      data-line={column.line}
      data-label={column.labelHidden || column.names ? undefined : column.label}
    >
      <div className="cell">{column.render(row)}</div>
    </Tag>
  );
}

interface Pages {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => unknown;
}

/** Loads the next page below this one, for `useInfiniteQuery`. */
export function More({ of: { hasNextPage, isFetchingNextPage, fetchNextPage } }: { readonly of: Pages }) {
  if (!hasNextPage) return null;
  return (
    <div className="more">
      <button
        type="button"
        className="button plain"
        aria-disabled={isFetchingNextPage || undefined}
        onClick={() => isFetchingNextPage || fetchNextPage()}
      >
        {isFetchingNextPage ? 'Loading…' : 'Show more'}
      </button>
    </div>
  );
}

/** The page options of a list, for `useInfiniteQuery`. */
export const byPages = {
  pageParamKey: 'pageToken',
  getNextPageParam: ({ nextPageToken }: { readonly nextPageToken: string }) => nextPageToken || undefined,
} as const;

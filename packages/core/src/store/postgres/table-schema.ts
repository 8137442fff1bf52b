/**
 * The tables of roles, made as they are declared. `@.` stands for the schema.
 *
 *   role_table   which declarations this schema has seen: by name and signature
 *   r_<name>     one table for each declaration: id, shard, revision, and the declared columns
 *
 * Each declaration brings a function that writes records of its columns, named by its signature: servers whose versions
 * declare different columns write side by side, each the columns that it knows (T1).
 */
import { createHash } from 'node:crypto'
import { tablePrefix, type AnyTable, type ColumnType } from '../tables.ts'
import type { Migration } from './migration.ts'

const commitTypes = `text, bigint, smallint[], bigint[],
  integer[], text[], text[], text[],
  integer[], text[], text[], text[], bytea[],
  integer[], text[], text[],
  integer[], text[], text[],
  integer[], text[]`

const commitPlaces = Array.from({ length: 21 }, (_, index) => `$${index + 1}`).join(', ')

export const tableMigration: Migration = {
  title: 'tables of roles',
  sql: `
    CREATE TABLE @.role_table (
      name text COLLATE "C",
      signature text COLLATE "C",
      made_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (name, signature)
    );

    -- D2: commit_1, and the records of all batches that it has not refused. $22: batch, $23: function of the table,
    -- $24: id, $25: record, NULL when it is removed.
    CREATE FUNCTION @.commit_2(${commitTypes}, integer[], text[], text[], jsonb[]) RETURNS json LANGUAGE plpgsql AS $$
    DECLARE
      refusals json;
      refused integer[];
      writer text;
    BEGIN
      refusals := @.commit_1(${commitPlaces});
      IF refusals IS NOT NULL THEN
        SELECT array_agg((r ->> 0)::integer) INTO refused FROM json_array_elements(refusals) r;
      END IF;
      FOR writer IN SELECT DISTINCT w FROM unnest($23) w LOOP
        EXECUTE format('SELECT @.%I($1, $2, $3)', writer) USING
          (SELECT array_agg($3[b] ORDER BY n) FROM unnest($22, $23) WITH ORDINALITY r (b, w, n)
            WHERE w = writer AND (refused IS NULL OR b <> ALL (refused))),
          (SELECT array_agg(id ORDER BY n) FROM unnest($22, $23, $24) WITH ORDINALITY r (b, w, id, n)
            WHERE w = writer AND (refused IS NULL OR b <> ALL (refused))),
          (SELECT array_agg(record ORDER BY n) FROM unnest($22, $23, $25) WITH ORDINALITY r (b, w, record, n)
            WHERE w = writer AND (refused IS NULL OR b <> ALL (refused)));
      END LOOP;
      RETURN refusals;
    END $$;

    -- T4: everything or nothing. p_takens: the function that finds another record with the same unique values, or NULL.
    -- p_expected: NULL, 0 for no record, or the revision.
    CREATE FUNCTION @.change_1(
      p_tables text[], p_writers text[], p_takens text[], p_ids text[], p_records jsonb[], p_expected bigint[]
    ) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      name text;
      found_revision bigint;
      other text;
    BEGIN
      IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
      END IF;
      -- Of two changes that expect something of one table the second waits. Additions do not.
      FOR name IN SELECT DISTINCT t FROM unnest(p_tables, p_takens, p_expected) c (t, u, e)
        WHERE e IS NOT NULL OR u IS NOT NULL ORDER BY t
      LOOP
        EXECUTE format('LOCK TABLE @.%I IN SHARE ROW EXCLUSIVE MODE', name);
      END LOOP;
      FOR i IN 1 .. cardinality(p_tables) LOOP
        IF p_expected[i] IS NOT NULL THEN
          EXECUTE format('SELECT revision FROM @.%I WHERE id = $1', p_tables[i])
            INTO found_revision USING p_ids[i];
          IF coalesce(found_revision, 0) <> p_expected[i] THEN
            RAISE EXCEPTION 'not as expected' USING ERRCODE = 'HD002',
              DETAIL = json_build_object('why', 'changed', 'index', i - 1);
          END IF;
        END IF;
        IF p_records[i] IS NOT NULL AND p_takens[i] IS NOT NULL THEN
          EXECUTE format('SELECT @.%I($1, $2)', p_takens[i])
            INTO other USING p_ids[i], p_records[i];
          IF other IS NOT NULL THEN
            RAISE EXCEPTION 'taken' USING ERRCODE = 'HD002',
              DETAIL = json_build_object('why', 'taken', 'index', i - 1, 'by', other);
          END IF;
        END IF;
        EXECUTE format('SELECT @.%I($1, $2, $3)', p_writers[i])
          USING ARRAY[NULL]::smallint[], ARRAY[p_ids[i]], ARRAY[p_records[i]];
      END LOOP;
    END $$;
  `,
}

const sqlTypes: Readonly<Record<ColumnType, string>> = {
  text: 'text COLLATE "C"',
  number: 'double precision',
  boolean: 'boolean',
  bytes: 'bytea',
  json: 'text',
}

/** The column with this number of a record, which travels as an array. */
const fromJson: Readonly<Record<ColumnType, (place: number) => string>> = {
  text: (place) => `record ->> ${place}`,
  number: (place) => `(record ->> ${place})::double precision`,
  boolean: (place) => `(record ->> ${place})::boolean`,
  bytes: (place) => `decode(record ->> ${place}, 'base64')`,
  json: (place) => `record ->> ${place}`,
}

/** The name of a table, and of the functions declared for it here. */
export interface TableNames {
  readonly table: string
  readonly writer: string
  /** Only for a table with unique lists. */
  readonly taken: string | undefined
  readonly signature: string
}

export function namesOf({ name, columns, indexes = [], unique = [] }: AnyTable): TableNames {
  const signature = digest(JSON.stringify([columns, indexes, unique]))
  return {
    table: `${tablePrefix}${name}`,
    writer: `write_${name}_${signature}`,
    taken: unique.length === 0 ? undefined : `taken_${name}_${signature}`,
    signature,
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}

const quoted = (column: string): string => `"${column}"`

/** Makes the missing parts of a declared table: in a transaction that holds the lock of migrations. */
export function declarationOf(declared: AnyTable): string {
  const { name, columns, indexes = [], unique = [] } = declared
  const { table, writer, taken, signature } = namesOf(declared)
  const entries = Object.entries(columns)
  const names = entries.map(([column]) => quoted(column))
  const values = entries.map(([, type], place) => fromJson[type](place))
  const latest = `SELECT DISTINCT ON (id) id, shard, record
    FROM unnest(p_shards, p_ids, p_records) WITH ORDINALITY r (shard, id, record, n) ORDER BY id, n DESC`
  const set = ['shard', ...names].map((column) => `${column} = excluded.${column}`)
  return `
    CREATE TABLE IF NOT EXISTS @.${table} (
      id text COLLATE "C" PRIMARY KEY, shard smallint, revision bigint NOT NULL DEFAULT 1
    ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
    ${unlessThere(`${table}_shard`, `CREATE INDEX ${table}_shard ON @.${table} (shard) WHERE shard IS NOT NULL`)}
    ${entries.map(([column, type]) => columnOf(table, column, sqlTypes[type])).join('\n')}
    ${indexes.map((list) => indexOf(table, list, false)).join('\n')}
    ${unique.map((list) => indexOf(table, list, true)).join('\n')}
    CREATE OR REPLACE FUNCTION @.${writer}(p_shards smallint[], p_ids text[], p_records jsonb[])
      RETURNS void LANGUAGE plpgsql AS $writer$
    BEGIN
      IF array_position(p_records, NULL) IS NOT NULL THEN
        DELETE FROM @.${table} t USING (${latest}) l WHERE t.id = l.id AND l.record IS NULL;
      END IF;
      INSERT INTO @.${table} AS t (${['id', 'shard', ...names].join(', ')})
        SELECT ${['id', 'shard', ...values].join(', ')} FROM (${latest}) l WHERE record IS NOT NULL
        ON CONFLICT (id) DO UPDATE SET revision = t.revision + 1, ${set.join(', ')};
    END $writer$;
    ${taken === undefined ? '' : takenFunction(declared, taken)}
    INSERT INTO @.role_table (name, signature) VALUES ('${name}', '${signature}') ON CONFLICT DO NOTHING;`
}

/**
 * Does not lock an existing relation: even ADD COLUMN IF NOT EXISTS would wait for all readers of the table, and all
 * others behind it.
 */
function unlessThere(relation: string, statement: string): string {
  return `IF to_regclass('@.${relation}') IS NULL THEN ${statement}; END IF;`
}

function columnOf(table: string, column: string, type: string): string {
  return `IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('@.${table}') AND attname = '${column}') THEN
      ALTER TABLE @.${table} ADD COLUMN ${quoted(column)} ${type};
    END IF;`
}

function indexOf(table: string, columns: readonly string[], isUnique: boolean): string {
  const list = [...columns.map(quoted), ...(isUnique ? [] : ['id'])].join(', ')
  const kind = isUnique ? 'UNIQUE INDEX' : 'INDEX'
  const name = `${table}_${digest(columns.join())}`
  return unlessThere(name, `CREATE ${kind} ${name} ON @.${table} (${list})`)
}

/** Finds another record that has the values of a unique list. */
function takenFunction({ name, columns, unique = [] }: AnyTable, taken: string): string {
  const places = Object.keys(columns)
  const conditions = unique.map((list) => {
    const same = list.map((column) => {
      return `${quoted(column)} = ${fromJson[columns[column]!](places.indexOf(column))}`
    })
    return `(${same.join(' AND ')})`
  })
  return `CREATE OR REPLACE FUNCTION @.${taken}(p_id text, record jsonb) RETURNS text LANGUAGE sql AS $taken$
      SELECT id FROM @.${tablePrefix}${name} WHERE id <> p_id AND (${conditions.join(' OR ')}) LIMIT 1
    $taken$;`
}

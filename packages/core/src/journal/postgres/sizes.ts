/** What runs take in the database, about: read in slices, because a run of millions of rows takes longer than a call may. */
import type { RunPlace } from './reader.ts'

/** Rows of a run that are weighed in one statement: of many runs, then of one. */
const rowsOfMany = 1_000
const rowsOfOne = 50_000

type Call = <Row extends unknown[]>(
  statement: string,
  parameters: readonly unknown[],
) => Promise<Row[]>

/** How far a run was weighed. */
type Weighed = RunPlace & { readonly after: number }

/** The sizes in the order of the runs. *Cancellation*: none. */
export async function sizesOf(runs: readonly RunPlace[], call: Call): Promise<readonly number[]> {
  const sizes = await besideRows(runs, call)
  let open: Weighed[] = runs.map(({ run, period }) => ({ run, period, after: 0 }))
  let most = rowsOfMany
  while (open.length > 0) {
    // The few that are large follow one by one.
    const slice = most === rowsOfMany ? open : open.slice(0, 1)
    const left = open.slice(slice.length)
    for (const { count, last, size, run, period } of await weigh(slice, most, call)) {
      sizes.set(run, sizes.get(run)! + size)
      if (count === most) left.unshift({ run, period, after: last })
    }
    open = left
    most = rowsOfOne
  }
  return runs.map(({ run }) => sizes.get(run)!)
}

/** Large results and artifacts. */
async function besideRows(runs: readonly RunPlace[], call: Call): Promise<Map<number, number>> {
  const sizes = new Map(runs.map(({ run }) => [run, 0]))
  const rows = await call<[string, string]>(
    `SELECT r.run,
        (SELECT coalesce(sum(octet_length(body)), 0) FROM @.chunk c
          WHERE c.run = r.run AND c.period = r.period)
        + (SELECT coalesce(sum(bytes), 0) FROM @.artifact_budget b WHERE b.run = r.id)
      FROM @.run r WHERE r.run = ANY ($1)`,
    [runs.map(({ run }) => run)],
  )
  for (const [run, size] of rows) sizes.set(Number(run), Number(size))
  return sizes
}

/** The next rows of each run, with the results of their nodes. */
async function weigh(places: readonly Weighed[], most: number, call: Call) {
  const rows = await call<[string, number, number, string | null, string]>(
    `SELECT p.run, p.period, s.count, s.last, s.bytes
        + (SELECT coalesce(sum(32 + coalesce(octet_length(v.body), 0)), 0) FROM @.result v
          WHERE v.run = p.run AND v.period = p.period AND v.position > p.after AND v.position <= s.last)
      FROM unnest($1::bigint[], $2::integer[], $3::bigint[]) p (run, period, after),
        LATERAL (SELECT count(*)::integer AS count, max(position) AS last,
            coalesce(sum(64 + coalesce(octet_length(detail), 0)), 0) AS bytes
          FROM (SELECT h.position, h.detail FROM @.history h
            WHERE h.run = p.run AND h.period = p.period AND h.position > p.after
            ORDER BY h.position LIMIT $4) h) s`,
    [
      places.map(({ run }) => run),
      places.map(({ period }) => period),
      places.map(({ after }) => after),
      most,
    ],
  )
  return rows.map(([run, period, count, last, size]) => ({
    run: Number(run),
    period,
    count,
    last: Number(last ?? 0),
    size: Number(size),
  }))
}

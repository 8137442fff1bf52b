/** A commit as the parameters of `commit_1`: columns, not rows, because arrays are what a statement can take many of. */
import type { SessionId, ShardBatch } from '../database.ts'
import type { StoreRow } from '../roles.ts'
import { toStored } from './text.ts'

/** Batches are counted from 1, as arrays of PostgreSQL are. */
export function commitParameters(
  session: SessionId,
  number: number,
  batches: readonly ShardBatch<StoreRow>[],
): unknown[] {
  const claims: Columns<4> = [[], [], [], []]
  const acknowledged: Columns<5> = [[], [], [], [], []]
  const marks: Columns<3> = [[], [], []]
  const ended: Columns<3> = [[], [], []]
  const taken: Columns<2> = [[], []]
  const endedHere = new Set<string>()
  for (const { rows } of batches) {
    for (const row of rows) if (row.kind === 'job-ended') endedHere.add(row.handle)
  }
  for (const [index, { claims: names, rows }] of batches.entries()) {
    const batch = index + 1
    for (const { space, name, holder } of names) {
      push(claims, batch, space, toStored(name), toStored(holder))
    }
    for (const row of rows) {
      switch (row.kind) {
        case 'job-acknowledged': {
          const { handle, job, version, input } = row
          push(acknowledged, batch, toStored(handle), toStored(job), toStored(version), input)
          break
        }
        case 'job-started':
          // A job that has ended by the time of this commit was never seen running.
          if (!endedHere.has(row.handle)) push(marks, batch, toStored(row.handle), 'started')
          break
        case 'job-interrupted':
          push(marks, batch, toStored(row.handle), row.setAside ? 'set-aside' : 'interrupted')
          break
        case 'job-ended':
          push(ended, batch, toStored(row.handle), toStored(row.outcome))
          break
        case 'message-taken':
          push(taken, batch, toStored(row.id))
      }
    }
  }
  return [
    session,
    number,
    batches.map(({ shard }) => shard),
    batches.map(({ epoch }) => epoch),
    ...claims,
    ...acknowledged,
    ...marks,
    ...ended,
    ...taken,
  ]
}

type Columns<N extends number> = unknown[][] & { readonly length: N }

function push<C extends unknown[][]>(columns: C, ...cells: { [I in keyof C]: unknown }): void {
  for (const [index, cell] of cells.entries()) columns[index]!.push(cell)
}

/** What a life leaves behind: the journal, and the log of effects. */
import { readFile } from 'node:fs/promises'
import { isError } from '@heddle/core'
import { openJournal, type HistoryEntry, type JournaledState } from '@heddle/core/lowlevel'

export interface RunEvidence {
  readonly id: string
  readonly state: JournaledState
  readonly rows: readonly HistoryEntry[]
  /** Successes by node. */
  readonly successes: ReadonlyMap<string, number>
  /** The results of the nodes that were asked for. */
  readonly values: ReadonlyMap<string, unknown>
}

export interface Evidence {
  /** Ids of all runs, newest first. */
  readonly ids: readonly string[]
  readonly last: RunEvidence | undefined
}

/**
 * Reads the journal as a bystander does, in the state in which the kill left it. `wanted` says whose
 * results to read, given all nodes that have succeeded.
 */
export async function readJournal(
  file: string,
  wanted: (succeeded: Iterable<string>) => readonly string[],
): Promise<Evidence> {
  await using journal = await openJournal(file, { readOnly: true })
  const runs = await journal.runs()
  const ids = runs.map(({ id }) => id)
  const [newest] = runs
  if (newest === undefined) return { ids, last: undefined }
  const { id, state } = newest
  const rows = await Array.fromAsync(journal.history(id))
  const successes = new Map<string, number>()
  for (const row of rows) {
    if (row.kind !== 'node' || row.state !== 'succeeded') continue
    successes.set(row.node, (successes.get(row.node) ?? 0) + 1)
  }
  const values = new Map<string, unknown>()
  for (const name of wanted(successes.keys())) values.set(name, await journal.valueOf(id, name))
  return { ids, last: { id, state, rows, successes, values } }
}

/** Whether a kill came before there was a journal that could be read. */
export function isNotThereYet(error: unknown): boolean {
  return isError(error, 'HDL_STORE_FAILED') || isError(error, 'HDL_NO_JOURNAL')
}

export interface Effect {
  readonly what: 'start' | 'end'
  readonly pid: number
  readonly node: string
}

/** Lines in the order in which they became durable. The last one may be cut off. */
export async function readEffects(file: string): Promise<Effect[]> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [what, pid, node] = line.split(' ')
      return { what: what as Effect['what'], pid: Number(pid), node: node! }
    })
}

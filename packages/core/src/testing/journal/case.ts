import type {
  Journal,
  JournalRetry,
  NodeHeader,
  RunHeader,
  RunWriter,
  Transition,
} from '../../journal/journal.ts'

/** A store that a journal keeps its runs in. A test makes one, opens it as often as it likes, and drops it. */
export interface ConformanceStore extends AsyncDisposable {
  /** Opens the store. Each call opens the same one. */
  open(options?: {
    readonly readOnly?: boolean
    /** A failed write is not tried again when absent. */
    readonly retry?: JournalRetry
  }): Promise<Journal>
  /** Whether runs are there after the journal was closed and opened again. */
  readonly isLasting: boolean
  /** Whether several journals may write to it at the same time. */
  readonly isShared?: boolean
  /** What it cannot do: receive messages, remove runs, try a write again that `breakWrites` made fail. */
  readonly lacks?: readonly ('post' | 'prune' | 'retry')[]
  /** Makes every write fail from now on. Absent where nothing can. */
  breakWrites?(): Promise<void>
  /** Makes writes possible again. */
  repairWrites?(): Promise<void>
}

/** The abilities of the store that a case needs. */
export type Need = 'lasting' | 'shared' | 'breakable' | 'post' | 'prune' | 'retry'

export interface ConformanceCase {
  /** Quotes the invariant: `J3: …`. */
  readonly title: string
  readonly needs?: readonly Need[]
  run(store: ConformanceStore): Promise<void>
}

/** Why the case cannot be played on this store; undefined when it can. */
export function unmetNeed(each: ConformanceCase, store: ConformanceStore): string | undefined {
  if (each.needs?.includes('lasting') && !store.isLasting) return 'the store does not last'
  if (each.needs?.includes('shared') && store.isShared !== true) {
    return 'only one journal can write to the store'
  }
  const lacking = store.lacks?.find((what) => each.needs?.includes(what))
  if (lacking !== undefined) return `the store has no ${lacking}`
  if (each.needs?.includes('breakable') && store.breakWrites === undefined) {
    return 'writes to the store cannot fail'
  }
  return undefined
}

export const someone = { pid: 4711, host: 'loom', command: 'heddle run weave.ts' }

export function node(name: string, ...after: string[]): NodeHeader {
  return { name, job: `job of ${name}`, place: 'loop', after }
}

export function header(id: string, nodes: readonly NodeHeader[] = [node('a')]): RunHeader {
  return { id, title: `title of ${id}`, startedAt: 1000, ...someone, options: {}, nodes }
}

export function openRun(journal: Journal, id: string, ...names: string[]): Promise<RunWriter> {
  return journal.openRun(header(id, names.length === 0 ? [node('a')] : names.map((n) => node(n))))
}

export function step(
  name: string,
  state: Transition['state'],
  more: Partial<Transition> = {},
): Transition {
  return { node: name, state, attempt: 0, at: 2000, ...more }
}

export async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of source) found.push(item)
  return found
}

/** The rows of a run in short: `a running`, `log a hello`, `run finished`, `nodes a b`. */
export async function story(journal: Journal, id: string, from = 0): Promise<string[]> {
  const rows = await all(journal.history(id, { from }))
  return rows.map((row) => {
    switch (row.kind) {
      case 'node':
        return `${row.node} ${row.state}`
      case 'part':
        return `${row.node} ${row.part.path} ${row.state}`
      case 'log':
        return `log ${row.node} ${row.text}`
      case 'run':
        return `run ${row.state}`
      case 'nodes':
        return `nodes ${row.added.map(({ name }) => name).join(' ')}`
    }
  })
}

/** An error with this code, for assert.rejects. */
export function withCode(code: string): (error: unknown) => boolean {
  return (error) => (error as { code?: unknown } | undefined)?.code === code
}

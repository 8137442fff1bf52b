/**
 * Copies runs from one journal to another.
 *
 *     listed ──▶ running: left out
 *        │   ──▶ in the target already: compared, present | different
 *        │                                                          └──▶ artifacts that are missing there are added
 *        └───▶ reserved ──rows──▶ counted ──the counts agree──▶ artifacts ──▶ seen
 *                  ▲                 └── they do not: the copy fails, and no reader sees the run
 *                  ├── a copy that was cut off: from its first row, when the lease of a process that died has run out
 *                  └── a copy of another process is under way: left out, unfinished
 *
 *  Y1  A run is seen in the target only when all of its rows and results are durable and counted there, and its
 *      artifacts are listed there with the checksums that they have here.
 *  Y2  A copy may be repeated, after it was cut off and after it was done: existing rows stay unchanged. A run counts as
 *      present only when it is seen in the target.
 *  Y3  Ids, keys, times, results, artifacts and the order of runs stay. Messages that were not taken are not copied.
 */
import { copyArtifact } from '../artifacts/copy-artifact.ts'
import { HeddleError, isError } from '../errors.ts'
import { throwIfAborted } from '../kernel/abort.ts'
import { checkOptions, type OptionNames } from '../kernel/check.ts'
import type {
  CopiedRows,
  CopyWait,
  HistoryEntry,
  Journal,
  PartEntry,
  RunOverview,
  RunRestorer,
} from './journal.ts'
import { isHeld } from './states.ts'

export interface CopyOptions {
  /** Ends it between two rows, and its waits; copied rows stay. */
  readonly signal?: AbortSignal
  /** Called after each run. */
  readonly onProgress?: (report: CopyReport) => void
  /** Called when it begins to wait for a run that a killed copy holds. */
  readonly onWait?: (wait: CopyWait) => void
}

export interface CopyReport {
  /** Runs of the source. */
  readonly runs: number
  copied: number
  /** Runs that were there already. */
  present: number
  /** Runs that exist there with different content, such as runs that were resumed there. */
  readonly different: string[]
  /** Runs that were copied before and then removed there: they stay removed. */
  readonly removed: string[]
  /** Runs that a process is running now: they are left out. */
  readonly running: string[]
  /** Runs that another process was copying to the target: the next copy takes them. */
  readonly unfinished: string[]
  /** Rows of the copied runs. */
  rows: number
  results: number
  /** Artifacts that were written to the target, also of runs that were there already, and their bytes. */
  artifacts: number
  artifactBytes: number
}

const optionNames = { signal: 1, onProgress: 1, onWait: 1 } satisfies OptionNames<CopyOptions>

/** Runs in one page of the list. */
const pageSize = 500

/**
 * Copies all runs that no process is running, oldest first.
 *
 * *Cancellation*: by its signal; the run at hand is copied from its beginning the next time.
 * @throws `HDL_BAD_OPTION` when the target cannot be copied to; `HDL_STORE_FAILED`; `HDL_KEY_TAKEN`.
 */
export async function copyRuns(
  from: Journal,
  to: Journal,
  options: CopyOptions = {},
): Promise<CopyReport> {
  checkOptions(options, optionNames)
  if (to.restoreRun === undefined) {
    const expected = 'postgres://HOST/DATABASE: runs are copied to PostgreSQL only'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'to', value: to.address, expected })
  }
  const ids = await oldestFirst(from)
  const report: CopyReport = {
    runs: ids.length,
    copied: 0,
    present: 0,
    different: [],
    running: [],
    removed: [],
    unfinished: [],
    rows: 0,
    results: 0,
    artifacts: 0,
    artifactBytes: 0,
  }
  for (const id of ids) {
    throwIfAborted('The copy', options.signal)
    await copyRun(from, to, id, report, options)
    options.onProgress?.(report)
  }
  return report
}

async function oldestFirst(from: Journal): Promise<readonly string[]> {
  const ids: string[] = []
  for (let before: number | undefined; ;) {
    const page = await from.list({ limit: pageSize, ...(before !== undefined && { before }) })
    ids.push(...page.runs.map(({ id }) => id))
    if (page.next === undefined) return ids.reverse()
    before = page.next
  }
}

async function copyRun(
  from: Journal,
  to: Journal,
  id: string,
  report: CopyReport,
  { signal, onWait }: CopyOptions,
): Promise<void> {
  const source = await from.overview(id)
  if (isHeld(source.state)) {
    report.running.push(id)
    return
  }
  const { counts: _counts, rows: _rows, state: _state, endedAt: _endedAt, ...header } = source
  try {
    await using restorer = await to.restoreRun!(header, { signal, onWait })
    const written = await copyRows(from, id, restorer, signal)
    verify(id, to, written, await restorer.count())
    await copyArtifacts(from, to, id, report, signal)
    await restorer.finish(endOf(source))
    report.copied++
    report.rows += written.rows
    report.results += written.results
  } catch (error) {
    if (isError(error, 'HDL_LOCKED')) return void report.unfinished.push(id)
    if (!isError(error, 'HDL_RUN_EXISTS')) throw error
    const there = await compare(source, to)
    if (there === 'removed') report.removed.push(id)
    else if (there === 'different') report.different.push(id)
    else report.present++
    // An earlier copy may have been made by a version that left artifacts out.
    if (there === 'same') await copyArtifacts(from, to, id, report, signal)
  }
}

/** Copies all rows, each with the result that came with it. */
async function copyRows(
  from: Journal,
  id: string,
  restorer: RunRestorer,
  signal: AbortSignal | undefined,
): Promise<CopiedRows> {
  await using results = new Ahead(from.results(id))
  await using parts = new PartValues(from, id)
  const written = { rows: 0, results: 0 }
  for await (const entry of from.history(id)) {
    throwIfAborted('The copy', signal)
    const stored =
      entry.kind === 'part' ? await parts.valueOf(entry) : await resultOf(entry, results)
    await restorer.add(entry, stored)
    written.rows++
    if (stored !== undefined) written.results++
  }
  return written
}

/** Copies the artifacts of a run, in their order. Those that are there with the same content stay. */
async function copyArtifacts(
  from: Journal,
  to: Journal,
  id: string,
  report: CopyReport,
  signal: AbortSignal | undefined,
): Promise<void> {
  const source = (await from.artifacts?.list(id)) ?? []
  if (source.length === 0) return
  const target = to.artifacts
  if (target === undefined) {
    throw new HeddleError('HDL_NO_ARTIFACTS', { node: `Run ${id}`, artifact: source[0]!.name })
  }
  const there = new Map((await target.list(id)).map((each) => [each.name, each.sha256]))
  for (const artifact of source) {
    if (there.get(artifact.name) === artifact.sha256) continue
    await copyArtifact(artifact, from.artifacts!, target, { signal })
    report.artifacts++
    report.artifactBytes += artifact.length
  }
}

/** Results come in the order of the rows that they came with. */
async function resultOf(
  entry: HistoryEntry,
  results: Ahead<readonly [string, unknown]>,
): Promise<{ readonly value: unknown } | undefined> {
  if (entry.kind !== 'node' || entry.state !== 'succeeded') return undefined
  const next = await results.peek()
  if (next?.[0] !== entry.node) return undefined
  results.take()
  return { value: next[1] }
}

/** The values of the parts of all nodes of a run, each node in its order. */
class PartValues implements AsyncDisposable {
  readonly #from: Journal
  readonly #run: string
  readonly #byNode = new Map<string, Ahead<PartEntry>>()

  constructor(from: Journal, run: string) {
    this.#from = from
    this.#run = run
  }

  async valueOf({ node, position }: PartEntry): Promise<{ readonly value: unknown } | undefined> {
    let parts = this.#byNode.get(node)
    if (parts === undefined) {
      parts = new Ahead(this.#from.parts(this.#run, node))
      this.#byNode.set(node, parts)
    }
    const next = await parts.peek()
    if (next?.position !== position) return undefined
    parts.take()
    return 'value' in next ? { value: next.value } : undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const parts of this.#byNode.values()) await parts[Symbol.asyncDispose]()
  }
}

/** Looks at the next item without taking it. */
class Ahead<T> implements AsyncDisposable {
  readonly #items: AsyncIterator<T>
  #next: { readonly item: T | undefined } | undefined

  constructor(items: AsyncIterable<T>) {
    this.#items = items[Symbol.asyncIterator]()
  }

  async peek(): Promise<T | undefined> {
    if (this.#next === undefined) {
      const { done, value } = await this.#items.next()
      this.#next = { item: done === true ? undefined : value }
    }
    return this.#next.item
  }

  take(): void {
    this.#next = undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#items.return?.()
  }
}

/** Y1 */
function verify(id: string, to: Journal, written: CopiedRows, found: CopiedRows): void {
  if (found.rows === written.rows && found.results === written.results) return
  throw new HeddleError('HDL_STORE_FAILED', {
    store: to.address,
    action: `take over run ${id}`,
    cause: `it holds ${found.rows} of ${written.rows} rows and ${found.results} of ${written.results} results`,
  })
}

function endOf({ state, endedAt }: RunOverview): Parameters<RunRestorer['finish']>[0] {
  // An interrupted run is one that is not held.
  const current = state === 'interrupted' ? 'running' : state
  return { state: current, ...(endedAt !== undefined && { endedAt }) }
}

async function compare(
  source: RunOverview,
  to: Journal,
): Promise<'same' | 'different' | 'removed'> {
  try {
    const there = await to.overview(source.id)
    const isSame =
      there.state === source.state &&
      there.startedAt === source.startedAt &&
      there.endedAt === source.endedAt &&
      JSON.stringify(sorted(there.counts)) === JSON.stringify(sorted(source.counts))
    return isSame ? 'same' : 'different'
  } catch (error) {
    // The run was removed there: it stays removed.
    if (isError(error, 'HDL_UNKNOWN_RUN')) return 'removed'
    throw error
  }
}

function sorted(counts: RunOverview['counts']): readonly (readonly [string, number | undefined])[] {
  return Object.entries(counts).toSorted(([a], [b]) => (a < b ? -1 : 1))
}

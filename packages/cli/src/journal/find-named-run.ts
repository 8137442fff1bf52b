import { HeddleError, isError } from '@heddle/core'
import { suggest, type Journal, type RunSummary } from '@heddle/core/lowlevel'

/** Larger than the number of runs in any journal, so that the oldest run is found too. */
const runsLookedAt = 1_000_000
const candidatesShown = 5

/**
 * The run that a word means: `last`, `last~2` (the second before it), an id, its beginning, or the
 * beginning of its last part, as long as only one run can be meant.
 *
 * *Cancellation*: none; it reads one list.
 * @throws `HDL_UNKNOWN_RUN` with a suggestion, `HDL_AMBIGUOUS_RUN` with the possible runs.
 */
export async function findNamedRun(
  journal: Pick<Journal, 'runs' | 'overview' | 'address'>,
  word: string,
): Promise<RunSummary> {
  const { address } = journal
  const [, back] = /^last(?:~(\d+))?$/.exec(word) ?? []
  const isLast = word === 'last' || back !== undefined
  const index = Number(back ?? 0)
  const whole = isLast ? undefined : await findById(journal, word)
  if (whole !== undefined) return whole
  const runs = await journal.runs({ limit: isLast ? index + 1 : runsLookedAt })
  if (isLast) {
    const found = runs[index]
    if (found !== undefined) return found
    throw new HeddleError('HDL_UNKNOWN_RUN', { run: word, address })
  }
  const found = [
    runs.filter(({ id }) => id.startsWith(word)),
    runs.filter(({ id }) => lastPart(id).startsWith(word)),
  ].find((some) => some.length > 0)
  if (found?.length === 1) return found[0]!
  if (found !== undefined) {
    const candidates = found.slice(0, candidatesShown).map(({ id, title }) => `${id} (${title})`)
    if (found.length > candidatesShown) candidates.push(`${found.length - candidatesShown} more`)
    throw new HeddleError('HDL_AMBIGUOUS_RUN', { run: word, address, candidates })
  }
  const known = runs.flatMap(({ id }) => [id, lastPart(id), 'last'])
  throw new HeddleError('HDL_UNKNOWN_RUN', { run: word, address, suggestion: suggest(word, known) })
}

/** A whole id is looked up: a journal may have a million runs. */
async function findById(
  journal: Pick<Journal, 'overview'>,
  id: string,
): Promise<RunSummary | undefined> {
  try {
    const { options: _options, rows: _rows, ...summary } = await journal.overview(id)
    return summary
  } catch (error) {
    if (isError(error, 'HDL_UNKNOWN_RUN')) return undefined
    throw error
  }
}

/** The part that people remember: `k3f9q2` of `20261115-224501-k3f9q2`. */
function lastPart(id: string): string {
  return id.slice(id.lastIndexOf('-') + 1)
}

/**
 * The commits since a release, as a graph, and what is left of them.
 *
 *  H1  A commit that a later one takes back counts for nothing, and neither does the later one. A
 *      commit that takes back a revert brings back what it took.
 *  H2  Taking back a merge takes back all that it brought.
 *  H3  Taking back what was released before is a change like any other.
 *  H4  The message of a merge counts for a package only if nothing that it brought there says
 *      anything: it repeats the commits otherwise, and more coarsely.
 */
import type { Commit } from './git.ts'
import { parseMessage, type Change, type ParsedMessage } from './conventional.ts'

export interface EffectiveChange {
  readonly change: Change
  readonly title: string
}

/** The packages that a file belongs to. */
export type Owners = (file: string) => readonly string[]

export interface HistoryEntry {
  readonly hash: string
  readonly parents: readonly string[]
  readonly parsed: ParsedMessage
  /** The packages that it changed. */
  readonly changed: readonly string[]
}

export function historyEntry(
  { hash, parents, message, files }: Commit,
  owners: Owners,
): HistoryEntry {
  return {
    hash,
    parents,
    parsed: parseMessage(message),
    changed: [...new Set(files.flatMap(owners))],
  }
}

export class History {
  readonly #entries: readonly HistoryEntry[]
  readonly #position = new Map<string, number>()

  /** Newest first, children before parents. */
  constructor(entries: readonly HistoryEntry[]) {
    this.#entries = entries
    for (const [index, { hash }] of entries.entries()) this.#position.set(hash, index)
  }

  /** The changes of these commits that count, by package. */
  changes(inRange: ReadonlySet<string>): Map<string, EffectiveChange[]> {
    const entries = this.#entries.filter(({ hash }) => inRange.has(hash))
    const gone = this.#takenBack(entries, inRange)
    const found = new Map<string, EffectiveChange[]>()
    for (const entry of entries) {
      const { change, title } = entry.parsed
      if (gone.has(entry.hash) || change === 'none') continue
      const spoken = entry.parents.length > 1 ? this.#spokenFor(entry, gone) : undefined
      for (const name of entry.changed) {
        if (spoken?.has(name)) continue
        const list = found.get(name)
        if (list === undefined) found.set(name, [{ change, title }])
        else list.push({ change, title })
      }
    }
    return found
  }

  /** H1 to H3. A revert is newer than what it takes back, so one pass from the newest on is enough. */
  #takenBack(entries: readonly HistoryEntry[], inRange: ReadonlySet<string>): Set<string> {
    const gone = new Set<string>()
    for (const [index, { hash, parsed }] of entries.entries()) {
      if (gone.has(hash)) continue
      const targets = parsed.reverts.map((revert) =>
        'hash' in revert
          ? { target: this.#find(revert.hash), mainline: revert.mainline }
          : { target: titled(entries, revert.title, index, gone), mainline: undefined },
      )
      const known = targets.filter(({ target }) => target !== undefined && inRange.has(target))
      for (const { target, mainline } of known) {
        gone.add(target!)
        if (mainline === undefined) continue
        for (const brought of this.#between(target!, this.#find(mainline))) gone.add(brought.hash)
      }
      if (parsed.isRevert && known.length === targets.length) gone.add(hash)
    }
    return gone
  }

  /** H4: the packages for which a commit of this merge speaks itself. */
  #spokenFor(merge: HistoryEntry, gone: ReadonlySet<string>): Set<string> {
    const spoken = new Set<string>()
    for (const { hash, parsed, changed } of this.#between(merge.hash, merge.parents[0])) {
      if (hash === merge.hash || !parsed.isConventional || gone.has(hash)) continue
      for (const name of changed) spoken.add(name)
    }
    return spoken
  }

  /**
   * What `from` contains and `without` does not, as far as it is in the range. Positions are in the
   * order of the graph: when a commit is reached, everything newer has told whether it is wanted.
   */
  #between(from: string, without: string | undefined): HistoryEntry[] {
    const wanted = new Map<number, boolean>()
    const mark = (hash: string | undefined, isWanted: boolean): void => {
      const at = hash === undefined ? undefined : this.#position.get(hash)
      if (at !== undefined) wanted.set(at, isWanted && wanted.get(at) !== false)
    }
    mark(from, true)
    mark(without, false)
    const found: HistoryEntry[] = []
    let open = 1
    const start = this.#position.get(from) ?? this.#entries.length
    for (let at = start; at < this.#entries.length && open > 0; at++) {
      const isWanted = wanted.get(at)
      if (isWanted === undefined) continue
      const entry = this.#entries[at]!
      if (isWanted) found.push(entry)
      for (const parent of entry.parents) mark(parent, isWanted)
      wanted.delete(at)
      open = 0
      for (const flag of wanted.values()) if (flag) open++
    }
    return found
  }

  /** People shorten hashes. */
  #find(hash: string): string | undefined {
    if (this.#position.has(hash)) return hash
    if (hash.length >= 40) return undefined
    for (const known of this.#position.keys()) if (known.startsWith(hash)) return known
    return undefined
  }
}

/** The newest commit before this one with that title which still counts. */
function titled(
  entries: readonly HistoryEntry[],
  title: string,
  after: number,
  gone: ReadonlySet<string>,
): string | undefined {
  const isMeant = ({ hash, parsed }: HistoryEntry, index: number): boolean =>
    index > after && parsed.title === title && !gone.has(hash)
  return entries.find(isMeant)?.hash
}

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

/** By position: 1 for the commits that are looked at. */
export type Range = Readonly<Uint8Array>

export class History {
  readonly #entries: readonly HistoryEntry[]
  readonly #position = new Map<string, number>()

  /** Newest first, children before parents. */
  constructor(entries: readonly HistoryEntry[]) {
    this.#entries = entries
    for (const [index, { hash }] of entries.entries()) this.#position.set(hash, index)
  }

  /** What a release at this commit does not contain; everything without one. */
  since(base: string | undefined): Range {
    const range = new Uint8Array(this.#entries.length).fill(1)
    const start = base === undefined ? undefined : this.#position.get(base)
    // A release that is not here is older than everything that is.
    if (start === undefined) return range
    range[start] = 0
    for (let at = start; at < range.length; at++) {
      if (range[at] === 1) continue
      for (const parent of this.#entries[at]!.parents) {
        const position = this.#position.get(parent)
        if (position !== undefined) range[position] = 0
      }
    }
    return range
  }

  /** Whether one of these commits is in the range. */
  reaches(range: Range, hashes: Iterable<string>): boolean {
    for (const hash of hashes) if (range[this.#position.get(hash) ?? -1] === 1) return true
    return false
  }

  /** The changes of the range that count, by package. */
  changes(range: Range): Map<string, EffectiveChange[]> {
    const gone = this.#takenBack(range)
    const found = new Map<string, EffectiveChange[]>()
    for (const [at, entry] of this.#entries.entries()) {
      const { change, title } = entry.parsed
      if (range[at] === 0 || change === 'none' || gone.has(entry.hash)) continue
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
  #takenBack(range: Range): Set<string> {
    const gone = new Set<string>()
    for (const [at, { hash, parsed }] of this.#entries.entries()) {
      if (range[at] === 0 || parsed.reverts.length === 0 || gone.has(hash)) continue
      const targets = parsed.reverts.map((revert) =>
        'hash' in revert
          ? { target: this.#find(revert.hash), mainline: revert.mainline }
          : { target: this.#titled(revert.title, at, gone), mainline: undefined },
      )
      const known = targets.filter(
        ({ target }) => target !== undefined && this.reaches(range, [target]),
      )
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

  /** The newest commit before this one with that title which still counts. */
  #titled(title: string, after: number, gone: ReadonlySet<string>): string | undefined {
    for (let at = after + 1; at < this.#entries.length; at++) {
      const { hash, parsed } = this.#entries[at]!
      if (parsed.title === title && !gone.has(hash)) return hash
    }
    return undefined
  }
}

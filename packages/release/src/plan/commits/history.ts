/**
 * The commits since a release, as a graph, and those that count.
 *
 *  H1  A reverted commit counts for nothing, and neither does the commit that reverts it. A
 *      commit that reverts a revert brings the first commit back.
 *  H2  Reverting a merge reverts all commits that it brought.
 *  H3  Reverting a released commit is a change like any other.
 *  H4  The message of a merge counts for a package only if nothing that it brought there says
 *      anything: it repeats the commits otherwise, and more coarsely.
 */
import type { Commit } from '../../git/commit-log.ts'
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

/** Indexed by position: 1 for the commits in the range. */
export type Range = Readonly<Uint8Array>

/** Commits by their position, which is fixed once: there may be as many ranges as packages. */
export class History {
  readonly #entries: readonly HistoryEntry[]
  readonly #position = new Map<string, number>()
  /** Positions of the parents that are here. */
  readonly #parents: readonly (readonly number[])[]
  readonly #reverting: readonly number[]
  /** Where something may count for a package. */
  readonly #changing = new Map<string, number[]>()

  /** Newest first, children before parents. */
  constructor(entries: readonly HistoryEntry[]) {
    this.#entries = entries
    for (const [at, { hash, parsed, changed }] of entries.entries()) {
      this.#position.set(hash, at)
      if (parsed.change === 'none') continue
      for (const name of changed) {
        const list = this.#changing.get(name)
        if (list === undefined) this.#changing.set(name, [at])
        else list.push(at)
      }
    }
    this.#parents = entries.map(({ parents }) =>
      parents.map((hash) => this.#position.get(hash)).filter((at) => at !== undefined),
    )
    this.#reverting = [...entries.keys()].filter((at) => entries[at]!.parsed.reverts.length > 0)
  }

  /** The commits that a release at this commit does not contain; all commits without one. */
  since(base: string | undefined): Range {
    const range = new Uint8Array(this.#entries.length).fill(1)
    const start = base === undefined ? undefined : this.#position.get(base)
    // A release that is not here is older than everything that is.
    if (start === undefined) return range
    range[start] = 0
    for (let at = start; at < range.length; at++) {
      if (range[at] === 0) for (const parent of this.#parents[at]!) range[parent] = 0
    }
    return range
  }

  /** Whether one of these commits is in the range. */
  reaches(range: Range, hashes: Iterable<string>): boolean {
    for (const hash of hashes) if (range[this.#position.get(hash) ?? -1] === 1) return true
    return false
  }

  /** The changes of the range that count for these packages. */
  changes(range: Range, names: readonly string[]): Map<string, EffectiveChange[]> {
    const gone = this.#takenBack(range)
    const spoken = new Map<string, Set<string>>()
    const counts = (at: number, name: string): boolean => {
      const entry = this.#entries[at]!
      if (range[at] === 0 || gone.has(entry.hash)) return false
      if (entry.parents.length < 2) return true
      let others = spoken.get(entry.hash)
      if (others === undefined) spoken.set(entry.hash, (others = this.#spokenFor(entry, gone)))
      return !others.has(name)
    }
    return new Map(
      names.map((name) => {
        const found = (this.#changing.get(name) ?? []).filter((at) => counts(at, name))
        return [name, found.map((at) => this.#entries[at]!.parsed)]
      }),
    )
  }

  /** H1 to H3. A revert is newer than the reverted commit, so one pass from the newest on is enough. */
  #takenBack(range: Range): Set<string> {
    const gone = new Set<string>()
    for (const at of this.#reverting) {
      const { hash, parsed } = this.#entries[at]!
      if (range[at] === 0 || gone.has(hash)) continue
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
   * order of the graph: when a commit is reached, everything newer has decided whether it is wanted.
   */
  #between(from: string, without: string | undefined): HistoryEntry[] {
    const wanted = new Map<number, boolean>()
    const mark = (at: number | undefined, isWanted: boolean): void => {
      if (at !== undefined) wanted.set(at, isWanted && wanted.get(at) !== false)
    }
    const start = this.#position.get(from)!
    mark(start, true)
    mark(this.#position.get(without ?? ''), false)
    const found: HistoryEntry[] = []
    for (let at = start; [...wanted.values()].includes(true); at++) {
      const isWanted = wanted.get(at)
      if (isWanted === undefined) continue
      if (isWanted) found.push(this.#entries[at]!)
      for (const parent of this.#parents[at]!) mark(parent, isWanted)
      wanted.delete(at)
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

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

interface Entry {
  readonly commit: Commit
  readonly parsed: ParsedMessage
}

/** The commits of the range, newest first, children before parents. */
export class History {
  readonly #entries: Entry[]
  readonly #position = new Map<string, number>()

  constructor(commits: readonly Commit[]) {
    this.#entries = commits.map((commit) => ({ commit, parsed: parseMessage(commit.message) }))
    for (const [index, { hash }] of commits.entries()) this.#position.set(hash, index)
  }

  /**
   * The changes that count, by package. Only commits that `isInRange` are looked at.
   */
  changes(isInRange: (hash: string) => boolean, owners: Owners): Map<string, EffectiveChange[]> {
    const entries = this.#entries.filter(({ commit }) => isInRange(commit.hash))
    const gone = this.#takenBack(entries)
    const found = new Map<string, EffectiveChange[]>()
    for (const { commit, parsed } of entries) {
      if (gone.has(commit.hash) || parsed.change === 'none') continue
      const spoken = commit.parents.length > 1 ? this.#spokenFor(commit, gone, owners) : undefined
      for (const name of new Set(commit.files.flatMap(owners))) {
        if (spoken?.has(name)) continue
        const list = found.get(name)
        const change = { change: parsed.change, title: parsed.title }
        if (list === undefined) found.set(name, [change])
        else list.push(change)
      }
    }
    return found
  }

  /** H1 to H3. A revert is newer than what it takes back, so one pass from the newest on is enough. */
  #takenBack(entries: readonly Entry[]): Set<string> {
    const inRange = new Map(entries.map(({ commit }, index) => [commit.hash, index]))
    const gone = new Set<string>()
    for (const [index, { commit, parsed }] of entries.entries()) {
      if (gone.has(commit.hash)) continue
      const targets = parsed.reverts.map((revert) => {
        const target =
          'hash' in revert ? this.#find(revert.hash) : titled(entries, revert.title, index, gone)
        return { target, mainline: 'hash' in revert ? revert.mainline : undefined }
      })
      const known = targets.filter(({ target }) => target !== undefined && inRange.has(target))
      for (const { target, mainline } of known) {
        gone.add(target!)
        if (mainline === undefined) continue
        for (const brought of this.#between(target!, this.#find(mainline))) gone.add(brought)
      }
      if (parsed.isRevert && known.length === targets.length) gone.add(commit.hash)
    }
    return gone
  }

  /** H4: the owners for whom a commit of this merge speaks itself. */
  #spokenFor({ hash, parents }: Commit, gone: ReadonlySet<string>, owners: Owners): Set<string> {
    const spoken = new Set<string>()
    for (const brought of this.#between(hash, parents[0])) {
      const { commit, parsed } = this.#entries[this.#position.get(brought)!]!
      if (brought === hash || !parsed.isConventional || gone.has(brought)) continue
      for (const name of commit.files.flatMap(owners)) spoken.add(name)
    }
    return spoken
  }

  /**
   * What `from` contains and `without` does not, as far as it is in the range. Positions are in the
   * order of the graph: when a commit is reached, everything newer has told whether it is wanted.
   */
  #between(from: string, without: string | undefined): string[] {
    const wanted = new Map<number, boolean>()
    const mark = (hash: string | undefined, isWanted: boolean): void => {
      const at = hash === undefined ? undefined : this.#position.get(hash)
      if (at !== undefined) wanted.set(at, isWanted && wanted.get(at) !== false)
    }
    mark(from, true)
    mark(without, false)
    const found: string[] = []
    let open = 1
    const start = this.#position.get(from) ?? this.#entries.length
    for (let at = start; at < this.#entries.length && open > 0; at++) {
      const isWanted = wanted.get(at)
      if (isWanted === undefined) continue
      const { hash, parents } = this.#entries[at]!.commit
      if (isWanted) found.push(hash)
      for (const parent of parents) mark(parent, isWanted)
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
  entries: readonly Entry[],
  title: string,
  after: number,
  gone: ReadonlySet<string>,
): string | undefined {
  const found = entries.find(
    ({ commit, parsed }, index) =>
      index > after && parsed.title === title && !gone.has(commit.hash),
  )
  return found?.commit.hash
}

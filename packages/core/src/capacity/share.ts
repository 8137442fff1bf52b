/**
 * How many permits of a limit one server takes, given the shares of the others: `scope: 'cluster'`. Pure functions.
 *
 * Rules, quoted by the tests:
 *  H1  The counts of all servers together never exceed the limit, unless a server that was taken for dead comes back
 *      with attempts that still run: those are counted, and nothing starts beside them.
 *  H2  A server takes any number of the free permits while no other lacks its part. It keeps unused permits until
 *      another one lacks some.
 *  H3  A server that lacks its part gets it as soon as attempts of the others end: they start nothing above their
 *      parts. The part is an equal one for each server that wants permits, and an unused part is divided among the
 *      others.
 *  H4  The server that has lacked its part for the longest time comes first, with all that its next attempt needs. So a
 *      server gets its turn when there are fewer permits than servers, and an attempt that needs many permits is not
 *      starved by those that need one.
 *  H5  Servers that were started with different limits hold the smallest of them.
 */

/** The share of one server, as it is stored. */
export interface Share {
  readonly count: number
  /** How many it would use: more than `count` when something waits. */
  readonly want: number
  /** How many the next attempt needs that waits there; 0 when none waits. */
  readonly need: number
  /** The limit that the server was started with. */
  readonly limit: number
  /**
   * The turn of the server's last write: one that stays the same is a sign of death. Not a count of its own: that would begin
   * again with a server that was taken for dead, and look like the old one.
   */
  readonly beat: number
  /** Whether it lacks a part of its own, or what its next attempt needs. */
  readonly isShort: boolean
  /** The turn since which that is so. */
  readonly since: number
}

export interface ShareQuestion {
  /** The limit that this server was started with. */
  readonly limit: number
  readonly id: string
  /** The share of this server; undefined when it is not in the record. */
  readonly own: Share | undefined
  /** The servers that are alive. */
  readonly others: readonly (readonly [id: string, share: Share])[]
  /** Permits of this server that are in use. */
  readonly used: number
  /** How many the next attempt needs that waits here; 0 when none waits. */
  readonly need: number
  /** Grows with every write of any server. */
  readonly turn: number
}

export interface ShareAnswer {
  readonly share: Share
  /** What may be in use from now on: less than `share.count` while attempts above it end. */
  readonly allowed: number
}

export function shareOf(question: ShareQuestion): ShareAnswer {
  const { id, own, others, used, need, turn } = question
  // H5.
  const limit = others.reduce((least, [, other]) => Math.min(least, other.limit), question.limit)
  const want = need > 0 ? limit : used
  const { isShort: wasShort = false, since = turn } = own ?? {}
  const parts = partsOf(limit, [...others, [id, { want, need, isShort: wasShort, since }]])
  const free = Math.max(0, limit - others.reduce((sum, [, { count }]) => sum + count, 0))
  const isOtherShort = others.some(([other, { count }]) => count < parts.get(other)!)
  const part = parts.get(id)!
  // H2, H3.
  const allowed = Math.min(free, isOtherShort ? part : Math.max(want, own?.count ?? 0))
  // H1: permits in use are counted, whatever the agreement.
  const count = Math.max(used, allowed)
  // H4: also while its part is 0, because others come first.
  const isShort = need > 0 && count < Math.max(part, need)
  return {
    allowed,
    share: {
      count,
      want,
      need,
      limit: question.limit,
      beat: turn,
      isShort,
      since: isShort === wasShort ? since : turn,
    },
  }
}

type Wish = Pick<Share, 'want' | 'need' | 'isShort' | 'since'>

/** The part of each server: together never more than the limit. The same for all servers that read the same record. */
function partsOf(
  limit: number,
  wishes: readonly (readonly [id: string, wish: Wish])[],
): ReadonlyMap<string, number> {
  const parts = new Map(wishes.map(([id]) => [id, 0]))
  // H4.
  let left = limit
  const served = wishes.toSorted(comesFirst).filter(([, { need }]) => {
    if (need > left) return false
    left -= need
    return true
  })
  // H3: every server gets this many, unless it wants fewer or needs more.
  const partAt = (level: number, { want, need }: Wish): number =>
    Math.max(need, Math.min(level, want))
  const sumAt = (level: number): number =>
    served.reduce((sum, [, wish]) => sum + partAt(level, wish), 0)
  let level = 0
  for (let above = limit + 1; above - level > 1;) {
    const middle = Math.floor((level + above) / 2)
    if (sumAt(middle) <= limit) level = middle
    else above = middle
  }
  left = limit - sumAt(level)
  for (const [id, wish] of served) {
    const part = partAt(level, wish)
    const more = left > 0 && partAt(level + 1, wish) > part ? 1 : 0
    parts.set(id, part + more)
    left -= more
  }
  return parts
}

/**
 * H4. Among servers that lack nothing, the one that got its part last keeps it longest: so they
 * take turns.
 */
function comesFirst([a, x]: readonly [string, Wish], [b, y]: readonly [string, Wish]): number {
  if (x.isShort !== y.isShort) return x.isShort ? -1 : 1
  if (x.since !== y.since) return x.isShort ? x.since - y.since : y.since - x.since
  return a < b ? -1 : 1
}

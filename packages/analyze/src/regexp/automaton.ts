/**
 * The automaton of a pattern, by positions: a state is "the character set number p has just matched",
 * and an edge p → q is one way from there to set number q.
 *
 * Between two sets lie choices that take no input. How *many* such ways there are matters: two ways
 * from p to q are two runs of a backtracking matcher, so edges carry a count (1, or 2 for "several").
 *
 * It lets through more than the pattern does: assertions about single places (`\b`, `^` and `$` with
 * `m`) and lookbehinds are passed as if they held, a lookahead is both passed and entered, a
 * backreference is its group once more. Its result is therefore a candidate, and the step counting
 * matcher decides.
 *
 * I1  A way without input uses the way back of each loop at most once: a second turn would have
 *     matched nothing, which the language forbids.
 * I2  State 0 is the start. With `isSearch` it loops on every character, as a search does.
 */
import type { CharSet } from './charset.ts'
import { partition } from './partition.ts'
import type { Partition } from './partition.ts'
import { UnsupportedPattern } from './tree.ts'
import type { ParsedPattern, RegExpTree } from './tree.ts'

const maxPositions = 500
/** How often one node is visited from one state: "several" needs two, loops a few more. */
const maxVisits = 4
/** Turns of a bounded loop above its minimum that are distinguished. More would add nothing. */
const maxSpareTurns = 2

export interface Automaton {
  /** Number of states; state 0 is the start. */
  readonly size: number
  /** Indexed by state: the text read to get there. */
  readonly reads: readonly CharSet[]
  /** Indexed by state: the next states, each with the number of ways (1 or 2). */
  readonly next: readonly ReadonlyMap<number, number>[]
  readonly alphabet: Partition
}

interface Way {
  readonly to: Node
  /** The loop that this way turns. */
  readonly turns?: number
  readonly only?: 'at-start' | 'at-end'
}

interface Node {
  readonly ways: Way[]
  /** Set when reading one character of it leads to `after`. */
  position?: number
  after?: Node
}

export function buildAutomaton(pattern: ParsedPattern, isSearch: boolean): Automaton {
  const builder = new Builder(pattern.tree)
  const start: Node = { ways: [] }
  builder.build(pattern.tree, start)
  const last = pattern.isUnicode ? 0x10ffff : 0xffff
  const reads: CharSet[] = [[0, last], ...builder.sets]
  const next = reads.map((_, state) =>
    state === 0 ? waysFrom(start, true) : waysFrom(builder.after[state - 1] as Node, false),
  )
  if (isSearch) {
    next[0] = new Map([...waysFrom(start, false), ...(next[0] as Map<number, number>), [0, 1]])
  }
  return { size: reads.length, reads, next, alphabet: partition(reads) }
}

class Builder {
  readonly sets: CharSet[] = []
  readonly after: Node[] = []
  readonly #groups = new Map<number, RegExpTree>()
  readonly #open = new Set<number>()
  #loops = 0

  constructor(tree: RegExpTree) {
    this.#findGroups(tree)
  }

  #findGroups(tree: RegExpTree): void {
    if (tree.kind === 'group') this.#groups.set(tree.index, tree.body)
    if ('body' in tree) this.#findGroups(tree.body)
    if (tree.kind === 'sequence') for (const part of tree.parts) this.#findGroups(part)
    if (tree.kind === 'choice') for (const choice of tree.choices) this.#findGroups(choice)
  }

  /** Adds the language of the tree after `from`; returns the node where it has matched. */
  build(tree: RegExpTree, from: Node): Node {
    switch (tree.kind) {
      case 'set': {
        const after: Node = { ways: [] }
        if (this.sets.length >= maxPositions) throw new UnsupportedPattern('too large')
        this.sets.push(tree.set)
        this.after.push(after)
        from.ways.push({ to: { ways: [], position: this.sets.length, after } })
        return after
      }
      case 'sequence':
        return tree.parts.reduce((node, part) => this.build(part, node), from)
      case 'choice': {
        const end: Node = { ways: [] }
        for (const choice of tree.choices) {
          const first: Node = { ways: [] }
          from.ways.push({ to: first })
          this.build(choice, first).ways.push({ to: end })
        }
        return end
      }
      case 'group': {
        this.#open.add(tree.index)
        const end = this.build(tree.body, from)
        this.#open.delete(tree.index)
        return end
      }
      case 'loop':
        return this.#loop(tree, from)
      case 'edge': {
        if (tree.isMultiline) return from
        const end: Node = { ways: [] }
        from.ways.push({ to: end, only: tree.at === 'start' ? 'at-start' : 'at-end' })
        return end
      }
      case 'look':
        if (!tree.isBehind) {
          const inside: Node = { ways: [] }
          from.ways.push({ to: inside })
          this.build(tree.body, inside)
        }
        return from
      case 'back': {
        const index = tree.groups.find((group) => !this.#open.has(group))
        const body = index === undefined ? undefined : this.#groups.get(index)
        if (index === undefined || body === undefined) return from
        this.#open.add(index)
        const end = this.build(body, from)
        this.#open.delete(index)
        return end
      }
      case 'word':
        return from
    }
  }

  #loop(tree: Extract<RegExpTree, { kind: 'loop' }>, from: Node): Node {
    const isEndless = tree.max === Infinity
    let node = from
    // The last turn that an endless loop demands is the one that is repeated.
    for (let i = isEndless ? 1 : 0; i < tree.min; i += 1) {
      const next = this.build(tree.body, node)
      // A turn without input: any required number of them equals one.
      if (next === node) break
      node = next
    }
    const end: Node = { ways: [] }
    if (isEndless) {
      const turns = this.#loops
      this.#loops += 1
      const head: Node = { ways: [] }
      node.ways.push({ to: head })
      const turned = this.build(tree.body, head)
      turned.ways.push({ to: head, turns })
      const last = tree.min === 0 ? head : turned
      last.ways.push({ to: end })
      return end
    }
    for (let i = 0; i < Math.min(tree.max - tree.min, maxSpareTurns); i += 1) {
      node.ways.push({ to: end })
      node = this.build(tree.body, node)
    }
    node.ways.push({ to: end })
    return end
  }
}

/** The sets that can be read next, with the number of ways to each. */
function waysFrom(from: Node, isAtStart: boolean): Map<number, number> {
  const counts = new Map<number, number>()
  const visits = new Map<Node, number>()
  const walk = (node: Node, turned: readonly number[]): void => {
    const visited = visits.get(node) ?? 0
    if (visited >= maxVisits) return
    visits.set(node, visited + 1)
    if (node.position !== undefined) {
      counts.set(node.position, Math.min(2, (counts.get(node.position) ?? 0) + 1))
      return
    }
    for (const way of node.ways) {
      if (way.only === 'at-end' || (way.only === 'at-start' && !isAtStart)) continue
      if (way.turns === undefined) walk(way.to, turned)
      else if (!turned.includes(way.turns)) walk(way.to, [...turned, way.turns])
    }
  }
  walk(from, [])
  return counts
}

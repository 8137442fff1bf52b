/**
 * Questions about paths: "from here, can that happen before this?"
 *
 * A question is a small automaton that walks the graph along with its state. Each block is visited
 * once per state, so a question costs at most blocks × states, and the first answer comes with the
 * way that leads to it. This is how every rule finds its window.
 *
 * A question ends after `furthest` events without an answer. A function of 20,000 lines has as many
 * questions as blocks; without the limit it takes minutes, and nobody reviews a window of that size.
 */
import type { Block, Event, Graph } from '../ir/graph.ts'
import type { Suspension } from '../ir/program.ts'

export interface Position {
  readonly block: Block
  readonly index: number
}

/** What a step says about an event: go on in a state, give this way up, or this is it. */
export const stop = -1
export const found = -2

export interface Question {
  /** States are small numbers; `states` is how many there are. */
  readonly states: number
  readonly start: number
  step(event: Event, state: number, block: Block): number
  /** The state on the way to a block, or `stop`. */
  cross?(from: Block, to: Block, state: number): number
  /** What the end of a way without successors means. Default: stop. */
  atEnd?(block: Block, state: number): number
}

export interface Answer {
  readonly event: Event | undefined
  readonly block: Block
  /** Suspensions on the way, in order. */
  readonly suspensions: readonly Suspension[]
  /** Blocks on the way, first to last. */
  readonly way: readonly Block[]
}

/** Events that a question looks at, nearest first. */
const furthest = 3_000

/** Walks from behind a position. Breadth first, so the shortest way is found. */
export function ask(graph: Graph, from: Position, question: Question): Answer | undefined {
  const { states } = question
  const seen = new Uint8Array(graph.blocks.length * states)
  const blocks: Block[] = [from.block]
  const firstStates: number[] = [question.start]
  const parents: number[] = [-1]
  let steps = 0
  for (let at = 0; at < blocks.length && steps < furthest; at++) {
    const block = blocks[at]!
    let state = firstStates[at]!
    const { events } = block
    steps += 1 + events.length
    for (let index = at === 0 ? from.index + 1 : 0; index < events.length; index++) {
      state = question.step(events[index]!, state, block)
      if (state < 0) {
        if (state === found) return answer(events[index], at)
        break
      }
    }
    if (state < 0) continue
    if (block.next.length === 0 && question.atEnd?.(block, state) === found)
      return answer(undefined, at)
    for (const next of block.next) {
      const passed = question.cross === undefined ? state : question.cross(block, next, state)
      if (passed < 0 || seen[next.id * states + passed] === 1) continue
      seen[next.id * states + passed] = 1
      blocks.push(next)
      firstStates.push(passed)
      parents.push(at)
    }
  }
  return undefined

  function answer(event: Event | undefined, last: number): Answer {
    const way: Block[] = []
    for (let at = last; at !== -1; at = parents[at]!) way.push(blocks[at]!)
    way.reverse()
    const suspensions: Suspension[] = []
    for (const [index, block] of way.entries()) {
      for (const one of block.events) {
        if (one === event && index === way.length - 1) break
        if (one.op === 'suspend') suspensions.push(one)
      }
    }
    return { event, block: blocks[last]!, suspensions, way }
  }
}

/**
 * Blocks that run because a block ran, without entering any of the barred ones.
 *
 * A later callback runs because it was handed over, not because the region that it waits for ended:
 * an early return may end the same region and hand over nothing.
 */
export function reachable(graph: Graph, from: Block, barred: ReadonlySet<Block>): Uint8Array {
  const seen = new Uint8Array(graph.blocks.length)
  const stack = [from]
  seen[from.id] = 1
  const visit = (block: Block): void => {
    if (seen[block.id] === 1 || barred.has(block)) return
    seen[block.id] = 1
    stack.push(block)
  }
  while (stack.length > 0) {
    const block = stack.pop()!
    for (const next of block.next)
      if (next.handedOverBy === undefined || next.handedOverBy === block) visit(next)
    for (const later of block.handsOver) visit(later)
  }
  return seen
}

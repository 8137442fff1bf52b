/**
 * Questions about paths: "from here, can that happen before this?"
 *
 * A question is a small automaton that walks the graph along with its state. Each block is visited
 * once per state, so a question costs at most blocks × states, and the first answer comes with the
 * way that leads to it. This is how every rule finds its window.
 *
 * A question ends after `furthest` events without an answer. A function of 20,000 lines has as many
 * questions as blocks; without the limit it takes minutes, and no reader reviews a window of that size.
 */
import type { Block, Event, Graph } from '../ir/graph.ts'
import type { Suspension } from '../ir/program.ts'

export interface Position {
  readonly block: Block
  readonly index: number
}

/** The answer of a step about an event: continue in a state, give this path up, or found. */
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

/** Events that a query visits, nearest first. */
const furthest = 3_000

/**
 * The room of one question, used again by the next one: there are tens of thousands of them. It has
 * numbers of blocks, not blocks, so that nothing of a program is kept after its analysis.
 */
class Walk {
  /** What waits to be visited, first to last: block, state on arrival, where it came from. */
  blocks = new Int32Array(0)
  states = new Int32Array(0)
  parents = new Int32Array(0)
  length = 0
  #marks = new Uint32Array(0)
  #mark = 0

  /** For places 0 to `places` - 1. */
  begin(places: number): void {
    this.length = 0
    if (this.#marks.length < places || this.#mark === 0xffff_ffff) this.#makeRoom(places * 2)
    // Marks of earlier walks have a smaller number.
    this.#mark++
  }

  #makeRoom(places: number): void {
    this.#marks = new Uint32Array(places)
    this.#mark = 0
    // The first block is visited without a mark: a loop may lead back to it.
    this.blocks = new Int32Array(places + 1)
    this.states = new Int32Array(places + 1)
    this.parents = new Int32Array(places + 1)
  }

  /** Whether it is there for the first time. */
  isNew(place: number): boolean {
    if (this.#marks[place] === this.#mark) return false
    this.#marks[place] = this.#mark
    return true
  }

  add(block: Block, state: number, parent: number): void {
    const at = this.length++
    this.blocks[at] = block.id
    this.states[at] = state
    this.parents[at] = parent
  }
}

/** Several, because a step may ask a question of its own. */
const idle: Walk[] = []

/** Walks from behind a position. Breadth first, so the shortest way is found. */
export function ask(graph: Graph, from: Position, question: Question): Answer | undefined {
  const walk = idle.pop() ?? new Walk()
  walk.begin(graph.blocks.length * question.states)
  const answer = walkAlong(walk, graph, from, question)
  idle.push(walk)
  return answer
}

function walkAlong(
  walk: Walk,
  graph: Graph,
  from: Position,
  question: Question,
): Answer | undefined {
  walk.add(from.block, question.start, -1)
  let steps = 0
  for (let at = 0; at < walk.length && steps < furthest; at++) {
    const block = graph.blocks[walk.blocks[at]!]!
    let state = walk.states[at]!
    const { events } = block
    steps += 1 + events.length
    for (let index = at === 0 ? from.index + 1 : 0; index < events.length; index++) {
      state = question.step(events[index]!, state, block)
      if (state < 0) {
        if (state === found) return answerAt(walk, graph, at, events[index])
        break
      }
    }
    if (state < 0) continue
    if (block.next.length === 0 && question.atEnd?.(block, state) === found)
      return answerAt(walk, graph, at, undefined)
    for (const next of block.next) {
      const passed = question.cross === undefined ? state : question.cross(block, next, state)
      if (passed >= 0 && walk.isNew(next.id * question.states + passed)) walk.add(next, passed, at)
    }
  }
  return undefined
}

function answerAt(walk: Walk, graph: Graph, last: number, event: Event | undefined): Answer {
  const way: Block[] = []
  for (let at = last; at !== -1; at = walk.parents[at]!) way.push(graph.blocks[walk.blocks[at]!]!)
  way.reverse()
  const suspensions: Suspension[] = []
  for (const [index, block] of way.entries()) {
    for (const one of block.events) {
      if (one === event && index === way.length - 1) break
      if (one.op === 'suspend') suspensions.push(one)
    }
  }
  return { event, block: way.at(-1)!, suspensions, way }
}

/**
 * Whether a block runs because another one ran, without entering any of the barred ones.
 *
 * A later callback runs because it was handed over, not because the region that it waits for ended:
 * an early return may end the same region and hand over nothing.
 */
export function reaches(graph: Graph, from: Block, to: Block, barred: readonly Block[]): boolean {
  if (from === to) return true
  const walk = idle.pop() ?? new Walk()
  walk.begin(graph.blocks.length)
  const visit = (block: Block): void => {
    if (!barred.includes(block) && walk.isNew(block.id)) walk.add(block, 0, -1)
  }
  let isReached = false
  walk.add(from, 0, -1)
  for (let at = 0; at < walk.length && !isReached; at++) {
    const block = graph.blocks[walk.blocks[at]!]!
    isReached = block === to
    for (const next of block.next)
      if (next.handedOverBy === undefined || next.handedOverBy === block) visit(next)
    for (const later of block.handsOver) visit(later)
  }
  idle.push(walk)
  return isReached
}

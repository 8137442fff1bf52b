import { HeddleError } from '../errors.ts'
import type { Needs } from '../graph/job.ts'
import { isThenable } from '../kernel/call.ts'
import type { Clock } from '../kernel/clock.ts'
import { Deadlines, type Due } from '../kernel/deadlines.ts'
import type { Node } from './node.ts'

/*
 * Asks nodes for their needs, when these are a function. A node waits here, and nowhere else, until the answer is
 * there.
 *
 *   ask ─┬─ answers or throws at once ──────────────────▶ onAnswer | onFailure
 *        └─ returns a promise ─▶ asked ─┬─ settles ─────▶ onAnswer | onFailure
 *                                       ├─ timeout ─────▶ onFailure (HDL_TIMEOUT)
 *                                       └─ withdraw ────▶ nothing
 *
 * Invariants, quoted by the tests:
 *  N1  A question has one answer. Later results of its promise are ignored, however often it settles.
 *  N2  An answer takes no longer than the node's timeout (law 3).
 *  N3  A node that ends while it is asked is withdrawn. After close() no timer is left.
 */
export class AskedNeeds {
  readonly #clock: Clock
  readonly #onAnswer: (node: Node, needs: Needs | undefined) => void
  readonly #onFailure: (node: Node, error: unknown) => void
  readonly #deadlines: Deadlines<Question>
  readonly #questions = new Map<Node, Question>()

  constructor(
    clock: Clock,
    onAnswer: (node: Node, needs: Needs | undefined) => void,
    onFailure: (node: Node, error: unknown) => void,
  ) {
    this.#clock = clock
    this.#onAnswer = onAnswer
    this.#onFailure = onFailure
    this.#deadlines = new Deadlines(clock, ({ node }) => {
      const { name, limits } = node
      this.#questions.delete(node)
      const details = { what: `"${name}"`, limit: limits.timeout, stage: 'needs' }
      onFailure(node, new HeddleError('HDL_TIMEOUT', details))
    })
  }

  /** How many nodes wait for an answer. */
  get size(): number {
    return this.#questions.size
  }

  /** Since when a node waits for its answer; undefined when it does not. */
  askedAt(node: Node): number | undefined {
    return this.#questions.get(node)?.askedAt
  }

  ask(node: Node, call: () => Needs | undefined | PromiseLike<Needs | undefined>): void {
    let answer: ReturnType<typeof call>
    let promise: Promise<Needs | undefined> | undefined
    try {
      answer = call()
      // Through a promise of our own: another one may settle twice, or call back before then() returns.
      if (isThenable(answer)) promise = Promise.resolve(answer)
    } catch (error) {
      return this.#onFailure(node, error)
    }
    if (promise === undefined) return this.#onAnswer(node, answer as Needs | undefined)
    const question = new Question(node, this.#clock.now())
    this.#questions.set(node, question)
    const { timeout } = node.limits
    if (timeout !== Infinity) this.#deadlines.set(question, question.askedAt + timeout)
    promise.then(
      (needs) => {
        if (this.#end(question)) this.#onAnswer(node, needs)
      },
      (error: unknown) => {
        if (this.#end(question)) this.#onFailure(node, error)
      },
    )
  }

  /** The node has ended. */
  withdraw(node: Node): void {
    const question = this.#questions.get(node)
    if (question !== undefined) this.#end(question)
  }

  close(): void {
    this.#questions.clear()
    this.#deadlines.close()
  }

  /** N1: false when it has ended already, also when the node has been asked again meanwhile. */
  #end(question: Question): boolean {
    if (this.#questions.get(question.node) !== question) return false
    this.#questions.delete(question.node)
    this.#deadlines.delete(question)
    return true
  }
}

class Question implements Due {
  heapIndex = -1
  dueAt = 0
  readonly node: Node
  readonly askedAt: number

  constructor(node: Node, askedAt: number) {
    this.node = node
    this.askedAt = askedAt
  }
}

/** A graph of jobs that do nothing, run by libraries that know jobs but no graph. */
import type { Shape } from '../engine/shapes.ts'
import type { Durability, Ledger, OpenQueue } from './contract.ts'

/** Counts for each node how many of its dependencies are missing. Not durable: that favours the peers. */
class Missing {
  readonly #dependents: number[][]
  readonly #missing: number[]

  constructor({ after }: Shape) {
    this.#dependents = after.map(() => [])
    this.#missing = after.map(({ length }) => length)
    after.forEach((dependencies, node) => {
      for (const dependency of dependencies) this.#dependents[dependency]!.push(node)
    })
  }

  /** Nodes without dependencies. */
  first(): number[] {
    return [...this.#missing.keys()].filter((node) => this.#missing[node] === 0)
  }

  /** Nodes whose last dependency this was. */
  after(done: number): number[] {
    return this.#dependents[done]!.filter((node) => --this.#missing[node]! === 0)
  }
}

/** Runs the shape once. */
export type PlayFlow = (shape: Shape) => Promise<void>

/**
 * Every job that is done adds those that waited for it: all that became ready in a turn of the loop with
 * one call. At most `concurrency` are added and not done.
 */
export async function openQueueFlow(
  open: OpenQueue,
  durability: Durability,
  concurrency: number,
): Promise<PlayFlow> {
  let current: QueueFlow | undefined
  const queue = await open({
    durability,
    concurrency,
    run: (job) => current?.onRun(job),
    onDone: (job) => current?.onDone(job),
  })
  let jobs = 0
  return (shape) => {
    const offset = jobs
    jobs += shape.names.length
    const add = (nodes: readonly number[]) => queue.add(nodes.map((node) => node + offset))
    current = new QueueFlow(shape, offset, concurrency, add)
    return current.play()
  }
}

class QueueFlow {
  readonly #missing: Missing
  readonly #offset: number
  readonly #add: (nodes: readonly number[]) => Promise<unknown>
  readonly #ended = Promise.withResolvers<void>()
  readonly #ready: number[]
  /** Indexed by node: 1 when it has run, 2 when it is done. */
  readonly #progress: Uint8Array
  #free: number
  #left: number
  #isPlanned = false

  constructor(
    shape: Shape,
    offset: number,
    concurrency: number,
    add: (nodes: readonly number[]) => Promise<unknown>,
  ) {
    this.#missing = new Missing(shape)
    this.#offset = offset
    this.#free = concurrency
    this.#left = shape.names.length
    this.#progress = new Uint8Array(shape.names.length)
    this.#add = add
    this.#ready = this.#missing.first()
  }

  play(): Promise<void> {
    this.#addReady()
    return this.#ended.promise
  }

  onRun(job: number): void {
    this.#progress[job - this.#offset] = 1
  }

  onDone(job: number): void {
    if (this.#progress[job - this.#offset] !== 1) {
      this.#ended.reject(new Error(`job ${job} is done and has not run, or is done twice`))
      return
    }
    this.#progress[job - this.#offset] = 2
    this.#ready.push(...this.#missing.after(job - this.#offset))
    this.#free++
    if (--this.#left === 0) this.#ended.resolve()
    if (this.#isPlanned) return
    this.#isPlanned = true
    setImmediate(() => this.#addReady())
  }

  #addReady(): void {
    this.#isPlanned = false
    const nodes = this.#ready.splice(0, this.#free)
    if (nodes.length === 0) return
    this.#free -= nodes.length
    this.#add(nodes).catch(this.#ended.reject)
  }
}

/** The floor of a flow: the least that starts a node when the success of its dependencies is durable. */
export async function playOnLedger(shape: Shape, ledger: Ledger): Promise<void> {
  const missing = new Missing(shape)
  const run = async (node: number): Promise<void> => {
    const name = shape.names[node]!
    ledger.append(name, 0)
    ledger.append(name, 1)
    await ledger.commit(name, 2)
    await Promise.all(missing.after(node).map(run))
  }
  await Promise.all(missing.first().map(run))
}

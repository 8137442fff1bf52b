/**
 * A random growing graph in virtual time, with pauses, cancels, failures and restarts, made from one seed.
 *
 * What must hold, whatever happens to it:
 *  - a node, an element or a step that has succeeded in the journal is not started again (G3);
 *  - no more run at once than `concurrency`, and no more of a map than its window (G1, G4);
 *  - when everything has succeeded, each value is the one that the plan says, maps in order (G2);
 *  - when a life has ended by itself, no timer is left (G10);
 *  - clean-up nodes start only when their dependencies have ended (G7).
 */
import assert from 'node:assert/strict'
import { Graph, job, startRun, type Job, type JobContext, type NodeRef } from '@heddle/core'
import {
  openJournal,
  seededRandom,
  systemKernel,
  type HistoryEntry,
  type Journal,
} from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { cutOff, historyOf } from './kit.ts'

const concurrency = 3
const mostLives = 40

type Counts = Record<'lives' | 'crashes' | 'cancels' | 'pauses' | 'failures', number>

type Kind = 'job' | 'map' | 'counted' | 'subgraph' | 'flow' | 'clean'

interface Plan {
  readonly kind: Kind
  readonly name: string
  readonly size: number
  readonly window: number
  readonly after: readonly string[]
}

class World {
  readonly clock = new VirtualClock()
  readonly seed: number
  readonly plans: readonly Plan[]
  readonly counts: Counts = { lives: 0, crashes: 0, cancels: 0, pauses: 0, failures: 0 }
  /** How often a piece of work still fails. */
  readonly #failing = new Map<string, number>()
  /** What has succeeded before this life began. */
  recorded: ReadonlySet<string> = new Set()
  /** The life that counts: what an earlier one still does says nothing. */
  life = 0
  #running = 0

  constructor(seed: number) {
    this.seed = seed
    const random = seededRandom(seed)
    const below = (limit: number): number => Math.floor(random.next() * limit)
    const kinds: readonly Kind[] = ['job', 'map', 'counted', 'subgraph', 'flow', 'flow', 'clean']
    const plans: Plan[] = []
    for (let index = 0, size = 2 + below(4); index < size; index++) {
      // Nothing depends on a clean-up node: it may run again when what it cleans up after does.
      const possible = plans.filter(({ kind }) => kind !== 'clean')
      const after = possible.filter(() => below(3) === 0).map(({ name }) => name)
      const kind = kinds[below(kinds.length)]!
      plans.push({ kind, name: `n${index}`, size: below(5), window: 1 + below(3), after })
    }
    this.plans = plans
    this.random = random
  }

  readonly random: ReturnType<typeof seededRandom>

  below(limit: number): number {
    return Math.floor(this.random.next() * limit)
  }

  /** A job that counts, takes some time, and may fail a few times. */
  work<I>(name: string, value: (input: I) => unknown): Job<I> {
    const { life } = this
    return job({ name }, async (input: I, context) => {
      const isCurrent = this.life === life
      if (isCurrent) this.#begin(context)
      const ms = (context.name.length * 7 + this.seed) % 20
      if (ms > 4) await new Promise<void>((resolve) => this.clock.setTimer(ms, resolve))
      if (isCurrent) this.#running--
      if (this.life === life && this.#fails(context.name)) throw new Error(`${context.name} broke`)
      return value(input)
    })
  }

  #begin({ name }: JobContext): void {
    assert.ok(!this.recorded.has(name), `${name} has succeeded and was started again`)
    assert.ok(++this.#running <= concurrency, `${this.#running} run at once`)
  }

  #fails(name: string): boolean {
    let left = this.#failing.get(name)
    if (left === undefined)
      left = (name.length * 31 + this.seed) % 5 === 0 ? 1 + (this.seed % 2) : 0
    this.#failing.set(name, Math.max(0, left - 1))
    if (left > 0) this.counts.failures++
    return left > 0
  }

  beginLife(): void {
    this.life++
    this.#running = 0
  }

  graph(): Graph {
    const graph = new Graph()
    const refs = new Map<string, NodeRef>()
    for (const plan of this.plans) refs.set(plan.name, this.#add(graph, plan, refs))
    return graph
  }

  #add(graph: Graph, plan: Plan, refs: ReadonlyMap<string, NodeRef>): NodeRef {
    const { kind, name, size, window } = plan
    const after = plan.after.map((each) => refs.get(each)!)
    const elements = Array.from({ length: size }, (_, index) => index)
    const double = this.work('double', (n: number) => 2 * n)
    const step = this.work('step', (n: number) => n + 1)
    switch (kind) {
      case 'job':
        return graph.add(
          name,
          this.work('job', () => name),
          { after },
        )
      case 'clean':
        return graph.add(
          name,
          this.work('clean', () => name),
          { after, when: 'always' },
        )
      case 'map': {
        const keyed = size % 2 === 0 && { key: (n: number) => `key ${n}` }
        return graph.map(name, double, { over: () => elements, window, after, ...keyed })
      }
      case 'counted': {
        const nested = job({ name: 'nested' }, (n: number, ctx) => ctx.run(step, n))
        return graph.map(name, nested, { over: () => elements, window, after, collect: false })
      }
      case 'subgraph':
        return graph.subgraph(
          name,
          () => {
            const inner = new Graph()
            const all = inner.map('all', double, { over: () => elements, window })
            const result = inner.add(
              'last',
              this.work('last', (list: unknown[]) => list),
              {
                after: [all],
                input: (of) => of(all),
              },
            )
            return { graph: inner, result }
          },
          { after },
        )
      case 'flow': {
        const flow = job({ name: 'flow', retries: size % 3 }, async (_: void, ctx) => {
          const first = await ctx.run(step, 0)
          if (size > 1) await ctx.sleep(5 * size)
          const both = await Promise.all([ctx.run(step, 1), ctx.run(step, 2, { key: 'two' })])
          const caught = await ctx
            .run(
              this.work('risky', () => 'fine'),
              undefined,
            )
            .catch(() => 'caught')
          const signal = size > 2 ? await ctx.waitFor('go') : 'none'
          return [first, ...both, caught, signal]
        })
        return graph.add(name, flow, { after })
      }
    }
  }

  check({ name, kind, size }: Plan, value: unknown): void {
    const doubled = Array.from({ length: size }, (_, index) => 2 * index)
    if (kind === 'job' || kind === 'clean') assert.equal(value, name)
    else if (kind === 'map' || kind === 'subgraph') assert.deepEqual(value, doubled)
    else if (kind === 'counted') {
      assert.deepEqual(value, { elements: size, succeeded: size, failed: 0 })
    } else {
      const [first, second, third, caught, signal] = value as unknown[]
      assert.deepEqual([first, second, third], [1, 2, 3])
      assert.ok(caught === 'fine' || caught === 'caught')
      assert.equal(signal, size > 2 ? 'gone' : 'none')
    }
  }
}

function successesOf(history: readonly HistoryEntry[], unstable: ReadonlySet<string>): Set<string> {
  return new Set(
    history.flatMap((row) => {
      if (row.kind === 'node')
        return row.state === 'succeeded' && !unstable.has(row.node) ? [row.node] : []
      if (row.kind !== 'part' || row.state !== 'succeeded') return []
      const { path } = row.part
      return [`${row.node}${path.startsWith('[') ? '' : ' '}${path}`]
    }),
  )
}

/** Plays the graph of a seed until everything in it has succeeded. */
export async function playSeed(seed: number): Promise<Counts> {
  const world = new World(seed)
  const { clock, counts } = world
  const kernel = { random: seededRandom(seed), clock }
  const unstable = new Set(
    world.plans.filter(({ kind }) => kind === 'clean').map(({ name }) => name),
  )
  let journal: Journal = await openJournal('memory', { kernel: { ...systemKernel, clock } })
  let resume: string | undefined
  for (;;) {
    assert.ok(++counts.lives <= mostLives, 'it does not come to an end')
    world.beginLife()
    const controller = new AbortController()
    const started = await startRun(world.graph(), {
      kernel,
      journal,
      concurrency,
      retryBaseDelay: 10,
      cancelGrace: 30,
      signal: controller.signal,
      ...(resume !== undefined && { resume }),
    })
    const { scheduler, id } = started
    let isOver = started.isRecorded
    void started.result.then(() => (isOver = true))
    // What happens to it: a few things at random moments, then it is left alone.
    for (let event = 0; event < 3 && !isOver && counts.lives < 8; event++) {
      await clock.advance(world.below(25))
      if (isOver) break
      const what = world.below(8)
      if (what === 0) {
        counts.pauses++
        scheduler.pause()
        await clock.advance(world.below(40))
        scheduler.resume()
      } else if (what === 1) {
        counts.cancels++
        scheduler.cancel(world.below(2) === 0 ? { abort: true } : {})
      } else if (what === 2) {
        await journal.post!(id!, { kind: 'signal', name: 'go', value: 'gone', by: 'seed' }).catch(
          () => undefined,
        )
      } else if (what === 3) {
        counts.crashes++
        const history = await historyOf(journal, id!)
        const next = await openJournal('memory', { kernel: { ...systemKernel, clock } })
        resume = await cutOff(journal, id!, history.length, next)
        world.life++
        controller.abort()
        await clock.runUntil(started.result)
        journal = next
        break
      }
    }
    if (controller.signal.aborted) {
      world.recorded = successesOf(await historyOf(journal, resume!), unstable)
      continue
    }
    // Sends one for each waiting job, so that none waits for ever.
    for (const _ of world.plans) {
      if (isOver) break
      await journal.post!(id!, { kind: 'signal', name: 'go', value: 'gone', by: 'seed' }).catch(
        () => undefined,
      )
    }
    const result = await clock.runUntil(started.result)
    assert.equal(clock.pending, 0, 'a timer is left')
    world.recorded = successesOf(await historyOf(journal, id!), unstable)
    resume = id!
    if (!result.ok) continue
    for (const plan of world.plans) world.check(plan, result.valueOf(plan.name))
    return counts
  }
}

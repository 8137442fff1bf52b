/** A graph with everything that grows or waits: maps, sub-graphs, steps, sleeps, signals, clean-up nodes, keys; and an artifact. */
import { appendFileSync } from 'node:fs'
import { Graph, job, type Job, type JobContext } from '@heddle/core'
import { seededRandom } from '@heddle/core/lowlevel'

/** Jobs that wait for signals, and how many each waits for. All wait for the same name. */
export const flows = 3
export const waitsOfFlow = 2
export const signalName = 'go'

/** The artifact that a job writes, and its bytes: some pieces, and not a whole number of them. */
export const artifactName = 'report.bin'
export const artifactBytes = 600_000

/**
 * Nodes that clean up. They run again after each try of the node they clean up after, until that has succeeded; `mop`
 * comes after a node that always fails.
 */
export const cleanUps: ReadonlySet<string> = new Set(['clean', 'mop'])

export interface Effects {
  /** Called by each piece of work when it starts. */
  begin(name: string): void
}

/** Writes each start to a file, in one system call, so that no kill takes it back. */
export function effectsTo(file: string, onBegin: (name: string) => void): Effects {
  return {
    begin(name) {
      appendFileSync(file, `${name}\n`)
      onBegin(name)
    },
  }
}

export function growingGraph(seed: number, effects: Effects): Graph {
  const random = seededRandom(seed)
  const below = (limit: number): number => Math.floor(random.next() * limit)
  const counted = <I, O>(name: string, work: (input: I, context: JobContext) => O): Job<I, O> =>
    job({ name }, async (input: I, context) => {
      effects.begin(context.name)
      if (below(3) === 0) await new Promise((resolve) => setImmediate(resolve))
      return work(input, context)
    })
  const double = counted('double', (n: number) => 2 * n)
  const pay = counted('pay', (n: number) => `paid ${n}`)

  const graph = new Graph()
  const length = 10 + below(20)
  const list = graph.add(
    'list',
    counted('list', () => Array.from({ length }, (_, index) => index)),
  )
  const keyed = below(2) === 0 && { key: (n: number) => `element/${n}` }
  const doubled = graph.map('doubled', double, { over: list, window: 1 + below(6), ...keyed })
  graph.map('counted', double, { over: list, window: 1 + below(8), collect: false })
  const stepped = job({ name: 'stepped' }, async (n: number, ctx) => [
    await ctx.run(pay, n),
    await ctx.run(pay, n + 1, { key: `again ${n}` }),
  ])
  graph.map('stepped', stepped, { over: (of) => of(list).slice(0, 6), after: [list], window: 3 })

  const total = graph.subgraph(
    'train',
    (of) => {
      const inner = new Graph()
      const source = of(doubled)
      const halves = [source.slice(0, 5), source.slice(5)].map((half, index) =>
        inner.add(
          `half ${index}`,
          counted('sum', (all: number[]) => sum(all)),
          { input: half },
        ),
      )
      inner.map('nested', double, { over: () => source.slice(0, 4), window: 2 })
      inner.subgraph('deep', () => {
        const deep = new Graph()
        deep.add(
          'leaf',
          counted('leaf', () => 'leaf'),
        )
        return deep
      })
      const both = inner.add('both', counted('sum', sum), {
        after: halves,
        input: (o) => halves.map((half) => o(half)),
      })
      return { graph: inner, result: both }
    },
    { after: [doubled] },
  )

  const sleepTime = below(30)
  const flow = job({ name: 'flow' }, async (_: void, ctx) => {
    const first = await ctx.run(pay, 1)
    await ctx.sleep(sleepTime)
    const both = await Promise.all([ctx.run(pay, 2), ctx.run(double, 3, { key: 'three' })])
    const signals: unknown[] = []
    for (let wait = 0; wait < waitsOfFlow; wait++) {
      signals.push(await ctx.waitFor(signalName))
      await ctx.run(pay, 10 + wait)
    }
    return [first, ...both, signals]
  })
  const waiting = Array.from({ length: flows }, (_, index) => graph.add(`flow ${index}`, flow))
  graph.add(
    'clean',
    counted('clean', (n: number | undefined) => n),
    {
      after: [total, ...waiting],
      when: 'always',
      input: (of) => of(total),
    },
  )
  graph.add(
    'report',
    counted('report', async (_: void, { artifact }) => {
      await artifact(artifactName, artifactPieces())
    }),
    { after: [list] },
  )
  const bad = graph.add(
    'bad',
    counted('bad', (): void => {
      throw new Error('bad')
    }),
  )
  graph.add(
    'mop',
    counted('mop', () => 'mopped'),
    { after: [bad], when: 'always' },
  )
  return graph
}

function* artifactPieces(): Generator<Uint8Array> {
  for (let bytes = 0; bytes < artifactBytes; bytes += 30_000)
    yield new Uint8Array(30_000).fill(bytes)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0)
}

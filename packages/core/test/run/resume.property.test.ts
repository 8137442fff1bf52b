import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import fc from 'fast-check'
import { run } from '@heddle/core'
import { CountedGraph, cutOff, historyOf, journals, successes } from './kit.ts'

/** A node by its number: the version of its job, and which of the nodes before it it needs. */
interface Plan {
  readonly version: number
  readonly needs: number
}
/** Undefined where the graph has no such node. */
type Plans = readonly (Plan | undefined)[]

const size = 6
const perNode = { minLength: size, maxLength: size }
const plan = fc.record({ version: fc.nat(2), needs: fc.nat(2 ** size - 1) })
const plans: fc.Arbitrary<Plans> = fc.array(fc.option(plan, { freq: 5, nil: undefined }), perNode)

/** Mostly left as they are: what stands and what falls is decided where the two meet. */
const changes = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constant('kept' as const) },
    { weight: 1, arbitrary: fc.constant(undefined) },
    { weight: 2, arbitrary: plan },
  ),
  perNode,
)

const nameOf = (i: number): string => `n${i}`

function dependenciesOf(all: Plans, i: number): string[] {
  return Array.from({ length: i }, (_, k) => k)
    .filter((k) => all[k] !== undefined && ((all[i]!.needs >> k) & 1) === 1)
    .map(nameOf)
}

function makeGraph(all: Plans): CountedGraph {
  const counted = new CountedGraph()
  for (const [i, each] of all.entries()) {
    if (each) counted.addNode(nameOf(i), dependenciesOf(all, i), `job ${each.version}`)
  }
  return counted
}

/** The expected value of every node, without running anything. */
function valuesOf(all: Plans): Record<string, string> {
  const values: Record<string, string> = {}
  for (const [i, each] of all.entries()) {
    if (!each) continue
    const inputs = dependenciesOf(all, i).map((name) => values[name]!)
    values[nameOf(i)] = `job ${each.version} ${nameOf(i)}(${inputs.join(' ')})`
  }
  return values
}

function isEmpty(all: Plans): boolean {
  return all.every((each) => each === undefined)
}

test('R1 to R4: cut off anywhere, changed at will, cut off again: the results are those of the last graph', async (t: TestContext) => {
  await fc.assert(
    fc.asyncProperty(plans, changes, fc.nat(), fc.nat(), async (first, changed, cut1, cut2) => {
      const second = changed.map((change, i) => (change === 'kept' ? first[i] : change))
      if (isEmpty(first) || isEmpty(second)) return
      const whole = await journals['memory']!(t)
      const { run: id } = await run(makeGraph(first).graph, { journal: whole, concurrency: 2 })
      const rows = (await historyOf(whole, id!)).length

      const crashed = await journals['memory']!(t)
      const again = await cutOff(whole, id!, rows - 1 - (cut1 % (rows - 2)), crashed)
      const before = (await historyOf(crashed, again)).length
      const resumed = makeGraph(second)
      const ended = await run(resumed.graph, {
        journal: crashed,
        resume: again,
        allowChanges: true,
      })
      assert.equal(ended.ok, true)
      for (const [name, value] of Object.entries(valuesOf(second))) {
        assert.equal(ended.valueOf(name), value)
      }

      // After the first row of the resumed run, which names the process that continues.
      const history = await historyOf(crashed, again)
      const end = before + 1 + (cut2 % (history.length - before - 1))
      const twice = await journals['memory']!(t)
      const last = await cutOff(crashed, again, end, twice)
      const finishing = makeGraph(second)
      const final = await run(finishing.graph, { journal: twice, resume: last, allowChanges: true })
      assert.equal(final.ok, true)
      for (const [name, value] of Object.entries(valuesOf(second))) {
        assert.equal(final.valueOf(name), value)
      }
      const made = new Set(successes(history.slice(before, end)).keys())
      const repeated = finishing.calls.filter((name) => made.has(name))
      assert.deepEqual(repeated, [], 'R1: made by the second life from the graph as it is')
    }),
    { numRuns: 300 },
  )
})

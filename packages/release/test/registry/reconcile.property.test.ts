import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '@heddle/core/lowlevel'
import fc from 'fast-check'
import { classOf } from '../../src/registry/error-class.ts'
import { publishOnce } from '../../src/registry/reconcile.ts'
import { ModelRegistry, paperPackage, type Fate } from '../support/model-registry.ts'
import { virtualKernel } from '../support/virtual-time.ts'

const fates: readonly Fate[] = [
  'taken',
  'lost-answer',
  'lost-request',
  'not-connected',
  'busy',
  'rate',
  'unauthorized',
  'poison',
]

const settle = 60_000

const worlds = fc.record({
  fates: fc.array(fc.constantFrom(...fates), { maxLength: 8 }),
  failingReads: fc.uniqueArray(fc.nat(30), { maxLength: 12 }),
  visibleAfter: fc.constantFrom(0, 0, 700, 5000, 59_000, 61_000, 600_000),
  other: fc.option(
    fc.record({ at: fc.nat(70_000), hash: fc.constantFrom('sha512-ours', 'sha512-theirs') }),
    { nil: undefined },
  ),
  uploadBegun: fc.boolean(),
  runs: fc.integer({ min: 1, max: 3 }),
  seed: fc.nat(),
})

test('R1 to R6 hold in any world, and no version is ever taken twice', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const kernel = virtualKernel(seededRandom(world.seed))
      const { fates: planned, failingReads, visibleAfter, other, uploadBegun } = world
      const registry = new ModelRegistry({
        kernel,
        fates: planned,
        failingReads: new Set(failingReads),
        visibleAfter,
        ...(other === undefined ? {} : { other }),
      })
      // One after the other, as reruns are; the second one knows the begun upload from its journal.
      let begun = uploadBegun
      for (let run = 0; run < world.runs; run++) {
        const from = registry.history.length
        const acceptedBefore = registry.accepted
        const begunBefore = begun
        const work = publishOnce(registry, paperPackage(), {
          distTag: 'latest',
          kernel,
          settle,
          uploadBegun: begun,
          onUpload: () => {
            begun = true
          },
        }).then(
          ({ outcome }) => outcome,
          (error: unknown) => {
            const kind = classOf(error)
            assert.ok(kind !== undefined, `no class: ${String(error)}`)
            return kind
          },
        )
        const ended = await kernel.clock.runUntil(work)
        const history = registry.history.slice(from)
        assert.ok(registry.accepted <= 1, 'exactly one accepted upload')

        const uploads = history.filter(({ what }) => what === 'upload')
        assert.ok(uploads.filter(({ says }) => says !== 'rate').length <= 4, 'R5')
        for (const [index, step] of history.entries()) {
          if (step.what !== 'upload') continue
          const before = history[index - 1]
          assert.ok(before?.what === 'read' && before.says === 'absent', 'R1')
          assert.equal(step.at, before.at, 'R1: the read is not an old one')
          const earlier = history.slice(0, index).findLast(({ what }) => what === 'upload')
          if (earlier?.says === 'lost-answer' || earlier?.says === 'lost-request') {
            assert.ok(step.at - earlier.at >= settle, 'R2')
          }
          const forGood = earlier?.says === 'unauthorized' || earlier?.says === 'poison'
          assert.ok(!forGood, 'R4')
        }
        const seen = history.findIndex(({ says }) => says === 'ours' || says === 'different')
        assert.ok(seen < 0 || seen === history.length - 1, 'R4: once seen, it is over')

        const isOurs = registry.held === 'sha512-ours'
        if (['accepted', 'published', 'already-published'].includes(ended)) assert.ok(isOurs, 'R3')
        if (ended === 'accepted') assert.equal(registry.accepted, acceptedBefore + 1, 'R3')
        if (ended === 'accepted-not-visible') {
          const mayBe = uploads.some(({ says }) => says.startsWith('lost-'))
          assert.ok(begunBefore || mayBe, 'R3')
        }
        if (history.at(-1)?.says === 'different') assert.equal(ended, 'conflict', 'R6')
        assert.equal(kernel.clock.pending, 0)
      }
    }),
    { numRuns: 400 },
  )
})

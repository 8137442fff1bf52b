import assert from 'node:assert/strict'
import fs from 'node:fs'
import { test } from 'node:test'
import { RestoreRegistry } from '@heddle/core/lowlevel'
import fc from 'fast-check'
import { HeldFiles } from '../../src/pin/held-files.ts'
import { Tree } from '../plan-kit.ts'

const names = ['a', 'b', 'c'] as const

test('HF1, HF3: in whatever order holders come and go: pinned while held, original when none is left', async () => {
  const holder = fc.record({
    files: fc.subarray([...names], { minLength: 1 }),
    /** Turns of the loop before it takes, and before it gives back. */
    before: fc.nat(4),
    during: fc.nat(4),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(holder, { minLength: 2, maxLength: 8 }), async (holders) => {
      using tree = new Tree()
      for (const name of names) tree.write(name, `original ${name}`)
      await using registry = await RestoreRegistry.open(tree.at('journal'))
      const held = new HeldFiles(registry)
      const read = (name: string): string => fs.readFileSync(tree.at(name), 'utf8')
      const turns = async (count: number): Promise<void> => {
        for (let i = 0; i < count; i++) await fs.promises.stat(tree.path)
      }
      await Promise.all(
        holders.map(async ({ files, before, during }) => {
          await turns(before)
          for (const name of files) {
            await held.take(tree.at(name), `original ${name}`, `pinned ${name}`)
          }
          await turns(during)
          for (const name of files) assert.equal(read(name), `pinned ${name}`)
          for (const name of files) await held.giveBack(tree.at(name))
        }),
      )
      for (const name of names) {
        assert.equal(read(name), `original ${name}`)
        assert.equal(held.original(tree.at(name)), undefined)
      }
      assert.equal(registry.stats().changed, 0)
      assert.equal(registry.stats().conflicts, 0)
    }),
    { numRuns: 25 },
  )
})

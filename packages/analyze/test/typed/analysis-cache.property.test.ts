import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { analyze } from '../../src/analyze.ts'
import { loadCatalogue } from '../../src/models/load.ts'
import { AnalysisCache } from '../../src/typed/analysis-cache.ts'
import { edit, edited, sources, textsOf } from '../support/edited-program.ts'
import type { Sources } from '../support/edited-program.ts'
import { told, toldWithProgram } from '../support/told.ts'

const root = path.resolve('/program')

/** The options of a run on texts without a disk. */
function optionsFor(program: Sources, hasGuard: boolean) {
  const texts = [...textsOf(program)].map(([name, text]) => [path.join(root, name), text] as const)
  return {
    root,
    files: texts.map(([file]) => file),
    types: 'none',
    overlays: new Map(texts),
    ...(hasGuard && { guards: ['withTenantLock'] }),
  } as const
}

const step = fc.record({ change: edit, hasGuard: fc.boolean(), isTwice: fc.boolean() })

test('a warm run is a cold run, whatever was edited before', async () => {
  const catalogue = await loadCatalogue()
  let findings = 0
  await fc.assert(
    fc.asyncProperty(sources, fc.array(step, { maxLength: 6 }), async (first, steps) => {
      const cache = new AnalysisCache()
      let program = first
      await analyze({ ...optionsFor(program, false), cache })
      for (const { change, hasGuard, isTwice } of steps) {
        program = edited(program, change)
        const options = optionsFor(program, hasGuard)
        const cold = await analyze({ ...options, keepsProgram: true })
        if (isTwice) assert.deepEqual(told(await analyze({ ...options, cache })), told(cold))
        const warm = await analyze({ ...options, cache, keepsProgram: true })
        assert.deepEqual(toldWithProgram(warm, catalogue), toldWithProgram(cold, catalogue))
        // A program that was handed out takes its files with it: for the next step there are new ones.
        assert.deepEqual(told(await analyze({ ...options, cache })), told(cold))
        findings += cold.findings.length
      }
    }),
    { numRuns: 60 },
  )
  assert.ok(findings > 0, 'there is something to find')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Doctests, markdownExamples, tsdocExamples } from './doctest.ts'

const doctests = new Doctests()

for (const example of [...tsdocExamples(), ...markdownExamples()]) {
  test(example.where, () => doctests.run(example))
}

test('the runner reports a wrong value, a missing name and a missing throw', async () => {
  const run = (code: string): Promise<void> => doctests.run({ where: 'here:1', code })
  await run('const two = 1 + 1 // => 2\n[two, 3] // => [2, 3]')
  await assert.rejects(run('1 + 1 // => 3'), { code: 'ERR_ASSERTION' })
  await assert.rejects(run('const two = 1 + 1 // => 3'), { code: 'ERR_ASSERTION' })
  await assert.rejects(run('await nobodyDefinedThis()'), ReferenceError)
  await run("throw new HeddleError('HDL_CLOSED', { what: 'It' })")
  await assert.rejects(run('if (signal.aborted)\nthrow new Error()'), /without throwing/)
})

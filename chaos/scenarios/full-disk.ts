import assert from 'node:assert/strict'
import { writeFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { isError, run } from '@heddle/core'
import { openJournal } from '@heddle/core/lowlevel'
import { mountSmall } from '../../packages/core/test/journal/sqlite/mounted.ts'
import { makeSteps, resultOf } from './steps.ts'

/** The disk fills up during a run: every reported row is there, and no other row was reported. */
export async function fullDisk(): Promise<string | undefined> {
  const mounted = mountSmall(24 * 1_024)
  if (typeof mounted === 'string') return mounted
  using disk = mounted
  const journal = `sqlite:${path.join(disk.path, 'runs.db')}`
  const ballast = path.join(disk.path, 'ballast')
  writeFileSync(ballast, Buffer.alloc(23 * 2 ** 20))

  const count = 400
  const told: string[] = []
  const first = makeSteps(count)
  await assert.rejects(
    run(first.graph, {
      journal,
      observer: (event) => {
        if (event.type === 'node' && event.state === 'succeeded') told.push(event.name)
      },
    }),
    (error) => isError(error, 'HDL_STORE_FAILED') && /full/.test(error.message),
  )
  assert.ok(told.length > 0 && told.length < count, `${told.length} of ${count} were reported`)
  assert.equal(first.ran.length, told.length + 1, 'nothing was started after the failure')

  rmSync(ballast)
  const second = makeSteps(count)
  {
    await using reader = await openJournal(journal, { readOnly: true })
    const [interrupted] = await reader.runs()
    assert.equal(interrupted!.state, 'interrupted')
    for (const name of told) {
      assert.equal(await reader.valueOf(interrupted!.id, name), resultOf(name))
    }
  }
  const ended = await run(second.graph, { journal, resume: true })
  assert.equal(ended.ok, true)
  assert.deepEqual(ended.reused, told)
  assert.deepEqual([...told, ...second.ran], [...graphNames(second)])
  return undefined
}

function graphNames({ graph }: ReturnType<typeof makeSteps>): string[] {
  return Array.from(graph.nodes(), ({ name }) => name)
}

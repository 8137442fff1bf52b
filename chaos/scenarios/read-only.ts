import assert from 'node:assert/strict'
import path from 'node:path'
import { isError, run } from '@heddle/core'
import { openJournal } from '@heddle/core/lowlevel'
import { mountSmall } from '../../packages/core/test/journal/sqlite/mounted.ts'
import { makeSteps } from './steps.ts'

/** A run that could not be recorded does not start; recorded runs can be read. */
export async function readOnlyMedium(): Promise<string | undefined> {
  const mounted = mountSmall(4_096)
  if (typeof mounted === 'string') return mounted
  using disk = mounted
  const journal = `sqlite:${path.join(disk.path, 'runs.db')}`
  let id: string | undefined
  {
    // Opened here: a journal by its name is kept open for a second after the run.
    await using opened = await openJournal(journal)
    ;({ run: id } = await run(makeSteps(5).graph, { journal: opened }))
  }
  disk.makeReadOnly()

  const { graph, ran } = makeSteps(5)
  for (const resume of [false, true]) {
    await assert.rejects(
      run(graph, { journal, resume }),
      (error) => isError(error, 'HDL_STORE_FAILED') && /read-only/.test(error.message),
    )
  }
  assert.deepEqual(ran, [])
  await using reader = await openJournal(journal, { readOnly: true })
  assert.deepEqual((await reader.snapshot(id!)).counts, { succeeded: 5 })
  return undefined
}

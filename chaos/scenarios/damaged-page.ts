import assert from 'node:assert/strict'
import path from 'node:path'
import { isError, run, startRun } from '@heddle/core'
import { openJournal } from '@heddle/core/lowlevel'
import { middlePage, ruinPage } from '../../packages/core/test/journal/sqlite/damage.ts'
import { makeSteps } from './steps.ts'

/** A page of the history is ruined: the run is refused, and resumes from the rows that could be saved. */
export async function damagedPage(folder: string): Promise<string | undefined> {
  const file = path.join(folder, 'damaged.db')
  const count = 600
  const first = makeSteps(count, 10)
  let id: string | undefined
  {
    // Opened here: a journal by its name is kept open for a second after the run.
    await using journal = await openJournal(`sqlite:${file}`)
    const started = await startRun(first.graph, { journal })
    ;({ id } = started)
    started.scheduler.observe((event) => {
      if (event.type !== 'node' || event.name !== `step ${count - 10}`) return
      if (event.state === 'succeeded') started.scheduler.cancel()
    })
    await started.result
  }
  await ruinPage(file, middlePage(file))

  const refused = makeSteps(count, 10)
  let saved = ''
  await assert.rejects(run(refused.graph, { journal: `sqlite:${file}`, resume: id! }), (error) => {
    assert.ok(isError(error, 'HDL_JOURNAL_DAMAGED'))
    saved = error.details.saved!
    return true
  })
  assert.deepEqual(refused.ran, [])

  const known = new Set<string>()
  {
    await using reader = await openJournal(`sqlite:${saved}`, { readOnly: true })
    for (const { name, state } of (await reader.snapshot(id!)).nodes) {
      if (state === 'succeeded') known.add(name)
    }
  }
  assert.ok(known.size > 0 && known.size < first.ran.length, `${known.size} successes were saved`)
  const rest = makeSteps(count, 10)
  const ended = await run(rest.graph, { journal: `sqlite:${saved}`, resume: id! })
  assert.equal(ended.ok, true)
  // A success after the gap may depend on a result that was lost: then its node runs again.
  assert.deepEqual(new Set([...ended.reused, ...rest.ran]).size, count)
  for (const name of ended.reused) assert.ok(known.has(name))
  assert.ok(ended.reused.length > 0)
  return undefined
}
